//! How an on-demand table grows.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::consumption::Consumption;

/// A new table takes 4,000 writes a second. From the developer guide, "On-demand capacity mode".
const NEW_TABLE: f64 = 4_000.0;
/// Traffic up to twice the former peak is taken at once. From the same page.
const FACTOR: f64 = 2.0;
/// More than that may be throttled within 30 minutes. From the same page.
const SPACING: Duration = Duration::from_mins(30);
/// A peak is what is used on average over this part of the spacing: a minute of 30.
const WINDOWS: u32 = 30;

/// How much an on-demand table takes, and how it grows.
///
/// It takes twice its former peak at once. What it takes then becomes the former peak when it has lasted: AWS promises that
/// after 30 minutes.
///
/// # Default
/// - a new table: 4,000 units/s
/// - a peak counts after 30 minutes
/// - no maximum
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnDemand {
    warm: f64,
    spacing: Duration,
    most: Option<f64>,
}

impl OnDemand {
    /// Units a second that are taken from the start: what AWS calls warm throughput. Default: 4,000.
    #[must_use]
    pub fn warm(mut self, units: f64) -> Self {
        self.warm = units.max(0.0);
        self
    }

    /// How long ago a peak has to be to count as a former one. Default: 30 minutes.
    #[must_use]
    pub fn grows_after(mut self, spacing: Duration) -> Self {
        self.spacing = spacing;
        self
    }

    /// Units a second that the owner of the table has set as the maximum. Default: none.
    #[must_use]
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
    /// When windows ended that are not yet former, and their means.
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

    /// Ends a window, and tells the rate from then on.
    pub(super) fn end_window(&mut self) -> f64 {
        let now = self.consumption.ends();
        // What was saved up for a second is no peak.
        let mean = self.consumption.end().min(self.warm);
        self.recent.push_back((now, mean));
        while let Some((_, peak)) = self
            .recent
            .pop_front_if(|(ended, _)| *ended + self.options.spacing <= now)
        {
            self.warm = self.warm.max(FACTOR * peak);
        }
        self.options.limited(self.warm)
    }

    /// What the table takes without the owner's maximum.
    pub(super) fn warm(&self) -> f64 {
        self.warm
    }

    pub(super) fn most(&self) -> Option<f64> {
        self.options.most
    }

    /// Whether the owner's maximum is what limits.
    pub(super) fn is_at_most(&self) -> bool {
        self.options.most.is_some_and(|most| most <= self.warm)
    }
}
