//! How an on-demand table grows.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::consumption::Consumption;

/// A new table accepts 4,000 write units per second. From the developer guide, "On-demand capacity mode".
const NEW_TABLE: f64 = 4_000.0;
/// Traffic up to twice the previous peak is accepted at once. From the same page.
const FACTOR: f64 = 2.0;
/// More than that may be throttled within 30 minutes. From the same page.
const SPACING: Duration = Duration::from_secs(30 * 60);
/// The spacing is divided into this many windows, a minute each by default. A peak is the highest mean of a window.
const WINDOWS: u32 = 30;

/// How much an on-demand table accepts, and how it grows.
///
/// It accepts twice its previous peak at once. A new peak counts as the previous one after 30 minutes, as AWS documents it.
///
/// # Default
/// - a new table: 4,000 units/s
/// - a peak counts after 30 minutes
/// - no maximum
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct OnDemand {
    warm: f64,
    spacing: Duration,
    most: Option<f64>,
}

impl OnDemand {
    /// Units per second that are accepted from the start, which AWS calls warm throughput. Default: 4,000.
    pub fn warm(mut self, units: f64) -> Self {
        self.warm = units.max(0.0);
        self
    }

    /// After how long a peak counts as the previous one. Default: 30 minutes.
    pub fn grows_after(mut self, spacing: Duration) -> Self {
        self.spacing = spacing;
        self
    }

    /// The maximum that is set for the table, in units per second. Default: none.
    pub fn at_most(mut self, units: f64) -> Self {
        self.most = Some(units.max(0.0));
        self
    }

    pub(super) fn first_rate(&self) -> f64 {
        self.limited(self.warm)
    }

    fn limited(&self, rate: f64) -> f64 {
        self.most.map_or(rate, |most| rate.min(most))
    }
}

impl Default for OnDemand {
    fn default() -> Self {
        Self {
            warm: NEW_TABLE,
            spacing: SPACING,
            most: None,
        }
    }
}

/// The growth of one table.
#[derive(Debug, Clone)]
pub(super) struct Growth {
    options: OnDemand,
    pub(super) consumption: Consumption,
    /// The ends and means of the windows that do not count as the previous peak yet.
    recent: VecDeque<(Instant, f64)>,
    warm: f64,
}

impl Growth {
    pub(super) fn new(options: OnDemand, now: Instant) -> Self {
        Self {
            options,
            consumption: Consumption::new(options.spacing / WINDOWS, now),
            recent: VecDeque::new(),
            warm: options.warm,
        }
    }

    /// Ends a window, and returns the rate from then on.
    pub(super) fn end_window(&mut self) -> f64 {
        let now = self.consumption.ends();
        // A window may use the burst of one second in addition to the rate; that is not a peak.
        let mean = self.consumption.end().min(self.warm);
        self.recent.push_back((now, mean));
        while self
            .recent
            .front()
            .is_some_and(|(ended, _)| *ended + self.options.spacing <= now)
            && let Some((_, peak)) = self.recent.pop_front()
        {
            self.warm = self.warm.max(FACTOR * peak);
        }
        self.options.limited(self.warm)
    }

    /// The rate without the maximum that is set for the table.
    pub(super) fn warm(&self) -> f64 {
        self.warm
    }

    pub(super) fn most(&self) -> Option<f64> {
        self.options.most
    }

    /// Whether the maximum that is set for the table is the limit.
    pub(super) fn is_at_most(&self) -> bool {
        self.options.most.is_some_and(|most| most <= self.warm)
    }
}
