//! Other clients of a table.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tokio::time::Instant;

/// Entries in a call of another client.
pub(super) const CALL: usize = 25;

/// Another client of the same table, which writes items of one unit to random keys, in calls of 25 entries at random times.
///
/// It does not retry rejected entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tenant {
    rate: f64,
    from: Duration,
    until: Option<Duration>,
}

impl Tenant {
    /// This many entries per second, from the start and without an end.
    pub fn new(entries: f64) -> Self {
        Self {
            rate: entries.max(0.0),
            from: Duration::ZERO,
            until: None,
        }
    }

    /// Only between these times, counted from the creation of the table.
    #[must_use]
    pub fn between(mut self, from: Duration, until: Duration) -> Self {
        (self.from, self.until) = (from, Some(until));
        self
    }
}

/// The times of a tenant's calls.
#[derive(Debug, Clone)]
pub(super) struct TenantCalls {
    mean: f64,
    pub(super) next: Option<Instant>,
    until: Option<Instant>,
}

impl TenantCalls {
    pub(super) fn new(tenant: Tenant, now: Instant, random: &mut SmallRng) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a small constant")]
        let mut calls = Self {
            mean: CALL as f64 / tenant.rate,
            next: Some(now + tenant.from).filter(|_| tenant.rate > 0.0),
            until: tenant.until.map(|until| now + until),
        };
        calls.step(random);
        calls
    }

    /// From one call to the next: exponentially distributed times make a Poisson process.
    pub(super) fn step(&mut self, random: &mut SmallRng) {
        let wait = -(1.0 - random.random::<f64>()).ln() * self.mean;
        self.next = self
            .next
            .zip(Duration::try_from_secs_f64(wait).ok())
            .map(|(last, wait)| last + wait)
            .filter(|next| self.until.is_none_or(|until| *next < until));
    }
}
