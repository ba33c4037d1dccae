//! The results of the runs of a scenario, as a line of a table.

use super::recorded::{Recorded, Row};
use super::run::{CUT_OFF, Measured};
use super::scenario::{Scenario, Targets};

/// All runs of one scenario with one strategy.
pub(crate) struct Line {
    pub(crate) strategy: String,
    pub(crate) scenario: String,
    pub(crate) targets: Targets,
    pub(crate) lossy: bool,
    pub(crate) runs: Vec<Measured>,
}

pub(crate) const HEADER: &str = "strategy,scenario,runs,time mean,time worst,rejected %,excess %,calls,adapts s,jain median,jain least,attempts,undelivered,cut off,missed";

impl Line {
    pub(crate) fn new(strategy: &str, scenario: &Scenario, runs: Vec<Measured>) -> Self {
        Self {
            strategy: strategy.to_owned(),
            scenario: scenario.name.clone(),
            targets: scenario.targets,
            lossy: scenario.loss.share > 0.0,
            runs,
        }
    }

    fn mean(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / self.runs.len().max(1) as f64
    }

    fn worst(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        self.runs.iter().map(of).fold(0.0, f64::max)
    }

    /// Runs that did not finish.
    fn cut_off(&self) -> usize {
        self.runs.iter().filter(|run| run.time.is_infinite()).count()
    }

    fn jains(&self) -> Option<(f64, f64)> {
        let mut all: Vec<f64> = self.runs.iter().filter_map(|run| run.jain).collect();
        all.sort_by(f64::total_cmp);
        Some((*all.get(all.len() / 2)?, *all.first()?))
    }

    fn adapts(&self) -> Option<f64> {
        let all: Vec<f64> = self.runs.iter().filter_map(|run| run.adapts).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    fn each(&self, of: impl Fn(&Measured) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    /// The targets, and what is measured of them.
    pub(crate) fn row(&self) -> Row {
        let targets = &self.targets;
        let mut row = Row::new(&self.scenario);
        let time = || self.each(|run| run.time);
        row.most("time", "mean", self.mean(|run| run.time), targets.mean, time());
        row.worst("time", "worst", targets.worst, time());
        let rejected = self.each(|run| if self.lossy { run.excess } else { run.rejected });
        row.mean("rejected", targets.rejected, rejected);
        row.mean("calls", targets.calls, self.each(|run| run.calls));
        let adapts = self.runs.iter().filter_map(|run| run.adapts).collect();
        row.mean("adapts", targets.adapts, adapts);
        let attempts = self.each(|run| f64::from(run.attempts));
        row.worst("attempts", "attempts", f64::from(targets.attempts), attempts);
        row.worst("undelivered", "undelivered", 0.0, self.each(|run| run.lost as f64));
        if let Some((median, least)) = self.jains() {
            let unfair = || {
                self.runs
                    .iter()
                    .filter_map(|run| run.jain)
                    .map(|jain| 1.0 - jain)
                    .collect()
            };
            row.most(
                "unfair",
                "unfair median",
                1.0 - median,
                1.0 - targets.jain_median,
                unfair(),
            );
            row.most(
                "unfair",
                "unfair least",
                1.0 - least,
                1.0 - targets.jain_least,
                unfair(),
            );
        }
        row
    }

    pub(crate) fn print(&self, recorded: Option<&Recorded>) {
        let jain = self
            .jains()
            .map_or(String::new(), |(median, least)| format!("{median:.3}/{least:.3}"));
        let adapts = self
            .adapts()
            .map_or(String::new(), |adapts| format!("{adapts:.2}").replace("inf", "never"));
        let excess = if self.lossy {
            format!(" p+{:.2}", self.mean(|run| run.excess))
        } else {
            String::new()
        };
        println!(
            "{:<12} {:<24} {:>7} {:>7} {:>6.2}{:<7} {:>6.3} {:>5} {:>11} {:>3}  {}",
            self.strategy,
            self.scenario,
            time(self.mean(|run| run.time)),
            time(self.worst(|run| run.time)),
            self.mean(|run| run.rejected),
            excess,
            self.mean(|run| run.calls),
            adapts,
            jain,
            self.worst(|run| f64::from(run.attempts)),
            self.verdict(recorded),
        );
    }

    /// Whether the targets were met, and the remarks.
    fn verdict(&self, recorded: Option<&Recorded>) -> String {
        let verdict = self.row().verdict(recorded);
        let cut_off = self.cut_off();
        if cut_off == 0 {
            return verdict;
        }
        let (times, seconds) = CUT_OFF;
        let runs = self.runs.len();
        format!("{verdict}; CUT OFF {cut_off} of {runs} runs after {times} T_min + {seconds} s")
    }

    pub(crate) fn csv(&self) -> String {
        let (median, least) = self.jains().unwrap_or((f64::NAN, f64::NAN));
        format!(
            "{},\"{}\",{},{:.5},{:.5},{:.4},{:.4},{:.4},{:.3},{:.4},{:.4},{},{},{},{}",
            self.strategy,
            self.scenario,
            self.runs.len(),
            self.mean(|run| run.time),
            self.worst(|run| run.time),
            self.mean(|run| run.rejected),
            self.mean(|run| run.excess),
            self.mean(|run| run.calls),
            self.adapts().unwrap_or(f64::NAN),
            median,
            least,
            self.worst(|run| f64::from(run.attempts)),
            self.worst(|run| run.lost as f64),
            self.cut_off(),
            self.row().missed().len(),
        )
    }
}

fn time(time: f64) -> String {
    if time.is_finite() {
        format!("{time:.4}")
    } else {
        "never".to_owned()
    }
}
