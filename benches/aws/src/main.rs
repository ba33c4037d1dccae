//! A run against AWS: `.ci/aws` builds and starts it. `docs/aws-run.md` describes it.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod arguments;
mod belongings;
mod differences;
mod failure;
mod figures;
mod leftovers;
mod name;
mod page;
mod parts;
mod place;
mod price;
mod run;
mod signals;
mod tally;
mod tell;
mod tunnel;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use self::arguments::Arguments;
use self::belongings::Belonging;
use self::leftovers::Leftovers;
use self::place::Place;
use self::run::Run;
use self::signals::Signals;
use self::tell::tell;

/// Something has a problem, or is left.
const FAILED: u8 = 1;
/// Nothing was made.
const NOT_STARTED: u8 = 2;
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let place = match place(&arguments).await {
        Ok(place) => place,
        Err(error) => return not_started(&error),
    };
    if arguments.clean_up {
        return clean_up(&arguments, &place)
            .await
            .unwrap_or_else(|error| not_started(&error));
    }
    if let Err(error) = begin(&arguments, &place).await {
        return not_started(&error);
    }
    // From here on no signal ends the program at once.
    match Signals::new() {
        Ok(signals) => Box::pin(Run::new(arguments, place).run(signals)).await,
        Err(error) => not_started(&error.into()),
    }
}

fn not_started(error: &anyhow::Error) -> ExitCode {
    tell!("error: {error:#}");
    ExitCode::from(NOT_STARTED)
}

async fn place(arguments: &Arguments) -> Result<Place> {
    match (&arguments.endpoint_url, &arguments.region) {
        (Some(url), _) => Ok(Place::emulator("the emulator", url).await),
        (None, region) => Place::aws(region.as_deref().unwrap_or_default()).await,
    }
}

/// Shows what the run costs and where it is, and asks.
async fn begin(arguments: &Arguments, place: &Place) -> Result<()> {
    let work: Vec<_> = arguments
        .parts
        .iter()
        .map(|part| (part.name(), part.work(arguments.scale)))
        .collect();
    let all = work.iter().fold(price::Work::default(), |all, (_, work)| all + *work);
    eprint!("{}", price::estimate(&work, &place.region));
    let most = price::most(&all, &place.region);
    ensure!(
        most <= arguments.cap,
        "it may cost {most:.2} dollars, and the cap is {:.2}: see --cap, --parts and --scale",
        arguments.cap
    );
    let words = match &place.endpoint {
        Some(endpoint) => format!("It is not AWS: {endpoint}"),
        None => format!(
            "Account {}, {}",
            place.account().await.context("the account of the credentials")?,
            place.region
        ),
    };
    tell!("{words}");
    place.check(&arguments.parts).await?;
    ensure!(
        arguments.yes || ask("Run?")?,
        "nothing was made, because the answer was not yes"
    );
    Ok(())
}

fn ask(question: &str) -> Result<bool> {
    ensure!(
        io::stdin().is_terminal() && io::stderr().is_terminal(),
        "there is no terminal to ask on: --yes runs without a question"
    );
    eprint!("{question} [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Deletes what earlier runs have left.
async fn clean_up(arguments: &Arguments, place: &Place) -> Result<ExitCode> {
    let found = Leftovers::find(&place.belongings).await?;
    for belonging in &found.untagged {
        tell!("{} has no tag {}, and stays", belonging.name(), name::TAG);
    }
    if found.by_name_alone {
        tell!("The emulator does not show tags of all of them: where it does not, names alone decide.");
    }
    if found.ours.is_empty() {
        tell!("nothing is left of earlier runs");
        return Ok(ExitCode::SUCCESS);
    }
    for belonging in &found.ours {
        let kind = if matches!(belonging, Belonging::Table(_)) {
            "table"
        } else {
            "queue"
        };
        tell!("{kind} {}", belonging.name());
    }
    tell!("A run that is in progress has such names, too.");
    ensure!(
        arguments.yes || ask("Delete?")?,
        "nothing was deleted, because the answer was not yes"
    );
    let left = place.belongings.delete(&found.ours).await;
    for (belonging, error) in &left {
        tell!("{} is left: {error:#}", belonging.name());
    }
    tell!("deleted: {}", found.ours.len() - left.len());
    Ok(if left.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    })
}
