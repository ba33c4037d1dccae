//! Converts between the units that a target estimates and those that the service charges.

use std::sync::PoisonError;

use crate::backoff::Outcome;
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
    reckoned: f64,
    told: f64,
}

impl Meter {
    /// Units that the service charges for one estimated unit.
    pub(crate) fn charge(&self) -> f64 {
        let Reading { reckoned, told } = *self.lock();
        if reckoned > 0.0 && told > 0.0 {
            told / reckoned
        } else {
            1.0
        }
    }

    /// The outcome of a call that was charged `sent` units at the ratio `charge`, and that consumed `told` units, if
    /// reported.
    pub(crate) fn read(&self, outcome: &Outcome, charge: f64, sent: usize, told: Option<f64>) -> Outcome {
        let accepted = reckoned(outcome.accepted);
        let told = told.filter(|told| told.is_finite() && *told > 0.0 && accepted > 0.0);
        if let Some(told) = told {
            let mut read = self.lock();
            read.reckoned = read.reckoned * MEMORY + accepted;
            read.told = read.told * MEMORY + told;
        }
        let mut counted = *outcome;
        // What was charged when the call left, so that the units in flight add up to zero again.
        counted.sent = sent;
        counted.accepted = told.map_or_else(|| scaled(outcome.accepted, charge), rounded);
        counted.throttled = scaled(outcome.throttled, charge);
        counted.failed = scaled(outcome.failed, charge);
        counted.unsent = scaled(outcome.unsent, charge);
        counted.refused = scaled(outcome.refused, charge);
        counted.fresh.sent = scaled(outcome.fresh.sent, charge);
        counted.fresh.throttled = scaled(outcome.fresh.throttled, charge);
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
    #[expect(clippy::float_cmp, reason = "it is exactly that unless the service told otherwise")]
    if charge == 1.0 {
        return units;
    }
    rounded(reckoned(units) * charge).max(1)
}

/// Counts above `u32::MAX` are treated as that.
fn reckoned(units: usize) -> f64 {
    u32::try_from(units).map_or(f64::from(u32::MAX), f64::from)
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
    fn without_a_word_from_the_service_the_target_is_believed() {
        let meter = Meter::default();
        let call = outcome(20, 5);
        assert_eq!(meter.read(&call, meter.charge(), 25, None), call);
        assert!((meter.charge() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn later_calls_are_charged_what_earlier_ones_took() {
        let meter = Meter::default();
        let read = meter.read(&outcome(20, 5), 1.0, 25, Some(60.0));
        assert_eq!((read.sent, read.accepted, read.throttled), (25, 60, 5));
        assert!((meter.charge() - 3.0).abs() < 1e-9);
        let read = meter.read(&outcome(0, 25), 3.0, 75, None);
        assert_eq!((read.sent, read.accepted, read.throttled), (75, 0, 75));
        assert_eq!((read.fresh.sent, read.fresh.throttled), (75, 75));
    }

    #[test]
    fn a_service_that_charges_nothing_is_not_believed() {
        let meter = Meter::default();
        for told in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(meter.read(&outcome(20, 0), 1.0, 20, Some(told)).accepted, 20);
        }
        assert!((meter.charge() - 1.0).abs() < 1e-9);
    }
}
