//! Converts between the units that a target estimates and those that the service charges.

use std::sync::PoisonError;

use super::contract::Outcome;
use crate::sync::{Mutex, MutexGuard};

/// The weight that earlier calls keep with each new call, so that about twenty calls count. With more, the estimate follows
/// a change of the entries more slowly; with fewer, it varies more.
const MEMORY: f64 = 0.95;

/// Learns how many units the service charges for one unit that the target estimates.
///
/// The target sees the entry, but not what the service does with it: a replaced item may have been larger, and indexes are
/// written too. So a call is charged in advance at the ratio of the calls before it, and corrected when the service reports
/// what it consumed.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    read: Mutex<Reading>,
}

/// Units of accepted entries, as estimated and as reported. Both sums decay.
#[derive(Debug, Default)]
struct Reading {
    estimated: f64,
    reported: f64,
}

impl Meter {
    /// Units that the service charges for one estimated unit.
    pub(crate) fn charge(&self) -> f64 {
        let Reading { estimated, reported } = *self.lock();
        if estimated > 0.0 && reported > 0.0 {
            reported / estimated
        } else {
            1.0
        }
    }

    /// Converts the outcome of a call to the service's units. `sent` is what was charged for its entries when the call
    /// left, at the ratio `charge`, and the service has `reported` how many it consumed, if it does that.
    pub(crate) fn read(&self, outcome: &Outcome, charge: f64, sent: usize, reported: Option<f64>) -> Outcome {
        let accepted = to_f64(outcome.accepted);
        let reported = reported.filter(|units| units.is_finite() && *units > 0.0 && accepted > 0.0);
        if let Some(reported) = reported {
            let mut read = self.lock();
            read.estimated = read.estimated * MEMORY + accepted;
            read.reported = read.reported * MEMORY + reported;
        }
        let mut counted = *outcome;
        // What was charged when the call left, so that the units in flight add up to zero again.
        counted.sent = sent;
        counted.accepted = reported.map_or_else(|| scaled(outcome.accepted, charge), rounded);
        counted.throttled = scaled(outcome.throttled, charge);
        counted.failed = scaled(outcome.failed, charge);
        counted.unsent = scaled(outcome.unsent, charge);
        counted.refused = scaled(outcome.refused, charge);
        counted.fresh = scaled(outcome.fresh, charge);
        counted.fresh_throttled = scaled(outcome.fresh_throttled, charge);
        counted
    }

    // Every step leaves a valid reading, so a poisoned lock is still usable.
    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The units at this ratio, at least one if there are any.
pub(crate) fn scaled(units: usize, charge: f64) -> usize {
    if units == 0 {
        return 0;
    }
    #[expect(
        clippy::float_cmp,
        reason = "it is exactly 1 until the service reports consumed units"
    )]
    if charge == 1.0 {
        return units;
    }
    rounded(to_f64(units) * charge).max(1)
}

/// A count as a number to compute with. Counts above `u32::MAX` are treated as `u32::MAX`.
pub(super) fn to_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no amount is negative, and the cast saturates"
)]
fn rounded(units: f64) -> usize {
    units.round() as usize
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn outcome(accepted: usize, throttled: usize) -> Outcome {
        let now = Instant::now();
        Outcome::new(now, now)
            .with_accepted(accepted)
            .with_throttled(throttled)
            .with_fresh(accepted + throttled, throttled)
    }

    #[test]
    fn the_estimates_of_the_target_count_until_the_service_reports_units() {
        let meter = Meter::default();
        let call = outcome(20, 5);
        assert_eq!(meter.read(&call, meter.charge(), 25, None), call);
        assert!((meter.charge() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn later_calls_are_charged_at_the_ratio_of_earlier_ones() {
        let meter = Meter::default();
        let read = meter.read(&outcome(20, 5), 1.0, 25, Some(60.0));
        assert_eq!((read.sent, read.accepted, read.throttled), (25, 60, 5));
        assert!((meter.charge() - 3.0).abs() < 1e-9);
        let read = meter.read(&outcome(0, 25), 3.0, 75, None);
        assert_eq!((read.sent, read.accepted, read.throttled), (75, 0, 75));
        assert_eq!((read.fresh, read.fresh_throttled), (75, 75));
    }

    #[test]
    fn a_report_that_is_not_a_positive_number_is_ignored() {
        let meter = Meter::default();
        for reported in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(meter.read(&outcome(20, 0), 1.0, 20, Some(reported)).accepted, 20);
        }
        assert!((meter.charge() - 1.0).abs() < 1e-9);
    }
}
