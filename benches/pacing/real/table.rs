//! The results of the runs of a scenario, as a line of a table.

use super::super::recorded::{Recorded, Row};
use super::latency::Waits;
use super::run::Measured;
use super::scenario::Scenario;

/// All runs of one scenario with one contestant.
pub(crate) struct Line {
    pub(crate) contestant: String,
    scenario: Scenario,
    pub(crate) runs: Vec<Measured>,
}

/// What the columns are.
pub(crate) const HEADER: &str = "\
contestant       scenario                           T mean  worst  rejected%  calls  cold p50/p99/mean ms     hot p99  read p99  attempts   Jain tenant%";

impl Line {
    pub(crate) fn new(contestant: &str, scenario: &Scenario, runs: Vec<Measured>) -> Self {
        Self {
            contestant: contestant.to_owned(),
            scenario: scenario.clone(),
            runs,
        }
    }

    fn mean(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / self.runs.len().max(1) as f64
    }

    fn worst(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        self.runs.iter().map(of).fold(0.0, f64::max)
    }

    fn wait(&self, of: impl Fn(&Waits) -> f64) -> f64 {
        self.mean(|run| of(&run.cold))
    }

    fn each(&self, of: impl Fn(&Measured) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    /// The targets, and what is measured of them.
    pub(crate) fn row(&self) -> Row {
        let targets = &self.scenario.targets;
        let mut row = Row::new(&self.scenario.name);
        row.mean("time", targets.time, self.each(|run| run.time));
        let unavoidable = self.scenario.unavoidable();
        row.mean(
            "rejected",
            targets.rejected,
            self.each(|run| run.rejected - unavoidable),
        );
        row.mean("cold p99", targets.p99, self.each(|run| run.cold.p99));
        row.mean("cold mean", targets.mean, self.each(|run| run.cold.mean));
        row.mean("calls", targets.calls, self.each(|run| run.calls));
        row.mean("unfair", 1.0 - targets.jain, self.each(|run| 1.0 - run.jain));
        row.mean("tenant's throttles", targets.tenant, self.each(|run| run.tenant));
        row.worst("undelivered", "undelivered", 0.0, self.each(|run| run.lost as f64));
        row
    }

    pub(crate) fn print(&self, recorded: Option<&Recorded>) {
        let cold = [
            self.wait(|cold| cold.median),
            self.wait(|cold| cold.p99),
            self.wait(|cold| cold.mean),
        ];
        println!(
            "{:<16} {:<34} {:>6} {:>6} {:>9.2} {:>7.3}  {:<22} {:>9.0} {:>9.0} {:>6} {:>8.3} {:>6.2}  {}",
            self.contestant,
            self.scenario.name,
            time(self.mean(|run| run.time)),
            time(self.worst(|run| run.time)),
            self.mean(|run| run.rejected),
            self.mean(|run| run.calls),
            cold.map(|wait| format!("{wait:.0}")).join(" / "),
            self.mean(|run| run.hot.p99),
            self.mean(|run| run.read.p99),
            self.worst(|run| f64::from(run.attempts)),
            self.mean(|run| run.jain),
            self.mean(|run| run.tenant),
            self.row().verdict(recorded),
        );
    }
}

fn time(time: f64) -> String {
    if time.is_finite() {
        format!("{time:.3}")
    } else {
        "never".to_owned()
    }
}
