//! Mixes of faults over real sockets: the results of a delivery are compared with the state of the service, entry by entry, and
//! its time with that of loops with the SDK and `backon`.
//!
//! ```sh
//! cargo bench --bench chaos                          # 300 mixes
//! cargo bench --bench chaos -- --seeds 17..18 --trace   # one of them again, with the figures of the delivery
//! cargo bench --bench chaos -- --seeds 0..300 --check   # fails when anything is wrong
//! cargo bench --bench chaos -- --soak 30                 # 30 minutes of 64 workers: memory, tasks, connections
//! cargo bench --bench chaos -- --writes   # 300 mixes of other writes
//! ```
//!
//! Only mixes that do not end early are timed. A mix that takes too long beside others is run again alone, with its loop, and the
//! medians are compared. With `--writes` the mixes are of conditional writes, counters and transactions to the same keys, and what plain
//! retries get wrong in them is counted.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

#[path = "../../tests/support/chaos/mod.rs"]
#[expect(dead_code, reason = "the tests look closer")]
mod chaos;

mod loops;
mod retries;
mod soak;

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aws_batch_delivery::Progress;
use chaos::mix::Mix;
use chaos::trial::{Outcome, deliver};
use clap::Parser;
use peak_alloc::PeakAlloc;
use retries::Wrong;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// How many times the loop's time a mix may take.
const MOST: f64 = 3.0;

/// How often a mix that seems slow is run again, and its loop as often.
const AGAIN: usize = 3;

/// The time from one line of a trace to the next.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[derive(Parser)]
struct Arguments {
    /// The seeds of the mixes.
    #[arg(long, value_name = "FROM..TO", value_parser = seeds, default_value = "0..300")]
    seeds: Range<u64>,
    /// Mixes that are run at once; they mostly wait.
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// Print the figures of each delivery while it goes on.
    #[arg(long)]
    trace: bool,
    /// Only compare the results, without the loops.
    #[arg(long)]
    untimed: bool,
    /// Conditional writes, counters and transactions, instead of whole puts, deletes and messages.
    #[arg(long)]
    writes: bool,
    /// Fail if a result is wrong. Slow mixes are not failures.
    #[arg(long)]
    check: bool,
    /// Deliver for this many minutes under mixed faults, and measure memory, tasks and connections.
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, default_missing_value = "30")]
    soak: Option<u64>,
    /// Run the service of the soak test with this seed, in a process of its own.
    #[arg(long, hide = true)]
    serve: Option<u64>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("not of the form 0..300")?;
    let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
    Ok(number(from)?..number(to)?)
}

/// By how much a wait may be longer than documented: several mixes run at once, on a machine that may be busy.
const LATE: Duration = Duration::from_secs(2);

/// A mix, and the times of the delivery and of the loop.
struct Timed {
    mix: Mix,
    delivery: Duration,
    looped: Option<Duration>,
}

impl Timed {
    /// `None` if the loop exceeded its time limit.
    fn ratio(&self) -> Option<f64> {
        Some(self.delivery.as_secs_f64() / self.looped?.as_secs_f64())
    }

    fn is_slow(&self) -> bool {
        self.ratio().is_some_and(|ratio| ratio > MOST)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.serve {
        soak::serve(seed);
        return ExitCode::SUCCESS;
    }
    if let Some(minutes) = arguments.soak {
        let is_well = soak::run(Duration::from_mins(minutes), arguments.seeds.start);
        return if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (failed, timed) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let retried = Mutex::new(Vec::new());
    let next = AtomicU64::new(arguments.seeds.start);
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= arguments.seeds.end {
                return;
            }
            let mix = if arguments.writes {
                Mix::draw_writes(seed)
            } else {
                Mix::draw(seed)
            };
            let Outcome {
                mut complaints,
                time,
                seen,
                ..
            } = run_once(&mix, arguments.trace);
            let overdue = seen.told.overdue;
            if overdue > LATE {
                complaints.push(format!("a wait was {overdue:?} longer than documented"));
            }
            failed.fetch_add(u64::from(!complaints.is_empty()), Ordering::Relaxed);
            let mut time_shown = format!("    {:.2} s", time.as_secs_f64());
            let wrong: Vec<String> = complaints
                .iter()
                .map(|complaint| format!("\n    WRONG: {complaint}"))
                .collect();
            let shown = mix.to_string();
            if arguments.writes {
                if !arguments.untimed {
                    let wrong = retries::wrong(&mix);
                    let by_retries = wrong.map_or_else(
                        || "not at all".to_owned(),
                        |(wrong, time)| format!("{:.2} s, {wrong}", time.as_secs_f64()),
                    );
                    time_shown = format!("{time_shown}, by retries {by_retries}");
                    retried
                        .lock()
                        .expect("no mix panicked")
                        .extend(wrong.map(|(wrong, _)| wrong));
                }
            } else if mix.cut.is_none() && !arguments.untimed {
                let looped = loops::time(&mix);
                let by_loops = looped.map_or_else(
                    || "not at all".to_owned(),
                    |time| format!("{:.2} s", time.as_secs_f64()),
                );
                time_shown = format!("{time_shown}, by loops {by_loops}");
                timed.lock().expect("no mix panicked").push(Timed {
                    mix,
                    delivery: time,
                    looped,
                });
            }
            println!("{shown}\n{time_shown}{}", wrong.concat());
        }
    };
    thread::scope(|scope| {
        for _ in 0..arguments.at_once.max(1) {
            scope.spawn(run);
        }
    });
    let mut timed = timed.into_inner().expect("no mix panicked");
    timed.sort_by_key(|timed| timed.mix.seed);
    for timed in timed.iter_mut().filter(|timed| timed.is_slow()) {
        again(timed);
    }
    let failed = failed.into_inner();
    summarize(&arguments.seeds, failed, &timed);
    summarize_retries(&retried.into_inner().expect("no mix panicked"));
    if arguments.check && failed > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs a mix. A trace prints its figures at intervals.
fn run_once(mix: &Mix, trace: bool) -> Outcome {
    let (progress, ended, started) = (Progress::default(), AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let look = || {
            while !ended.load(Ordering::Relaxed) {
                println!(
                    "{:>4} {:>6.2} s: {}",
                    mix.seed,
                    started.elapsed().as_secs_f64(),
                    figures(&progress)
                );
                thread::sleep(LOOK_EVERY);
            }
        };
        if trace {
            scope.spawn(look);
        }
        let outcome = deliver(mix, &progress);
        ended.store(true, Ordering::Relaxed);
        outcome
    })
}

fn figures(progress: &Progress) -> String {
    let now = progress.snapshot();
    let pace = now.pace.map_or_else(String::new, |pace| {
        let rate = pace
            .rate
            .map_or_else(|| "no limit".to_owned(), |rate| format!("{rate:.0}/s"));
        let hot = pace.hot_keys;
        format!(", {} ({}), {rate}, {hot} hot keys", pace.state, pace.reason)
    });
    format!(
        "{} delivered, {} waiting, {} in flight, {} read ahead, {} calls{pace}",
        now.delivered, now.waiting, now.in_flight, now.read_ahead, now.calls
    )
}

/// Runs a mix again, alone, and keeps the medians.
fn again(timed: &mut Timed) {
    let mut deliveries: Vec<Duration> = (0..AGAIN)
        .map(|_| deliver(&timed.mix, &Progress::default()).time)
        .collect();
    let mut loops: Vec<Option<Duration>> = (0..AGAIN).map(|_| loops::time(&timed.mix)).collect();
    deliveries.sort();
    // A loop that exceeded its time limit counts as the longest.
    loops.sort_by_key(|time| time.unwrap_or(Duration::MAX));
    timed.delivery = deliveries[AGAIN / 2];
    timed.looped = loops[AGAIN / 2];
}

/// What plain retries got wrong, and in how many of the mixes.
fn summarize_retries(retried: &[Wrong]) {
    if retried.is_empty() {
        return;
    }
    let wrong = Wrong {
        failed: retried.iter().map(|wrong| wrong.failed).sum(),
        twice: retried.iter().map(|wrong| wrong.twice).sum(),
    };
    let mixes = retried.iter().filter(|wrong| wrong.is_any()).count();
    println!("by retries: {mixes} of {} mixes wrong: {wrong}", retried.len());
}

fn summarize(seeds: &Range<u64>, failed: u64, timed: &[Timed]) {
    let mut ratios: Vec<f64> = timed.iter().filter_map(Timed::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    println!("\n{} mixes, {failed} of them wrong", seeds.end - seeds.start);
    if ratios.is_empty() {
        return;
    }
    let at = |share: usize| ratios[(ratios.len() - 1) * share / 100];
    let sum = |time: fn(&Timed) -> Duration| -> f64 {
        let both = timed.iter().filter(|timed| timed.looped.is_some());
        both.map(|timed| time(timed).as_secs_f64()).sum()
    };
    println!(
        "{} timed; time / loop: median {:.2}, 90% {:.2}, most {:.2}; in all {:.0} s, by loops {:.0} s",
        timed.len(),
        at(50),
        at(90),
        at(100),
        sum(|timed| timed.delivery),
        sum(|timed| timed.looped.unwrap_or_default()),
    );
    println!("\n| seed | time | by loops | ratio |\n|---|---|---|---|");
    for timed in timed.iter().filter(|timed| timed.is_slow()) {
        println!(
            "| {} | {:.2} s | {:.2} s | {:.1} |",
            timed.mix.seed,
            timed.delivery.as_secs_f64(),
            timed.looped.unwrap_or_default().as_secs_f64(),
            timed.ratio().unwrap_or_default(),
        );
    }
}
