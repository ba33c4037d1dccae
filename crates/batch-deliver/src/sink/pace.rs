//! How fast a delivery is, and for how long.

use std::time::Duration;

use aws_batch_delivery::DeliveryOptions;
use aws_batch_delivery::backoff::{Adaptive, Exponential, Polynomial, Responsive};
use tokio::time::Instant;

use crate::outcome::Failure;
use crate::value_names::value_names;

/// The first of the delays that grow with the square of the retry's number.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long calls in flight may take after an interruption: less than the 30 s of an attempt, but enough for most calls.
pub(crate) const GRACE: Duration = Duration::from_secs(20);

/// How fast a delivery is, and for how long.
#[derive(Debug, Clone)]
pub(crate) struct PaceOptions {
    /// The most units per second.
    pub(crate) max_rate: Option<f64>,
    /// The share of the capacity to use.
    pub(crate) share: Option<f64>,
    /// The most calls in flight.
    pub(crate) concurrency: u32,
    pub(crate) strategy: Strategy,
    /// The most retries of an entry.
    pub(crate) retries: Option<u32>,
    /// The time after which the delivery stops.
    pub(crate) deadline: Option<Duration>,
}

/// A strategy of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    Adaptive,
    Responsive,
    FullJitter,
    EqualJitter,
    DecorrelatedJitter,
    Linear,
    Quadratic,
    Exponential,
}

value_names!(
    Strategy,
    Adaptive = "adaptive",
    Responsive = "responsive",
    FullJitter = "full-jitter",
    EqualJitter = "equal-jitter",
    DecorrelatedJitter = "decorrelated-jitter",
    Linear = "linear",
    Quadratic = "quadratic",
    Exponential = "exponential"
);

impl PaceOptions {
    /// The options of a delivery.
    pub(crate) fn options(&self) -> Result<DeliveryOptions, Failure> {
        let is_shaped = self.max_rate.is_some() || self.share.is_some();
        if is_shaped && self.strategy != Strategy::Adaptive {
            let words = "--max-rate and --share work only with the adaptive strategy: leave out --strategy";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        let options = DeliveryOptions::default();
        let mut options = match self.strategy {
            Strategy::Adaptive => options.backoff(self.adaptive()),
            Strategy::Responsive => options.backoff(Responsive::default()),
            Strategy::FullJitter => options.backoff(Exponential::full_jitter()),
            Strategy::EqualJitter => options.backoff(Exponential::equal_jitter()),
            Strategy::DecorrelatedJitter => options.backoff(Exponential::decorrelated_jitter()),
            Strategy::Linear => options.backoff(Polynomial::default()),
            Strategy::Quadratic => options.backoff(Polynomial::quadratic(INTERVAL)),
            Strategy::Exponential => options.backoff(Exponential::default()),
        };
        if let Some(retries) = self.retries {
            options = options.retries(retries);
        }
        if let Some(deadline) = self.deadline {
            let at = Instant::now().checked_add(deadline).ok_or_else(|| {
                let words = "--deadline is too far away: give a shorter time, or leave it out";
                Failure::WrongUse(words.to_owned())
            })?;
            options = options.deadline(at);
        }
        let calls = usize::try_from(self.concurrency).unwrap_or(1);
        Ok(options.concurrency(calls).grace(GRACE))
    }

    fn adaptive(&self) -> Adaptive {
        let mut adaptive = Adaptive::default();
        if let Some(rate) = self.max_rate {
            adaptive = adaptive.max_rate(rate);
        }
        if let Some(share) = self.share {
            adaptive = adaptive.share(share);
        }
        adaptive
    }
}
