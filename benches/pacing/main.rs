//! Compares the strategies with the physical minimum.
//!
//! Each scenario runs through the real engine, in virtual time, against a simulated service.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the counts and the seconds of a simulation are small"
)]

mod catalog;
mod history;
mod loopback;
mod model;
mod peers;
mod real;
mod recorded;
mod run;
mod scenario;
mod simulated;
mod stack;
mod strategies;
mod table;
mod units;

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use clap::Parser;
use recorded::{Recorded, Row};
use run::{Measured, run};
use scenario::Scenario;
use strategies::Make;
use table::Line;

/// Seeds of a check.
const FRESH: u64 = 5;

/// Compares the strategies with the physical minimum.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line")]
struct Arguments {
    /// Only Adaptive, with the random cases; fails if a row misses its target and is worse than recorded. With --stack, --units or
    /// --loopback, of which nothing is recorded, it fails if a target is missed.
    #[arg(long)]
    check: bool,
    /// Only Adaptive, with the random cases: prints the tables of RESULTS.md, and rewrites what --check compares with; with --scenario or --skip, of
    /// the rows that are run.
    #[arg(long, conflicts_with_all = ["check", "strategy", "real", "stack", "units", "loopback"])]
    record: bool,
    /// Realistic tables: partitions, indexes, growth, live traffic, random throttles. With --check after the others.
    #[arg(long)]
    real: bool,
    /// Only scenarios whose name contains this.
    #[arg(long)]
    scenario: Option<String>,
    /// No scenarios whose name contains this; may be given several times.
    #[arg(long)]
    skip: Vec<String>,
    /// Only strategies whose name contains this.
    #[arg(long)]
    strategy: Option<String>,
    /// Use the SDK's client and the simulator, in virtual time.
    #[arg(long)]
    stack: bool,
    /// Items of all sizes, paced by write units and by entries, with the SDK's client and the simulator.
    #[arg(long)]
    units: bool,
    /// Use HTTP on the loopback interface, in real time: 75 s for each seed.
    #[arg(long)]
    loopback: bool,
    /// Seeds, as in 0..20. The rules and constants were chosen on seeds below 1640; the default seeds were first run after that.
    /// Default: 1640..1660; 1640..1645 with --real, 400..403 with --units, 400..401 with --loopback; 99001..99011 with --record; with --check
    /// five fresh seeds, which are printed.
    #[arg(long, value_parser = seeds)]
    seeds: Option<Range<u64>>,
    /// The number of random cases. Default: 1000 with --check or --record.
    #[arg(long)]
    random: Option<u64>,
    /// The first random case. Default: a million times the first seed.
    #[arg(long)]
    first_case: Option<u64>,
    /// Also print every single run, and the random cases that take longest or have the most rejections.
    #[arg(long)]
    each: bool,
    /// Also write the table to this file.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
    /// What --check compares with.
    #[arg(skip)]
    recorded: Option<Recorded>,
}

impl Arguments {
    fn wants(&self, scenario: &str) -> bool {
        let contains = |part: &String| scenario.contains(part);
        self.scenario.as_ref().is_none_or(contains) && !self.skip.iter().any(contains)
    }

    fn only_adaptive(&self) -> bool {
        self.check || self.record
    }

    /// Whether the service is modelled, whose rows are recorded.
    fn is_modelled(&self) -> bool {
        !self.stack && !self.units && !self.loopback
    }

    fn seeds(&self) -> Range<u64> {
        let usual = match self {
            Self { loopback: true, .. } => 400..401,
            Self { units: true, .. } => 400..403,
            Self { real: true, .. } => 1640..1645,
            Self { record: true, .. } => 99001..99011,
            _ => 1640..1660,
        };
        self.seeds.clone().unwrap_or(usual)
    }

    fn first_case(&self) -> u64 {
        self.first_case.unwrap_or(self.seeds().start * 1_000_000)
    }

    /// What is compared on real tables.
    fn contestants(&self) -> Vec<(String, real::Contestant)> {
        let with = |(name, make)| (name, real::Contestant::Engine(make));
        let mut all = vec![with(strategies::adaptive())];
        if !self.only_adaptive() {
            all.extend(strategies::on_real_tables().into_iter().map(with));
            all.push(("SDK + backon".to_owned(), real::Contestant::Loop));
        }
        all
    }

    fn strategies(&self) -> Vec<strategies::Named> {
        let mut all = if self.units {
            units::strategies()
        } else if self.only_adaptive() || self.loopback {
            vec![strategies::adaptive()]
        } else {
            std::iter::once(strategies::adaptive())
                .chain(strategies::others())
                .chain(strategies::peers())
                .collect()
        };
        if let Some(part) = &self.strategy {
            all.retain(|(name, _)| name.contains(part));
        }
        all
    }
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (from, until) = text.split_once("..").ok_or("a range such as 0..20")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    Ok(number(from)?..number(until)?)
}

fn main() -> std::io::Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.check && arguments.seeds.is_none() {
        let first = u64::from(rand::random::<u32>());
        println!("--seeds {first}..{}", first + FRESH);
        arguments.seeds = Some(first..first + FRESH);
    }
    if arguments.check && arguments.is_modelled() {
        arguments.recorded = Some(Recorded::read()?);
    }
    let lines = if arguments.real {
        Vec::new()
    } else if arguments.stack {
        compared(&arguments, stack::scenarios(), &stack::run)
    } else if arguments.units {
        compared(&arguments, units::scenarios(), &units::run)
    } else if arguments.loopback {
        in_real_time(&arguments)?
    } else {
        let scenarios = catalog::congested().into_iter().chain(catalog::lossy());
        compared(&arguments, scenarios, &run)
    };
    let judged = |line: &&Line| ["Adaptive", units::BY_UNITS].contains(&line.strategy.as_str());
    let mut rows: Vec<Row> = lines.iter().filter(judged).map(Line::row).collect();
    let all = arguments.only_adaptive() && arguments.is_modelled();
    if arguments.real || all {
        rows.extend(real_tables(&arguments));
    }
    let is_whole = all && !arguments.real && arguments.scenario.is_none() && arguments.skip.is_empty();
    let count = arguments.random.unwrap_or(if is_whole { 1000 } else { 0 });
    if count > 0 {
        rows.push(random_cases(&arguments, count, &strategies::adaptive().1));
    }
    if let Some(path) = &arguments.csv {
        let rows: Vec<String> = lines.iter().map(Line::csv).collect();
        fs::write(path, format!("{}\n{}\n", table::HEADER, rows.join("\n")))?;
    }
    if arguments.record {
        let before = if is_whole {
            Recorded::default()
        } else {
            Recorded::read()?
        };
        return before.renewed(&rows).write();
    }
    if !arguments.check {
        return Ok(());
    }
    let failed = if let Some(recorded) = &arguments.recorded {
        let worse = rows.iter().filter(|row| !recorded.worse(row).is_empty());
        let mut failed: Vec<String> = worse.map(|row| format!("{}: worse than recorded", row.name)).collect();
        if is_whole {
            failed.extend(
                recorded
                    .missing(&rows)
                    .iter()
                    .map(|name| format!("{name}: recorded, and not run")),
            );
        }
        failed
    } else {
        rows.iter().flat_map(Row::missed).collect()
    };
    if failed.is_empty() {
        println!("{} rows, none worse than recorded", rows.len());
        return Ok(());
    }
    Err(std::io::Error::other(failed.join("; ")))
}

/// Runs the scenarios of real tables with all contestants, and returns the rows of the default strategy.
fn real_tables(arguments: &Arguments) -> Vec<Row> {
    let mut contestants = arguments.contestants();
    if let Some(part) = &arguments.strategy {
        contestants.retain(|(name, _)| name.contains(part));
    }
    let (names, contestants): (Vec<String>, Vec<real::Contestant>) = contestants.into_iter().unzip();
    let mut rows = Vec::new();
    println!("{}", real::HEADER);
    for scenario in real::scenarios() {
        if !arguments.wants(&scenario.name) {
            continue;
        }
        let seeds: Vec<u64> = arguments.seeds().collect();
        let runs = run_all(&seeds, &|seed| real::compare(&scenario, *seed, &contestants));
        for (place, name) in names.iter().enumerate() {
            let of_one = runs.iter().map(|run| run[place].clone()).collect();
            let line = real::Line::new(name, &scenario, of_one);
            line.print(arguments.recorded.as_ref());
            if arguments.each {
                for (seed, run) in seeds.iter().zip(&line.runs) {
                    println!("    {seed}: {run}");
                }
            }
            if line.contestant == "Adaptive" {
                rows.push(line.row());
            }
        }
    }
    rows
}

/// How a scenario is run.
type Run = dyn Fn(&Scenario, u64, &Make) -> Measured + Sync;

/// Runs the scenarios with all strategies, in virtual time.
fn compared(arguments: &Arguments, scenarios: impl IntoIterator<Item = Scenario>, run: &Run) -> Vec<Line> {
    let mut lines = Vec::new();
    for scenario in scenarios.into_iter().filter(|scenario| arguments.wants(&scenario.name)) {
        for (name, make) in &arguments.strategies() {
            let drawn = |seed| (catalog::draw(&scenario, seed), seed);
            let cases: Vec<(Scenario, u64)> = arguments.seeds().map(drawn).collect();
            let line = Line::new(
                name,
                &scenario,
                run_all(&cases, &|(scenario, seed)| run(scenario, *seed, make)),
            );
            line.print(arguments.recorded.as_ref());
            if arguments.each {
                for ((_, seed), run) in cases.iter().zip(&line.runs) {
                    println!("    {seed}: {run}");
                }
            }
            lines.push(line);
        }
    }
    lines
}

/// Runs the scenarios one after another, in real time.
fn in_real_time(arguments: &Arguments) -> std::io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for seed in arguments.seeds() {
        for scenario in loopback::scenarios()
            .iter()
            .filter(|scenario| arguments.wants(&scenario.name))
        {
            for (name, make) in &arguments.strategies() {
                let line = Line::new(name, scenario, vec![loopback::run(scenario, seed, make)?]);
                line.print(arguments.recorded.as_ref());
                lines.push(line);
            }
        }
    }
    Ok(lines)
}

/// Runs random cases, and returns their row. Its figures are the shares of the cases that are above the limits of a half, of nine tenths and of
/// 99 in 100.
fn random_cases(arguments: &Arguments, count: u64, make: &Make) -> Row {
    const PARTS: [f64; 3] = [0.5, 0.9, 0.99];
    const TIME: [f64; 3] = [1.003, 1.015, 1.07];
    const REJECTED: [f64; 3] = [0.8, 2.2, 4.5];
    let first = arguments.first_case();
    let cases: Vec<(Scenario, u64)> = (first..first + count)
        .map(|seed| (catalog::random(seed), seed))
        .collect();
    let runs = run_all(&cases, &|(scenario, seed)| run(scenario, *seed, make));
    if arguments.each {
        let mut worst: Vec<_> = cases.iter().zip(&runs).collect();
        for of in [|run: &Measured| run.time, |run: &Measured| run.rejected] {
            worst.sort_by(|one, other| of(other.1).total_cmp(&of(one.1)));
            for ((_, seed), run) in worst.iter().take(8) {
                println!("    {seed}: {run}");
            }
        }
    }
    let percentiles = |of: &dyn Fn(&Measured) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        PARTS.map(|part| all[((all.len() - 1) as f64 * part).round() as usize])
    };
    let time = percentiles(&|run| run.time);
    let rejected = percentiles(&|run| run.rejected);
    println!("random: 50, 90, 99% have time {time:.4?} of {TIME:?}, rejected {rejected:.3?} of {REJECTED:?}");
    let mut row = Row::new("random");
    let names = [
        ["time of 50%", "time of 90%", "time of 99%"],
        ["rejected of 50%", "rejected of 90%", "rejected of 99%"],
    ];
    for (place, part) in PARTS.iter().enumerate() {
        let mut most = |what, most: f64, of: &dyn Fn(&Measured) -> f64| {
            let above = runs.iter().map(|run| f64::from(u8::from(of(run) > most)));
            row.mean(what, 1.0 - part, above.collect());
        };
        most(names[0][place], TIME[place], &|run| run.time);
        most(names[1][place], REJECTED[place], &|run| run.rejected);
    }
    println!("{}", row.verdict(arguments.recorded.as_ref()));
    row
}

/// Runs all cases, on as many threads as there are cores.
fn run_all<C: Sync, M: Send>(cases: &[C], run: &(dyn Fn(&C) -> M + Sync)) -> Vec<M> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(case) = cases.get(index) else {
                return done;
            };
            done.push((index, run(case)));
        }
    };
    let mut done: Vec<(usize, M)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let done = workers.into_iter().map(thread::ScopedJoinHandle::join);
        done.flat_map(|done| done.expect("a run does not panic")).collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, measured)| measured).collect()
}
