//! Thirty mixes of faults over real sockets. The time of day runs here, and decides nothing: no test asserts how long
//! anything takes.
//!
//! `cargo bench --bench chaos -- --seeds 17..18` runs a single mix again; the bench has more of them.

#[path = "../support/chaos/mod.rs"]
mod chaos;

mod comparison;

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use aws_batch_delivery::Progress;
use chaos::mix::Mix;
use chaos::trial::{Outcome, deliver};

/// The seeds of the mixes.
const SEEDS: std::ops::Range<u64> = 0..30;

/// Mixes that are run at once: they mostly wait.
const AT_ONCE: usize = 6;

#[test]
fn what_a_delivery_says_is_what_the_service_has_whatever_fails() {
    let next = AtomicU64::new(SEEDS.start);
    let failures: Vec<String> = thread::scope(|scope| {
        let run = || {
            let mut failures = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if !SEEDS.contains(&seed) {
                    return failures;
                }
                let mix = Mix::draw(seed);
                let (complaints, time) = match catch_unwind(|| deliver(&mix, &Progress::default())) {
                    Ok(Outcome { complaints, time, .. }) => (complaints, time),
                    Err(_) => (vec!["it panicked".to_owned()], Duration::ZERO),
                };
                println!("{mix}\n    {time:?}");
                if !complaints.is_empty() {
                    failures.push(format!("{mix}\n    {}", complaints.join("\n    ")));
                }
            }
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(run)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no mix panics"))
            .collect()
    });
    assert!(
        failures.is_empty(),
        "{} mixes:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
