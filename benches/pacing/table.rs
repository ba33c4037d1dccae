//! The results of the runs of a scenario, as a line of a table.

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

    /// The targets that were missed, in words.
    pub(crate) fn missed(&self) -> Vec<String> {
        let targets = &self.targets;
        let mut missed = Vec::new();
        let mut most = |what: &str, is: f64, most: f64| {
            if is > most || is.is_nan() {
                missed.push(format!("{what} {is:.4} > {most:.4}"));
            }
        };
        most("mean", self.mean(|run| run.time), targets.mean);
        most("worst", self.worst(|run| run.time), targets.worst);
        let rejected = self.mean(|run| if self.lossy { run.excess } else { run.rejected });
        most("rejected", rejected, targets.rejected);
        most("calls", self.mean(|run| run.calls), targets.calls);
        most("adapts", self.adapts().unwrap_or(0.0), targets.adapts);
        most(
            "attempts",
            self.worst(|run| f64::from(run.attempts)),
            f64::from(targets.attempts),
        );
        most("undelivered", self.worst(|run| run.lost as f64), 0.0);
        if let Some((median, least)) = self.jains() {
            most("unfair median", -median, -targets.jain_median);
            most("unfair least", -least, -targets.jain_least);
        }
        missed
    }

    pub(crate) fn print(&self) {
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
            self.verdict(),
        );
    }

    /// Whether the targets were met, and the remarks.
    fn verdict(&self) -> String {
        let missed = self.missed();
        let verdict = if missed.is_empty() {
            "met".to_owned()
        } else {
            format!("MISSED {}", missed.join(", "))
        };
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
            self.missed().len(),
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
