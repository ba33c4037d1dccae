//! The results of the runs of a scenario, as a line of a table.

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

    /// The targets that were missed, in words.
    pub(crate) fn missed(&self) -> Vec<String> {
        let targets = &self.scenario.targets;
        let mut missed = Vec::new();
        let mut most = |what: &str, is: f64, most: f64| {
            if is > most || is.is_nan() {
                missed.push(format!("{what} {is:.3} > {most:.3}"));
            }
        };
        most("time", self.mean(|run| run.time), targets.time);
        let unavoidable = self.scenario.unavoidable();
        most(
            "rejected",
            self.mean(|run| run.rejected) - unavoidable,
            targets.rejected,
        );
        most("cold p99", self.wait(|cold| cold.p99), targets.p99);
        most("cold mean", self.wait(|cold| cold.mean), targets.mean);
        most("calls", self.mean(|run| run.calls), targets.calls);
        most("unfair", -self.mean(|run| run.jain), -targets.jain);
        most("tenant's throttles", self.mean(|run| run.tenant), targets.tenant);
        most("undelivered", self.worst(|run| run.lost as f64), 0.0);
        missed
    }

    pub(crate) fn print(&self) {
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
            self.verdict(),
        );
    }

    fn verdict(&self) -> String {
        let missed = self.missed();
        if missed.is_empty() {
            "met".to_owned()
        } else {
            format!("MISSED {}", missed.join(", "))
        }
    }
}

fn time(time: f64) -> String {
    if time.is_finite() {
        format!("{time:.3}")
    } else {
        "never".to_owned()
    }
}
