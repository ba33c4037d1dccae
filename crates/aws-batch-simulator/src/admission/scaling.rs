//! How the provisioned capacity follows consumption.

use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::time::Instant;

use super::consumption::Consumption;

/// The default target of AWS's console.
const TARGET: f64 = 0.7;
/// Consumption is measured for each minute.
const PERIOD: Duration = Duration::from_secs(60);
/// The capacity is raised after two minutes above the target. From the developer guide, "Managing throughput capacity
/// automatically".
const UPS: u32 = 2;
/// The capacity is lowered after 15 minutes below 80% of the target. From the same page.
const DOWNS: u32 = 15;
const LOW: f64 = 0.8;
/// How long a change takes. AWS does not publish it; a minute is usual.
const DELAY: Duration = Duration::from_secs(60);

/// Provisioned capacity that follows consumption.
///
/// When two consecutive periods use more than the target share of the capacity, the capacity changes, after a delay and within
/// the bounds, so that the same consumption is the target share. Consumption cannot exceed the provisioned capacity and its
/// burst, so one step up is by a factor of about 1/0.7.
///
/// # Default
/// - target: 0.7 of the capacity
/// - period: 1 minute; up after 2 of them, down after 15
/// - delay: 1 minute
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct AutoScaling {
    bounds: RangeInclusive<f64>,
    target: f64,
    period: Duration,
    delay: Duration,
}

impl AutoScaling {
    /// Between these bounds, in units per second.
    pub fn within(bounds: RangeInclusive<f64>) -> Self {
        Self {
            bounds,
            target: TARGET,
            period: PERIOD,
            delay: DELAY,
        }
    }

    /// The share of the capacity that should be used, above 0 and at most 1. Default: 0.7.
    pub fn target(mut self, share: f64) -> Self {
        self.target = share.clamp(0.01, 1.0);
        self
    }

    /// How long one period is. Default: 1 minute.
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period;
        self
    }

    /// How long it takes from the decision until the capacity has changed. Default: 1 minute.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// The scaling of one table.
#[derive(Debug, Clone)]
pub(super) struct Scaling {
    options: AutoScaling,
    pub(super) consumption: Consumption,
    above: u32,
    below: u32,
    /// The next capacity, and when it applies.
    pub(super) pending: Option<(Instant, f64)>,
}

impl Scaling {
    pub(super) fn new(options: AutoScaling, now: Instant) -> Self {
        Self {
            consumption: Consumption::new(options.period, now),
            options,
            above: 0,
            below: 0,
            pending: None,
        }
    }

    /// Ends a period in which this many units per second were provisioned.
    pub(super) fn end_period(&mut self, provisioned: f64) {
        let now = self.consumption.ends();
        let used = self.consumption.end();
        let wanted = self.options.target * provisioned;
        self.above = if used > wanted { self.above + 1 } else { 0 };
        self.below = if used < LOW * wanted { self.below + 1 } else { 0 };
        if self.pending.is_some() || (self.above < UPS && self.below < DOWNS) {
            return;
        }
        let (least, most) = (*self.options.bounds.start(), *self.options.bounds.end());
        let next = (used / self.options.target).min(most).max(least);
        (self.above, self.below) = (0, 0);
        if (next - provisioned).abs() > f64::EPSILON {
            self.pending = Some((now + self.options.delay, next));
        }
    }
}
