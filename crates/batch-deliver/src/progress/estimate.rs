//! Estimates when the delivery will end.

use std::collections::VecDeque;
use std::time::Duration;

/// The time over which the rate is averaged.
const AVERAGED: Duration = Duration::from_secs(10);

/// Estimates from the progress of the last seconds.
#[derive(Debug, Default)]
pub(crate) struct ProgressEstimate {
    /// Times, and the number of settled entries at each.
    seen: VecDeque<(Duration, u64)>,
}

impl ProgressEstimate {
    /// The rate in entries per second, now that `settled` entries are settled after `elapsed`.
    #[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
    pub(crate) fn rate(&mut self, elapsed: Duration, settled: u64) -> f64 {
        if self.seen.is_empty() {
            self.seen.push_back((Duration::ZERO, 0));
        }
        self.seen.push_back((elapsed, settled));
        while self.seen.len() > 2 && self.seen[1].0 + AVERAGED <= elapsed {
            self.seen.pop_front();
        }
        let (then, before) = self.seen[0];
        let seconds = elapsed.saturating_sub(then).as_secs_f64();
        if seconds > 0.0 {
            settled.saturating_sub(before) as f64 / seconds
        } else {
            0.0
        }
    }
}

/// Bytes of the inputs whose records are settled, estimated from the share of settled records.
pub(crate) fn done(read_bytes: u64, read: u64, settled: u64) -> u64 {
    if read == 0 {
        return 0;
    }
    let done = u128::from(read_bytes) * u128::from(settled.min(read)) / u128::from(read);
    u64::try_from(done).unwrap_or(read_bytes)
}

/// The remaining time at this rate, if the settled entries are `done` of `total` bytes.
#[expect(clippy::cast_precision_loss, reason = "an estimate is for the eye")]
pub(crate) fn left(rate: f64, settled: u64, done: u64, total: u64) -> Option<Duration> {
    let entries = settled as f64 * total.saturating_sub(done) as f64 / done as f64;
    Duration::try_from_secs_f64(entries / rate).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_average_of_the_last_seconds() {
        let mut estimate = ProgressEstimate::default();
        assert!(estimate.rate(Duration::ZERO, 0) <= 0.0);
        assert!((ProgressEstimate::default().rate(Duration::from_secs(10), 50) - 5.0).abs() < 1e-9);
        for second in 1..=20 {
            estimate.rate(Duration::from_secs(second), second * 1_000);
        }
        for second in 21..=30 {
            let rate = estimate.rate(Duration::from_secs(second), 20_000);
            assert_eq!(rate <= 0.0, second >= 30, "{second}: {rate}");
        }
    }

    #[test]
    fn records_that_were_read_ahead_are_not_done() {
        assert_eq!(done(1_000, 0, 0), 0);
        assert_eq!(done(1_000, 100, 25), 250);
        assert_eq!(left(5.0, 50, 250, 1_000), Some(Duration::from_secs(30)));
        assert_eq!(left(5.0, 0, 0, 1_000), None);
        assert_eq!(left(0.0, 50, 250, 1_000), None);
    }
}
