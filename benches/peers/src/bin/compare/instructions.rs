//! Counts instructions, which do not depend on other load on the machine.

use std::process::Stdio;

use peers::{Failure, Scenario};
use tokio::process::Command;

use crate::contestant::{Contestant, beside_this};
use crate::measure::started;
use crate::process::Process;

/// Entries of two runs. Only their difference counts, so that the start of the process does not.
const ENTRIES: [usize; 2] = [5_000, 15_000];

/// The instructions of a contestant for one more entry, with its creation.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub async fn per_entry(scenario: &Scenario, contestant: &Contestant, seed: u64) -> Result<f64, Failure> {
    let mut counts = [0; ENTRIES.len()];
    for (count, entries) in counts.iter_mut().zip(ENTRIES) {
        *count = of_a_run(scenario, contestant, entries, seed).await?;
    }
    Ok((counts[1] as f64 - counts[0] as f64) / (ENTRIES[1] - ENTRIES[0]) as f64)
}

/// The instructions of a process that delivers so many entries.
async fn of_a_run(scenario: &Scenario, contestant: &Contestant, entries: usize, seed: u64) -> Result<u64, Failure> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(beside_this("contestant")).stderr(Stdio::piped());
    contestant.arguments(&mut valgrind, scenario, entries);
    let (_service, mut contestant) = started(scenario, valgrind, seed).await?;
    contestant.say().await?;
    contestant.hear().await?;
    let words = ended(contestant).await?;
    let count = words.lines().find_map(|line| line.split_once("Collected :"));
    let count = count.ok_or_else(|| format!("valgrind counted nothing: {words}"))?;
    Ok(count.1.trim().parse()?)
}

/// What a contestant that has told its result writes to its standard error.
async fn ended(mut contestant: Process) -> Result<String, Failure> {
    contestant.say().await?;
    contestant.errors().await
}
