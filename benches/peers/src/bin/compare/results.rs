//! The results in Markdown.

use peers::{Scenario, Tally};

use crate::contestant::Contestant;
use crate::machine;
use crate::measure::Measured;

/// The lock file, which has the versions of the SDK.
const LOCK: &str = include_str!("../../../Cargo.lock");

const COLUMNS: &str = "\
| | time / minimum | calls / minimum | rejected | lost | handed back | duplicates | overtaken | peak memory | CPU s per 100k | said |
|---|---|---|---|---|---|---|---|---|---|---|
";

const LEGEND: &str = "\
- **time / minimum**: the time from the start signal to the end, divided by the least possible time (see each scenario).
- **calls / minimum**: batch calls that arrived, divided by the mean number that is needed if each is full.
- **rejected**: the share of sent entries that the service did not accept.
- **lost**: entries that are neither in the service nor handed back, nor replaced by a later write of the same key.
- **handed back**: entries that were reported as undelivered.
- **duplicates**: entries that the service applied again.
- **overtaken**: entries that arrived after a later one of their key or message group; in brackets the keys that keep an older value.
- **peak memory**: of the process, with its runtime and the entries.
- **CPU s per 100k**: processor seconds of the process, without its start, for 100,000 entries of the load.
- **said**: whether it reported a failure in any way. *Stopped* means that it had not finished after 60 s; entries that had arrived
  by then are counted, and the number of the others is in brackets.
";

pub fn heading(date: &str) -> String {
    format!(
        "# Compared with others\n\n`benches/peers/run --write`, {date}. {}. AWS SDK for Rust: aws-sdk-dynamodb {}, aws-sdk-sqs {}. \
         `peers/README.md` describes how each contestant is used.\n\n{LEGEND}",
        machine::describe(),
        version_of("aws-sdk-dynamodb"),
        version_of("aws-sdk-sqs"),
    )
}

pub fn table_heading(scenario: &Scenario) -> String {
    format!(
        "\n## {}\n\n{} calls at once, round trip {} ms. Minimum: {:.2} s, {:.0} calls.\n\n{COLUMNS}",
        scenario.title,
        scenario.workers(),
        scenario.round_trip().as_millis(),
        scenario.least_time().as_secs_f64(),
        scenario.least_calls(),
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn line(scenario: &Scenario, contestant: &Contestant, measured: &Measured) -> String {
    let tally = &measured.tally;
    let rejected = tally.rejected as f64 / tally.entries.max(1) as f64;
    let lost = measured.lost();
    let (said, lost) = match &measured.told {
        None => ("stopped", format!("({lost})")),
        Some(told) if told.failed => ("failure", lost.to_string()),
        Some(_) => ("success", lost.to_string()),
    };
    format!(
        "| {} | {} | {} | {:.1}% | {} | {} | {} | {} | {} MB | {:.2} | {said} |\n",
        contestant.title,
        factor(measured.elapsed.as_secs_f64() / scenario.least_time().as_secs_f64()),
        factor(tally.calls as f64 / scenario.least_calls()),
        rejected * 100.0,
        lost,
        measured.handed_back(),
        tally.duplicates,
        overtaken(tally),
        measured.memory.div_ceil(1_000_000),
        measured.processor.as_secs_f64() * 100_000.0 / scenario.entries as f64,
    )
}

fn overtaken(tally: &Tally) -> String {
    match tally.stale {
        0 => tally.overtaken.to_string(),
        stale => format!("{} ({stale})", tally.overtaken),
    }
}

/// Formats a factor with about three digits.
fn factor(value: f64) -> String {
    let digits = match value {
        100.0.. => 0,
        10.0..100.0 => 1,
        2.0..10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

fn version_of(name: &str) -> &'static str {
    let mut lines = LOCK.lines().skip_while(|line| *line != format!("name = \"{name}\""));
    lines.nth(1).and_then(|line| line.split('"').nth(1)).unwrap_or_default()
}
