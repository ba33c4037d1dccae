//! Growing delays that never exceed what a [`Duration`] can hold.

use std::time::Duration;

/// The longest delay unless another is set: the AWS SDKs' own (`max_backoff` of their retry configuration).
pub(super) const LONGEST: Duration = Duration::from_secs(20);

/// `delay` times `factor`, which must not be negative.
pub(super) fn scaled(delay: Duration, factor: f64) -> Duration {
    // Zero times infinity is not a number; zero must stay zero.
    if delay.is_zero() {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(delay.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

/// `delay` times `multiplier` to the power of `exponent`.
pub(super) fn raised(delay: Duration, multiplier: f64, exponent: u32) -> Duration {
    scaled(delay, multiplier.powf(f64::from(exponent)))
}

/// Checks a multiplier that must not make a delay shorter, or a rate.
#[track_caller]
pub(super) fn assert_at_least_one(option: &str, value: f64) {
    assert!(
        value.is_finite() && value >= 1.0,
        "the {option} must be a finite number of at least 1, but is {value}"
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, assert_refused};

    #[test]
    fn doubling_is_exact() {
        let doubled: Vec<_> = (0..6)
            .map(|n| raised(Duration::from_millis(25), 2.0, n).as_nanos())
            .collect();
        assert_eq!(
            doubled,
            [
                25_000_000,
                50_000_000,
                100_000_000,
                200_000_000,
                400_000_000,
                800_000_000
            ]
        );
    }

    #[test]
    fn what_is_too_long_to_tell_is_the_longest_duration() {
        assert_eq!(raised(Duration::from_nanos(1), 2.0, u32::MAX), Duration::MAX);
        assert_eq!(raised(Duration::ZERO, 2.0, u32::MAX), Duration::ZERO);
    }

    #[test]
    fn a_multiplier_is_finite_and_does_not_shrink() {
        for wrong in [0.0, 0.999, -2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_refused("multiplier", move || assert_at_least_one("multiplier", wrong));
        }
        assert_at_least_one("multiplier", 1.0);
    }

    proptest! {
        #[test]
        fn growing_never_shrinks(delay in any_delay(), factor in 1.0..f64::MAX, exponent: u32) {
            // Rounding may lose one nanosecond in 2^52.
            let least = scaled(delay, 1.0 - f64::EPSILON);
            prop_assert!(scaled(delay, factor) >= least);
            prop_assert!(raised(delay, factor, exponent) >= least);
        }
    }
}
