//! Many mixes at once, and the sum of their results.

use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use aws_batch_delivery::Progress;

use super::ledger::Fate;
use super::mix::Mix;
use super::trial::{Outcome, deliver};

/// Mixes that are run at once: they mostly wait.
const AT_ONCE: usize = 6;

/// The results of all mixes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) failures: Vec<String>,
    pub(crate) delivered: usize,
    pub(crate) condition_failed: usize,
    pub(crate) handed_back: usize,
    pub(crate) in_doubt: usize,
    /// Attempts without an answer that could be read.
    pub(crate) unanswered: usize,
}

impl Tally {
    /// Runs the mixes of these seeds.
    pub(crate) fn of(seeds: &Range<u64>, draw: fn(u64) -> Mix) -> Self {
        let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(Self::default()));
        let run = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if !seeds.contains(&seed) {
                    return;
                }
                let mix = draw(seed);
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
        tally.into_inner().expect("no other panic")
    }

    fn add(&mut self, mix: &Mix, outcome: &Outcome) {
        println!("{mix}\n    {:?}", outcome.time);
        if !outcome.complaints.is_empty() {
            let complaints = outcome.complaints.join("\n    ");
            self.failures.push(format!("{mix}\n    {complaints}"));
        }
        for fate in &outcome.seen.told.fates {
            match fate {
                Fate::Delivered | Fate::Unnamed => self.delivered += 1,
                Fate::ConditionFailed => self.condition_failed += 1,
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

    /// Fails with what is wrong in the mixes.
    pub(crate) fn assert_right(&self) {
        let failures = &self.failures;
        assert!(
            failures.is_empty(),
            "{} mixes:\n{}",
            failures.len(),
            failures.join("\n")
        );
    }
}
