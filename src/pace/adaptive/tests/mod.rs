//! The whole strategy, and what its tests share.

mod contract;
mod properties;
mod transitions;

use super::evidence::{Observation, Trials};
use crate::pace::KeyOutcome;

/// Checks that a value is the expected one but for rounding.
#[track_caller]
pub(super) fn assert_about(value: f64, expected: f64) {
    let is_about = (value - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    assert!(is_about, "{value} instead of {expected}");
}

/// The answer to a call of 25 fresh entries that left 10 ms before, and of which this many were rejected.
pub(super) fn answer(now: f64, rejected: f64) -> Observation {
    answer_to(now, Trials::new(25.0, rejected), Trials::default())
}

/// The answer to a call of fresh entries and retries that left 10 ms before.
pub(super) fn answer_to(now: f64, fresh: Trials, retries: Trials) -> Observation {
    let all = fresh.plus(retries);
    Observation {
        sent_at: now - 0.01,
        seen_at: now - 0.005,
        now,
        accepted: all.not_rejected(),
        all,
        fresh,
        judged: all,
    }
}

/// Entries of a key that all come for the first time.
pub(super) fn first_attempts(key: u64, sent: usize, throttled: usize) -> KeyOutcome {
    KeyOutcome {
        sent,
        accepted: sent - throttled,
        throttled,
        fresh: sent,
        fresh_throttled: throttled,
        first_attempts: (sent, throttled),
        ..KeyOutcome::new(key)
    }
}
