//! Thirty mixes of faults over real sockets. The time of day runs here, and decides nothing: no test asserts how long
//! anything takes.
//!
//! `cargo bench --bench chaos -- --seeds 17..18` runs a single mix again; the bench has more of them.

#[path = "../support/chaos/mod.rs"]
mod chaos;

mod comparison;

use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use aws_batch_delivery::Progress;
use chaos::ledger::Fate;
use chaos::mix::Mix;
use chaos::trial::{Outcome, deliver};

/// The seeds of the mixes.
const SEEDS: Range<u64> = 0..30;

/// Mixes that are run at once: they mostly wait.
const AT_ONCE: usize = 6;

/// The results of all mixes.
#[derive(Debug, Default)]
struct Tally {
    failures: Vec<String>,
    delivered: usize,
    handed_back: usize,
    in_doubt: usize,
    /// Attempts without an answer that could be read.
    unanswered: usize,
}

impl Tally {
    fn add(&mut self, mix: &Mix, outcome: &Outcome) {
        println!("{mix}\n    {:?}", outcome.time);
        if !outcome.complaints.is_empty() {
            let complaints = outcome.complaints.join("\n    ");
            self.failures.push(format!("{mix}\n    {complaints}"));
        }
        for fate in &outcome.seen.told.fates {
            match fate {
                Fate::Delivered | Fate::Unnamed => self.delivered += 1,
                Fate::HandedBack {
                    may_have_been_delivered,
                    ..
                } => {
                    self.handed_back += 1;
                    self.in_doubt += usize::from(*may_have_been_delivered);
                }
                Fate::Kept | Fate::Untold => {}
            }
        }
        self.unanswered += outcome.seen.attempts.iter().filter(|attempt| !attempt.heard).count();
    }
}

#[test]
fn what_a_delivery_says_is_what_the_service_has_whatever_fails() {
    let (next, tally) = (AtomicU64::new(SEEDS.start), Mutex::new(Tally::default()));
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !SEEDS.contains(&seed) {
                return;
            }
            let mix = Mix::draw(seed);
            let outcome = catch_unwind(|| deliver(&mix, &Progress::default()));
            let mut tally = tally.lock().expect("no other panic");
            match outcome {
                Ok(outcome) => tally.add(&mix, &outcome),
                Err(_) => tally.failures.push(format!("{mix}\n    it panicked")),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(run);
        }
    });
    let tally = tally.into_inner().expect("no other panic");
    let failures = &tally.failures;
    assert!(
        failures.is_empty(),
        "{} mixes:\n{}",
        failures.len(),
        failures.join("\n")
    );
    // The faults were met, and what is compared was there.
    let Tally {
        delivered,
        handed_back,
        in_doubt,
        unanswered,
        ..
    } = tally;
    assert!(
        delivered > 1_000 && handed_back > in_doubt && in_doubt > 0 && unanswered > 100,
        "{tally:?}"
    );
}
