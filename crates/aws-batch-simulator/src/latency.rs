//! The latency of calls.

use std::f64::consts::TAU;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

/// The resolution of tokio's timers.
const TICK: Duration = Duration::from_millis(1);

/// The round trip of a call: half of it passes before the call arrives, half after.
///
/// Tokio's timers have a resolution of a millisecond. So the round trip is rounded to whole milliseconds, at least one, and
/// if their number is odd, the second half is the longer one.
///
/// # Default
/// No latency.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latency {
    median: Duration,
    sigma: f64,
    slow_share: f64,
    slow_factor: f64,
}

impl Latency {
    /// Calls take no time.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every call takes this long.
    pub fn fixed(round_trip: Duration) -> Self {
        Self {
            median: round_trip,
            ..Self::default()
        }
    }

    /// A lognormal round trip, which is typical of networks. `sigma` is the standard deviation of its logarithm: with 0.4, two
    /// thirds of all calls take between 0.67 and 1.5 times the median.
    pub fn lognormal(median: Duration, sigma: f64) -> Self {
        Self {
            median,
            sigma,
            ..Self::default()
        }
    }

    /// A share of the calls (0 to 1) takes `factor` times as long.
    #[must_use]
    pub fn slow(mut self, share: f64, factor: f64) -> Self {
        self.slow_share = share;
        self.slow_factor = factor;
        self
    }

    pub(crate) fn is_none(&self) -> bool {
        self.median.is_zero()
    }

    /// The time until a call arrives, and the time of its answer.
    pub(crate) fn halves(&self, random: &mut SmallRng) -> (Duration, Duration) {
        if self.is_none() {
            return (Duration::ZERO, Duration::ZERO);
        }
        let nearest = self.sample(random).saturating_add(TICK / 2);
        let ticks = (nearest.as_nanos() / TICK.as_nanos()).max(1);
        let there = whole(ticks / 2);
        (there, whole(ticks).saturating_sub(there))
    }

    fn sample(&self, random: &mut SmallRng) -> Duration {
        let mut factor = 1.0;
        if self.sigma > 0.0 {
            // The Box-Muller transform of two uniform numbers to a normal one; the first must not be 0.
            let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
            factor *= (self.sigma * radius * (TAU * random.random::<f64>()).cos()).exp();
        }
        if self.slow_share > 0.0 && random.random::<f64>() < self.slow_share {
            factor *= self.slow_factor;
        }
        Duration::try_from_secs_f64(self.median.as_secs_f64() * factor).unwrap_or(Duration::MAX)
    }
}

/// The duration of this many ticks, saturated.
fn whole(ticks: u128) -> Duration {
    u64::try_from(ticks).map_or(Duration::MAX, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn half_of_the_lognormal_round_trips_are_below_the_median() {
        let latency = Latency::lognormal(Duration::from_millis(8), 0.4);
        let mut random = SmallRng::seed_from_u64(1);
        let below = (0..10_000)
            .filter(|_| latency.sample(&mut random) < Duration::from_millis(8))
            .count();
        assert!((4_800..5_200).contains(&below), "{below}");
    }

    #[test]
    fn the_halves_make_the_whole_in_milliseconds() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut halves = |microseconds| {
            let (there, back) = Latency::fixed(Duration::from_micros(microseconds)).halves(&mut random);
            (there.as_micros(), back.as_micros())
        };
        assert_eq!(halves(0), (0, 0));
        assert_eq!(halves(1), (0, 1_000));
        assert_eq!(halves(8_400), (4_000, 4_000));
        assert_eq!(halves(8_600), (4_000, 5_000));
    }

    #[test]
    fn the_mean_of_the_round_trips_is_not_rounded_away() {
        let latency = Latency::lognormal(Duration::from_millis(8), 0.4);
        let mut random = SmallRng::seed_from_u64(1);
        let all = (0..10_000).map(|_| latency.halves(&mut random));
        let mean = all.map(|(there, back)| (there + back).as_secs_f64()).sum::<f64>() / 10_000.0;
        let expected = 0.008 * (0.4_f64.powi(2) / 2.0).exp();
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean} instead of {expected}");
    }

    #[test]
    fn a_share_of_the_calls_is_slow() {
        let latency = Latency::fixed(Duration::from_millis(10)).slow(0.1, 8.0);
        let mut random = SmallRng::seed_from_u64(1);
        let slow = (0..10_000)
            .filter(|_| latency.sample(&mut random) == Duration::from_millis(80))
            .count();
        assert!((900..1_100).contains(&slow), "{slow}");
    }
}
