//! Contestants with and without TLS, in alternating turns.

use peers::{Failure, Scenario};

use crate::contestant::Contestant;
use crate::measure::{self, Measured};
use crate::transport::Transport;

const COLUMNS: &str = "\
| | | CPU s per 100k | time / minimum | time, ms | connections | lost |
|---|---|---|---|---|---|---|
";

/// A table of medians and ranges.
pub async fn table(
    scenario: &Scenario,
    contestants: &[&Contestant],
    turns: usize,
    seed: u64,
) -> Result<String, Failure> {
    let rows: Vec<(&Contestant, Transport)> = contestants
        .iter()
        .flat_map(|contestant| Transport::COUNTED.map(|transport| (*contestant, transport)))
        .collect();
    let mut measured: Vec<Vec<Measured>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..turns {
        for ((contestant, transport), measured) in rows.iter().zip(&mut measured) {
            let command = contestant.command(scenario);
            measured.push(measure::run(scenario, command, *transport, seed).await?);
        }
    }
    let lines = rows.iter().zip(&measured);
    let lines = lines.map(|((contestant, transport), runs)| line(scenario, contestant, *transport, runs));
    Ok(format!(
        "\n## {}, {turns} turns\n\n{COLUMNS}{}",
        scenario.title,
        lines.collect::<String>()
    ))
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn line(scenario: &Scenario, contestant: &Contestant, transport: Transport, runs: &[Measured]) -> String {
    let column = |digits, value: &dyn Fn(&Measured) -> f64| median(runs.iter().map(value).collect(), digits);
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        contestant.title,
        transport.title(),
        column(2, &|run| run.processor.as_secs_f64() * 100_000.0
            / scenario.entries as f64),
        column(3, &|run| run.elapsed.as_secs_f64()
            / scenario.least_time().as_secs_f64()),
        column(1, &|run| run.elapsed.as_secs_f64() * 1_000.0),
        column(0, &|run| run.tally.connections as f64),
        runs.iter().map(Measured::lost).sum::<usize>(),
    )
}

/// The median and the range.
fn median(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let middle = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{middle:.digits$} ({least:.digits$} to {most:.digits$})")
}
