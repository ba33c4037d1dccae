//! The targets of a row, what was recorded of their figures, and what is worse than that.

use std::collections::BTreeMap;
use std::{fs, io};

/// A figure is worse if the mean of its runs is worse by more standard errors than this. The variance between seeds is estimated from few
/// runs, some figures have rare large values, and a check compares about a hundred figures. Each is to fail by chance in fewer than one of
/// 10,000 checks.
const ERRORS: f64 = 5.0;

/// It is not worse either if it differs by less than this share.
const EQUAL: f64 = 0.01;

/// What counts for a time without an end.
const NEVER: f64 = 100.0;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/pacing/recorded.tsv");

/// A target.
pub(crate) struct Target {
    /// What is recorded.
    pub(crate) figure: &'static str,
    pub(crate) what: &'static str,
    pub(crate) is: f64,
    pub(crate) most: f64,
    /// The figure in each run: the less, the better.
    pub(crate) runs: Vec<f64>,
}

impl Target {
    fn missed(&self) -> Option<String> {
        let Self { what, is, most, .. } = self;
        (is > most || is.is_nan()).then(|| format!("{what} {is:.3} > {most:.3}"))
    }
}

/// A row of the table, with its targets.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) targets: Vec<Target>,
}

impl Row {
    pub(crate) fn new(name: &str) -> Self {
        let (name, targets) = (name.to_owned(), Vec::new());
        Self { name, targets }
    }

    /// Adds a target, unless it is infinite.
    pub(crate) fn most(&mut self, figure: &'static str, what: &'static str, is: f64, most: f64, runs: Vec<f64>) {
        if most.is_finite() {
            self.targets.push(Target {
                figure,
                what,
                is,
                most,
                runs,
            });
        }
    }

    /// Adds a target of the mean of the runs.
    pub(crate) fn mean(&mut self, what: &'static str, most: f64, runs: Vec<f64>) {
        let mean = runs.iter().sum::<f64>() / runs.len().max(1) as f64;
        self.most(what, what, mean, most, runs);
    }

    /// Adds a target of the worst run.
    pub(crate) fn worst(&mut self, figure: &'static str, what: &'static str, most: f64, runs: Vec<f64>) {
        self.most(figure, what, runs.iter().copied().fold(0.0, f64::max), most, runs);
    }

    /// The targets that were missed, in words.
    pub(crate) fn missed(&self) -> Vec<String> {
        self.targets.iter().filter_map(Target::missed).collect()
    }

    /// Whether the targets were met, and what is worse than recorded.
    pub(crate) fn verdict(&self, recorded: Option<&Recorded>) -> String {
        let missed = self.missed();
        let worse = recorded.map_or_else(Vec::new, |recorded| recorded.worse(self));
        match (missed.is_empty(), worse.is_empty()) {
            (true, true) => "met".to_owned(),
            (false, true) => format!("MISSED {}", missed.join(", ")),
            (_, false) => format!("MISSED {}; WORSE {}", missed.join(", "), worse.join(", ")),
        }
    }
}

/// The mean of a figure, and its standard deviation between seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figure {
    mean: f64,
    deviation: f64,
    runs: f64,
}

impl Figure {
    fn of(runs: &[f64]) -> Self {
        let values = || runs.iter().map(|run| if *run == f64::INFINITY { NEVER } else { *run });
        let count = runs.len() as f64;
        let mean = values().sum::<f64>() / count;
        let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        Self {
            mean,
            deviation: variance.sqrt(),
            runs: count,
        }
    }

    /// By how much the mean of so many runs is worse before it counts.
    fn tolerance(&self, runs: f64) -> f64 {
        let error = self.deviation * (1.0 / self.runs + 1.0 / runs).sqrt();
        (ERRORS * error).max(EQUAL * self.mean.abs())
    }
}

/// What was recorded of each row: its figures by their names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recorded(BTreeMap<String, BTreeMap<String, Figure>>);

impl Recorded {
    /// With what these rows have.
    pub(crate) fn renewed(mut self, rows: &[Row]) -> Self {
        let figures = |row: &Row| {
            row.targets
                .iter()
                .map(|it| (it.figure.to_owned(), Figure::of(&it.runs)))
                .collect()
        };
        self.0.extend(rows.iter().map(|row| (row.name.clone(), figures(row))));
        self
    }

    pub(crate) fn read() -> io::Result<Self> {
        let text = fs::read_to_string(PATH)?;
        Self::parse(&text).ok_or_else(|| io::Error::other(format!("{PATH} is not readable: record it again")))
    }

    pub(crate) fn write(&self) -> io::Result<()> {
        fs::write(PATH, self.text())
    }

    /// A row a line: its name, then each figure with its mean, its standard deviation and its runs.
    fn text(&self) -> String {
        let figure = |(name, it): (&String, &Figure)| format!("\t{name} {} {} {}", it.mean, it.deviation, it.runs);
        let line = |(row, figures): (&String, &BTreeMap<_, _>)| {
            row.clone() + &figures.iter().map(figure).collect::<String>() + "\n"
        };
        self.0.iter().map(line).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let figure = |text: &str| {
            let mut parts = text.rsplitn(4, ' ');
            let mut number = || parts.next()?.parse::<f64>().ok();
            let (runs, deviation, mean) = (number()?, number()?, number()?);
            let figure = Figure { mean, deviation, runs };
            Some((parts.next()?.to_owned(), figure))
        };
        let line = |text: &str| {
            let mut parts = text.split('\t');
            let row = parts.next()?.to_owned();
            Some((row, parts.map(figure).collect::<Option<_>>()?))
        };
        text.lines().map(line).collect::<Option<_>>().map(Self)
    }

    /// The figures of a row that miss their target and are worse than recorded, in words.
    pub(crate) fn worse(&self, row: &Row) -> Vec<String> {
        let Some(figures) = self.0.get(&row.name) else {
            return vec!["not recorded".to_owned()];
        };
        let worse = |target: &Target| {
            target.missed()?;
            let what = target.figure;
            let Some(before) = figures.get(what) else {
                return Some(format!("{what} not recorded"));
            };
            let now = Figure::of(&target.runs);
            let tolerance = before.tolerance(now.runs);
            let is_worse = now.mean > before.mean + tolerance || now.mean.is_nan();
            is_worse.then(|| format!("{what} {:.3} > {:.3} + {tolerance:.3}", now.mean, before.mean))
        };
        let mut worse: Vec<String> = row.targets.iter().filter_map(worse).collect();
        worse.dedup();
        worse
    }

    /// The recorded rows that are not among these.
    pub(crate) fn missing(&self, rows: &[Row]) -> Vec<String> {
        let is_missing = |name: &&String| !rows.iter().any(|row| row.name == **name);
        self.0.keys().filter(is_missing).cloned().collect()
    }
}

#[cfg(test)]
#[allow(dead_code, reason = "the bench has no harness; `tests/repository.rs` runs them")]
mod tests {
    use super::*;

    fn row(name: &str, runs: &[f64]) -> Row {
        let mut row = Row::new(name);
        row.mean("rejected", 5.0, runs.to_vec());
        row
    }

    /// A mean of 8 and a deviation of 1: the tolerance of five runs is 5 / sqrt(2.5).
    fn recorded() -> Recorded {
        Recorded::default().renewed(&[row("fleet, 64 on 4000", &[7.0, 7.0, 8.0, 9.0, 9.0])])
    }

    #[test]
    fn a_row_fails_if_it_misses_its_target_and_is_worse_by_more_than_the_tolerance() {
        let with = |figure: f64| row("fleet, 64 on 4000", &[figure; 5]);
        for (figure, is_worse) in [
            (4.0, false),
            (7.0, false),
            (11.1, false),
            (11.2, true),
            (f64::INFINITY, true),
            (f64::NAN, true),
        ] {
            assert_eq!(!recorded().worse(&with(figure)).is_empty(), is_worse, "{figure}");
        }
        assert_eq!(with(11.1).verdict(Some(&recorded())), "MISSED rejected 11.100 > 5.000");
        assert_eq!(
            with(12.0).verdict(Some(&recorded())),
            "MISSED rejected 12.000 > 5.000; WORSE rejected 12.000 > 8.000 + 3.162"
        );
        // It was far below its target before.
        let recorded = Recorded::default().renewed(&[row("fleet, 64 on 4000", &[1.0; 5])]);
        assert!(recorded.worse(&with(4.9)).is_empty());
    }

    #[test]
    fn fewer_runs_have_a_larger_tolerance_and_a_hundredth_is_never_worse() {
        let before = Figure::of(&[1.0, 2.0, 3.0, 2.0]);
        assert!(before.tolerance(1.0) > before.tolerance(5.0));
        let recorded = Recorded::default().renewed(&[row("same", &[8.0; 5])]);
        assert!(recorded.worse(&row("same", &[8.07; 5])).is_empty());
        assert!(!recorded.worse(&row("same", &[8.09; 5])).is_empty());
    }

    #[test]
    fn a_row_or_figure_that_was_not_recorded_fails_and_one_that_is_not_run_is_listed() {
        let other = row("new", &[6.0]);
        assert_eq!(recorded().worse(&other), ["not recorded"]);
        assert_eq!(recorded().missing(&[other]), ["fleet, 64 on 4000"]);
        let mut same = row("fleet, 64 on 4000", &[4.0]);
        same.mean("calls", 1.0, vec![2.0]);
        assert_eq!(recorded().worse(&same), ["calls not recorded"]);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut rows = [row("a, b", &[6.5, 0.1]), row("never", &[f64::INFINITY])];
        rows[0].worst("cold p99", "cold p99", 1.0, vec![0.1 + 0.2]);
        rows[1].targets.clear();
        let recorded = Recorded::default().renewed(&rows);
        assert_eq!(Recorded::parse(&recorded.text()), Some(recorded));
        assert_eq!(Recorded::parse("row\trejected 1"), None);
    }
}
