//! The run: each part at the place, then at the simulator; then everything is deleted, whatever happened.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use throttled_aws::{Config, Server};

use crate::arguments::Arguments;
use crate::differences::{of_answers, of_figures};
use crate::page::{Page, Row};
use crate::parts::{Outcome, Part};
use crate::place::Place;
use crate::price::{Work, most};
use crate::signals::Signals;
use crate::tell::tell;
use crate::{FAILED, INTERRUPTED};

/// Of the simulator's calls, unless the place shows another one.
const MEDIAN: Duration = Duration::from_millis(8);
/// How wide the times of calls are, as in a network.
const SIGMA: f64 = 0.4;

/// What a part found, or why it did not.
type Ended = Result<Outcome, String>;

/// A run that was asked for.
pub(crate) struct Run {
    arguments: Arguments,
    place: Arc<Place>,
}

impl Run {
    pub(crate) fn new(arguments: Arguments, place: Place) -> Self {
        Self {
            arguments,
            place: Arc::new(place),
        }
    }

    /// Runs, deletes what was made, and writes the page.
    pub(crate) async fn run(self, signals: Signals) -> ExitCode {
        let (parts, scale) = (self.arguments.parts.clone(), self.arguments.scale);
        let measuring = measure(Arc::clone(&self.place), parts, scale);
        let (ended, is_left) = deleted_after(&self.place, signals, measuring).await;
        let Some(ended) = ended else {
            return ExitCode::from(if is_left { FAILED } else { INTERRUPTED });
        };
        let ended = ended.and_then(|(measured, is_aws)| self.report(measured, is_aws));
        match ended {
            Ok(true) if !is_left => ExitCode::SUCCESS,
            Ok(_) => ExitCode::from(FAILED),
            Err(error) => {
                tell!("error: {error:#}");
                ExitCode::from(FAILED)
            }
        }
    }

    /// Prints and writes the page. Returns whether all parts went well at the place.
    fn report(&self, measured: Vec<(Part, Ended, Ended)>, is_aws: bool) -> Result<bool> {
        let is_well = measured.iter().all(|(_, first, _)| match first {
            Ok(Outcome::Figures(figures)) => figures.problem().is_none(),
            Ok(Outcome::Answers(_)) => true,
            Err(_) => false,
        });
        let page = self.page(measured, is_aws)?;
        let path = self
            .arguments
            .page
            .clone()
            .unwrap_or_else(|| default_page(page.endpoint.is_none()));
        page.save(&path)?;
        // The page is there, also if nothing reads this.
        let _ = writeln!(io::stdout(), "{}", page.text());
        tell!("written: {}", path.display());
        if page.endpoint.is_none() {
            tell!("git grep 'AWS yet' finds the documents that say that no figure is from AWS yet");
        }
        Ok(is_well)
    }

    fn page(&self, measured: Vec<(Part, Ended, Ended)>, is_aws: bool) -> Result<Page> {
        let all = measured
            .iter()
            .fold(Work::default(), |all, (part, ..)| all + part.work(self.arguments.scale));
        let endpoint = match (&self.place.endpoint, is_aws) {
            (Some(endpoint), _) => Some(endpoint.clone()),
            (None, true) => None,
            // A profile may name endpoints of single services.
            (None, false) => Some("none of AWS".to_owned()),
        };
        let mut page = Page {
            date: DateTime::from(SystemTime::now())
                .fmt(DateTimeFormat::DateTime)?
                .split('T')
                .next()
                .unwrap_or_default()
                .to_owned(),
            region: self.place.region.clone(),
            endpoint,
            names: [self.place.name.clone(), "the simulator".to_owned()],
            scale: self.arguments.scale,
            dollars: most(&all, &self.place.region),
            figures: Vec::new(),
            answers: Vec::new(),
            differences: Vec::new(),
        };
        for (part, first, second) in measured {
            add(&mut page, part.name(), first, second);
        }
        Ok(page)
    }
}

/// Works until the end, an error, a panic or a signal, for which there is no result, and then deletes what was made. Returns whether something
/// is left, too.
async fn deleted_after<T: Send + 'static>(
    place: &Place,
    mut signals: Signals,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> (Option<Result<T>>, bool) {
    // A task of its own: a panic ends only this.
    let mut working = tokio::spawn(work);
    let ended = tokio::select! {
        ended = &mut working => Some(ended.context("the run").flatten()),
        signal = signals.next() => {
            tell!("{signal}: deleting what was made");
            working.abort();
            let _ = working.await;
            None
        }
    };
    let deletion = place.belongings.delete_all();
    tokio::pin!(deletion);
    let left = loop {
        tokio::select! {
            left = &mut deletion => break left,
            signal = signals.next() => tell!("{signal}: what was made is being deleted; SIGKILL would leave it"),
        }
    };
    for (belonging, error) in &left {
        tell!("{} is left: {error:#}", belonging.name());
    }
    if !left.is_empty() {
        let place = match &place.endpoint {
            Some(endpoint) => format!("--endpoint-url {endpoint}"),
            None => format!("--region {}", place.region),
        };
        tell!("delete it by: .ci/aws --clean-up {place}");
    }
    (ended, !left.is_empty())
}

fn add(page: &mut Page, part: String, first: Ended, second: Ended) {
    match (first, second) {
        (Ok(Outcome::Figures(first)), second) => {
            let second = figures(second);
            if let Ok(second) = &second {
                page.differences.extend(of_figures(&part, &first, second));
            }
            page.figures.push(Row {
                part,
                first: Ok(first),
                second,
            });
        }
        (Ok(Outcome::Answers(first)), second) => {
            let second = answers(second);
            if let Ok(second) = &second {
                page.differences.extend(of_answers(&part, &first, second));
            }
            page.answers.push(Row {
                part,
                first: Ok(first),
                second,
            });
        }
        (Err(error), Ok(Outcome::Answers(second))) => {
            page.answers.push(Row {
                part,
                first: Err(error),
                second: Ok(second),
            });
        }
        (Err(error), second) => page.figures.push(Row {
            part,
            first: Err(error),
            second: figures(second),
        }),
    }
}

fn default_page(is_aws: bool) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    repository.join(if is_aws { "docs/aws-run.md" } else { "target/aws-run.md" })
}

/// Each part at the place and then at the simulator, and whether all calls to the place were calls to AWS.
async fn measure(place: Arc<Place>, parts: Vec<Part>, scale: f64) -> Result<(Vec<(Part, Ended, Ended)>, bool)> {
    let (mut first, mut median) = (Vec::new(), MEDIAN);
    for part in &parts {
        first.push(run_part(*part, &place, scale).await);
        if *part == Part::TableAnswers {
            median = place.tally.take().median().unwrap_or(MEDIAN);
        }
    }
    let simulator = simulator(median).await?;
    let simulated = Place::emulator("the simulator", &simulator.endpoint()).await;
    let mut measured = Vec::new();
    for (part, first) in parts.into_iter().zip(first) {
        measured.push((part, first, run_part(part, &simulated, scale).await));
    }
    Ok((measured, place.tally.is_aws()))
}

/// The simulator, whose calls take as long as those of the place.
async fn simulator(median: Duration) -> Result<Server> {
    let limits = format!("[latency]\nmedian = \"{}us\"\nsigma = {SIGMA}\n", median.as_micros());
    let limits = Config::parse(&limits).map_err(|error| anyhow::anyhow!("{error}"))?;
    Server::alone(limits, "127.0.0.1:0").await.context("the simulator")
}

async fn run_part(part: Part, place: &Place, scale: f64) -> Ended {
    tell!("{}: {} …", place.name, part.name());
    let ended = Box::pin(part.run(place, scale)).await;
    match &ended {
        Ok(Outcome::Figures(figures)) => {
            let problem = figures
                .problem()
                .map(|problem| format!("; {problem}"))
                .unwrap_or_default();
            tell!(
                "{}: {}: {:.1} s{problem}",
                place.name,
                part.name(),
                figures.elapsed.as_secs_f64()
            );
        }
        Ok(Outcome::Answers(answers)) => tell!("{}: {}: {} calls", place.name, part.name(), answers.len()),
        Err(error) => tell!("{}: {}: {error:#}", place.name, part.name()),
    }
    ended.map_err(|error| format!("{error:#}"))
}

fn figures(ended: Ended) -> Result<crate::figures::Figures, String> {
    match ended? {
        Outcome::Figures(figures) => Ok(figures),
        Outcome::Answers(_) => Err("answers instead of figures".to_owned()),
    }
}

fn answers(ended: Ended) -> Result<Vec<crate::figures::Answer>, String> {
    match ended? {
        Outcome::Answers(answers) => Ok(answers),
        Outcome::Figures(_) => Err("figures instead of answers".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belongings::{Billing, Key};

    /// Makes a table and a queue, and ends in some way.
    async fn left_after(end: impl FnOnce() -> Result<()> + Send + 'static) -> (Option<Result<()>>, bool) {
        let server = Server::alone(Config::default(), "127.0.0.1:0").await.unwrap();
        let place = Arc::new(Place::emulator("emulator", &server.endpoint()).await);
        let makes = Arc::clone(&place);
        let work = async move {
            makes.belongings.table("cold", Key::Id, Billing::OnDemand).await?;
            makes.belongings.queue("fifo", true).await?;
            end()
        };
        let ended = deleted_after(&place, Signals::new().unwrap(), work).await;
        let tables = place.dynamo.list_tables().send().await.unwrap();
        let queues = place.sqs.list_queues().send().await.unwrap();
        assert!(
            tables.table_names().is_empty() && queues.queue_urls().is_empty(),
            "{tables:?} {queues:?}"
        );
        ended
    }

    #[tokio::test]
    async fn nothing_is_left_after_a_panic() {
        let (ended, is_left) = left_after(|| panic!("a panic of this test")).await;
        assert!(!is_left);
        assert!(format!("{:#}", ended.unwrap().unwrap_err()).contains("a panic of this test"));
    }

    #[tokio::test]
    async fn nothing_is_left_after_an_error_and_at_the_end() {
        let (ended, is_left) = left_after(|| anyhow::bail!("an error")).await;
        assert!(ended.unwrap().is_err() && !is_left);
        let (ended, is_left) = left_after(|| Ok(())).await;
        assert!(ended.unwrap().is_ok() && !is_left);
    }
}
