//! How close the strategies come to the physical minimum.
//!
//! Each scenario runs through the real engine, in virtual time, against a simulated service.

mod catalog;
mod model;
mod run;
mod scenario;
mod table;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use aws_batch_delivery::backoff::Adaptive;
use clap::Parser;
use run::{Make, Measured, run};
use scenario::Scenario;
use table::Line;

/// How close the strategies come to the physical minimum.
#[derive(Debug, Parser)]
struct Arguments {
    /// Fail when a target is missed.
    #[arg(long)]
    check: bool,
    /// Only scenarios whose name contains this.
    #[arg(long)]
    scenario: Option<String>,
    /// Seeds, as in 0..20.
    #[arg(long, value_parser = seeds, default_value = "0..20")]
    seeds: Range<u64>,
    /// How many random cases.
    #[arg(long, default_value_t = 0)]
    random: u64,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (from, until) = text.split_once("..").ok_or("a range such as 0..20")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    Ok(number(from)?..number(until)?)
}

fn main() {
    let arguments = Arguments::parse();
    let adaptive: Make = Arc::new(|seed| Arc::new(Adaptive::default().seed(seed)));
    if let Ok(spec) = std::env::var("TRACE") {
        let (seed, step) = spec.split_once(',').unwrap();
        let (seed, step): (u64, f64) = (seed.parse().unwrap(), step.parse().unwrap());
        let name = arguments.scenario.clone().unwrap();
        let scenario = match name.strip_prefix("random ") {
            Some(seed) => catalog::random(seed.parse().unwrap()),
            None => catalog::draw(
                &catalog::congested()
                    .into_iter()
                    .chain(catalog::lossy())
                    .find(|s| s.name == name)
                    .unwrap(),
                seed,
            ),
        };
        let make: Make = Arc::new(move |seed| {
            let strategy = Arc::new(Adaptive::default().seed(seed));
            if seed % 1000 == 0 {
                let watched = Arc::clone(&strategy);
                tokio::spawn(async move {
                    let start = tokio::time::Instant::now();
                    loop {
                        println!("{:.3} {:?}", start.elapsed().as_secs_f64(), watched);
                        tokio::time::sleep(std::time::Duration::from_secs_f64(step)).await;
                    }
                });
            }
            strategy
        });
        let result = run(scenario, seed, &make);
        println!("{result:?}");
        return;
    }
    let mut missed = 0;
    let scenarios: Vec<Scenario> = catalog::congested().into_iter().chain(catalog::lossy()).collect();
    for scenario in scenarios {
        if arguments
            .scenario
            .as_ref()
            .is_some_and(|name| !scenario.name.contains(name.as_str()))
        {
            continue;
        }
        let cases: Vec<(Scenario, u64)> = arguments
            .seeds
            .clone()
            .map(|seed| (catalog::draw(&scenario, seed), seed))
            .collect();
        let runs = run_all(&cases, &adaptive);
        let line = Line::new("adaptive", &scenario, runs);
        line.print();
        missed += line.missed().len();
    }
    if arguments.random > 0 {
        let first = arguments.seeds.start * 1_000_000;
        let cases: Vec<(Scenario, u64)> = (first..first + arguments.random)
            .map(|seed| (catalog::random(seed), seed))
            .collect();
        let runs = run_all(&cases, &adaptive);
        let percentiles = |of: &dyn Fn(&Measured) -> f64| {
            let mut all: Vec<f64> = runs.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            [0.5, 0.9, 0.99].map(|part| all[((all.len() - 1) as f64 * part).round() as usize])
        };
        let time = percentiles(&|run| run.time);
        let rejected = percentiles(&|run| run.rejected);
        println!("random: time {time:.4?} rejected {rejected:.3?}");
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by(|one, other| runs[*other].time.total_cmp(&runs[*one].time));
        for index in order.into_iter().take(8) {
            println!(
                "  {:.3} {:.2}% {:?}",
                runs[index].time, runs[index].rejected, cases[index].0
            );
        }
    }
    if arguments.check && missed > 0 {
        eprintln!("{missed} targets missed");
        std::process::exit(1);
    }
}

/// Runs all cases, on as many threads as there are cores.
fn run_all(cases: &[(Scenario, u64)], make: &Make) -> Vec<Measured> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut measured = vec![Measured::default(); cases.len()];
    let done: Vec<(usize, Measured)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Relaxed);
                        let Some((scenario, seed)) = cases.get(index) else {
                            return done;
                        };
                        done.push((index, run(scenario.clone(), *seed, make)));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a run does not panic"))
            .collect()
    });
    for (index, result) in done {
        measured[index] = result;
    }
    measured
}
