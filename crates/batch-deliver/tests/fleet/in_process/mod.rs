//! Whole fleets in one process and on one clock, each from one seed: the programs are tasks of a runtime with one thread, and their services
//! are in the place of the SDK's HTTP client. The seed decides everything, so that the same seed has the same trace.
//!
//! A seed that fails is cut to the smallest fleet that fails in the same way, and printed with the command that runs that again.
//! `FLEET_SEED=17` prints the trace of a seed, `FLEET_SEEDS=10000` tries the first 10,000, and `FLEET_SEEDS=5000..6000` a part of them.
//! Of 20,000 or more, each [rare state](rare) has to be reached by one.

#![cfg_attr(
    not(all(target_os = "linux", target_env = "gnu")),
    allow(
        dead_code,
        unused_imports,
        reason = "only there the entropy of a process can be replaced"
    )
)]

#[path = "../activity.rs"]
mod activity;
#[path = "../../program/bucket.rs"]
#[expect(dead_code, reason = "other tests serve it by itself")]
mod bucket;
#[path = "../checks.rs"]
mod checks;
mod clock;
#[path = "../content.rs"]
mod content;
mod cut;
mod entropy;
#[path = "../faults.rs"]
#[allow(dead_code, reason = "processes have small fleets as well")]
mod faults;
#[path = "../fleet.rs"]
#[allow(
    dead_code,
    clippy::module_inception,
    clippy::redundant_closure_for_method_calls,
    reason = "processes have the same fleets, with other types"
)]
mod fleet;
mod front;
#[path = "../../program/http.rs"]
pub(crate) mod http;
#[path = "../ledger.rs"]
mod ledger;
#[path = "../liveness.rs"]
mod liveness;
#[path = "../load.rs"]
#[allow(dead_code, reason = "processes have small fleets as well")]
mod load;
#[path = "../preloaded.rs"]
mod preloaded;
#[path = "../rare.rs"]
mod rare;
#[path = "../seeds.rs"]
mod seeds;
#[path = "../shared.rs"]
mod shared;
mod trace;
mod worker;

use std::env;
use std::io::{Write, stdout};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use serde_json::json;
use tokio::task::LocalSet;

use self::cut::Cut;
use self::fleet::{Ended, Fleet, Plan};
use self::seeds::seeds;
pub(crate) use self::worker::{config, is_told_by, says, standard_output};

/// The stack of a fleet. Futures are large without optimization.
const STACK: usize = 16 << 20;

/// Before the words about a fleet that has failed, and before the figures of one that has not.
const FAILED: &str = "failed: ";
const ENDED: &str = "ended: ";

/// Fleets of which each rare state has to be reached by one.
const ENOUGH: usize = 20_000;

/// Has the [cut](Cut) of the fleet.
const CUT: &str = "FLEET_CUT";

fn cut() -> Cut {
    let cut = env::var(CUT).unwrap_or_default().parse();
    cut.unwrap_or_else(|words| panic!("{CUT}: {words}"))
}

/// Prints the trace of the fleet of this process, and what it has come to.
fn run(seed: u64) {
    let running = move || {
        fastrand::seed(seed);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        let programs = LocalSet::new();
        let ended = programs.block_on(&runtime, async {
            trace::begin();
            Fleet::run(cut().of(Plan::of(seed))).await
        });
        drop((programs, runtime));
        (ended, trace::end())
    };
    let (ended, trace) = thread::Builder::new()
        .stack_size(STACK)
        .spawn(running)
        .unwrap()
        .join()
        .unwrap();
    let mut output = stdout().lock();
    // The first line of the test harness has no end.
    writeln!(output, "\n{}", trace.join("\n")).unwrap();
    match ended {
        Ok(ended) => writeln!(output, "{ENDED}{}", json!(ended)),
        Err(words) => writeln!(output, "{FAILED}{words}"),
    }
    .unwrap();
}

/// The trace of the fleet of a seed, and what it has come to.
#[derive(Debug, PartialEq)]
struct Replay {
    trace: Vec<String>,
    ended: Result<Ended, String>,
}

impl Replay {
    /// Runs the fleet in a process of its own.
    fn of(test: &str, seed: u64, cut: &Cut) -> Self {
        let printed =
            entropy::run(test, seed, &[(CUT, &cut.to_string())]).unwrap_or_else(|words| format!("{FAILED}{words}"));
        let mut lines = printed.lines();
        let (mut trace, mut ended) = (Vec::new(), Err("it says nothing of its end".to_owned()));
        while let Some(line) = lines.next() {
            if let Some(figures) = line.strip_prefix(ENDED) {
                ended = Ok(serde_json::from_str(figures).unwrap());
                break;
            }
            if let Some(words) = line.strip_prefix(FAILED) {
                ended = Err([words].into_iter().chain(lines).collect::<Vec<_>>().join("\n"));
                break;
            }
            trace.push(line.to_owned());
        }
        Self { trace, ended }
    }
}

/// The first words of a failure, without its numbers. Fleets with the same ones fail in the same way.
fn kind(words: &str) -> String {
    let first = words.lines().next().unwrap_or_default();
    first.chars().filter(|character| !character.is_ascii_digit()).collect()
}

/// What is said of a seed that has failed: the smallest fleet that fails in the same way, and how it is run again.
fn smallest(test: &str, seed: u64, words: &str) -> String {
    let kind_of = kind(words);
    let fails = |cut: &Cut| {
        Replay::of(test, seed, cut)
            .ended
            .is_err_and(|words| kind(&words) == kind_of)
    };
    let smallest = if env::var_os(CUT).is_some() {
        cut()
    } else {
        Cut::smallest(&Plan::of(seed), fails)
    };
    let words = Replay::of(test, seed, &smallest).ended.err();
    let words = words.unwrap_or_else(|| "it does not fail again".to_owned());
    format!(
        "seed {seed}: {words}\nagain: FLEET_SEED={seed} {CUT}=\"{smallest}\" cargo test --lib -- --nocapture fleet::whatever"
    )
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_same_seed_has_the_same_trace_byte_for_byte() {
    if let Some(seed) = entropy::seed() {
        return run(seed);
    }
    for seed in 0..10 {
        let replay = || {
            Replay::of(
                "fleet::the_same_seed_has_the_same_trace_byte_for_byte",
                seed,
                &Cut::default(),
            )
        };
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(replay);
            (replay(), one.join().unwrap())
        });
        let lines = one.trace.len().max(other.trace.len());
        if let Some(line) = (0..lines).find(|line| one.trace.get(*line) != other.trace.get(*line)) {
            let (one, other) = (one.trace.get(line), other.trace.get(line));
            panic!("seed {seed} differs in line {line}:\n{one:?}\n{other:?}");
        }
        assert_eq!(one, other, "seed {seed}");
        assert!(lines > 20, "seed {seed} has {lines} lines");
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_smallest_fleets_that_have_failed_once_hold() {
    if let Some(seed) = entropy::seed() {
        return run(seed);
    }
    for (seed, cut) in [
        // The answer with the shard comes so late that another worker has exported it.
        (20_717, "faults=0 entries=2198 workers=2 shards=1 skew=none"),
        // Three requests for the same object fail, one after another.
        (420_416, "faults=0,1,2 entries=1126 workers=1 shards=1 skew=none"),
        // A call that has waited for its worker takes three seconds more.
        (411_281, "faults=0,1 entries=287 workers=1 shards=1 skew=none"),
    ] {
        let name = "fleet::the_smallest_fleets_that_have_failed_once_hold";
        let ended = Replay::of(name, seed, &cut.parse().unwrap()).ended;
        ended.unwrap_or_else(|words| panic!("seed {seed}: {words}"));
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn whatever_happens_to_a_fleet_in_one_process_each_entry_is_delivered_or_a_dead_letter() {
    if let Some(seed) = entropy::seed() {
        return run(seed);
    }
    let name = "fleet::whatever_happens_to_a_fleet_in_one_process_each_entry_is_delivered_or_a_dead_letter";
    let is_shown = env::var_os("FLEET_SEED").is_some();
    let (seeds, started) = (seeds(), Instant::now());
    let (next, failed, ended) = (
        AtomicU64::new(seeds.start),
        Mutex::new(Vec::new()),
        Mutex::new(Vec::new()),
    );
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while failed.lock().unwrap().is_empty() {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let replay = Replay::of(name, seed, &cut());
                    if is_shown {
                        replay.trace.iter().for_each(|line| println!("{line}"));
                    }
                    match replay.ended {
                        Ok(fleet) => ended.lock().unwrap().push(fleet),
                        Err(words) => failed.lock().unwrap().push((seed, words)),
                    }
                }
            });
        }
    });
    if let Some((seed, words)) = failed.into_inner().unwrap().into_iter().min() {
        panic!("{}", smallest(name, seed, &words));
    }
    let ended = ended.into_inner().unwrap();
    let (table, never) = rare::table(&ended);
    println!("{}\n{table}", Ended::summary(&ended, started.elapsed()));
    assert!(
        ended.len() < ENOUGH || never.is_empty(),
        "no fleet has reached: {never:#?}"
    );
}
