//! The capacity that all partitions of a table share.

use std::time::Duration;

use tokio::time::Instant;

use super::growth::Growth;
use super::scaling::Scaling;
use super::throttle::ThroughputLimit;
use super::throughput::Throughput;
use crate::capacity::{Capacity, TokenBucket};

#[derive(Debug, Clone)]
pub(super) struct Pool {
    bucket: TokenBucket,
    growth: Option<Growth>,
    scaling: Option<Scaling>,
}

impl Pool {
    pub(super) fn new(throughput: &Throughput, now: Instant) -> Self {
        let scaling = throughput.auto_scaling.clone();
        Self {
            bucket: TokenBucket::new(throughput.capacity, now),
            growth: throughput.on_demand.map(|growth| Growth::new(growth, now)),
            scaling: scaling.map(|scaling| Scaling::new(scaling, now)),
        }
    }

    /// When the capacity is next reviewed or changed.
    pub(super) fn next_event(&self) -> Option<Instant> {
        let growth = self.growth.as_ref().map(|growth| growth.consumption.ends());
        let period = self.scaling.as_ref().map(|scaling| scaling.consumption.ends());
        let pending = self.scaling.as_ref().and_then(|scaling| scaling.pending);
        let changes = pending.map(|(at, _)| at);
        [growth, period, changes].into_iter().flatten().min()
    }

    /// The event at this moment.
    pub(super) fn handle(&mut self, now: Instant) {
        self.bucket.fill(now);
        let rate = self.bucket.capacity().rate();
        if let Some(growth) = &mut self.growth
            && growth.consumption.ends() <= now
        {
            let next = growth.end_window();
            if next > rate {
                self.bucket.set_rate(next, now);
            }
        }
        if let Some(scaling) = &mut self.scaling {
            if scaling.consumption.ends() <= now {
                scaling.end_period(rate);
            }
            if let Some((_, next)) = scaling.pending.take_if(|(at, _)| *at <= now) {
                self.bucket.set_rate(next, now);
            }
        }
    }

    pub(super) fn fill(&mut self, now: Instant) {
        self.bucket.fill(now);
    }

    pub(super) fn capacity(&self) -> &Capacity {
        self.bucket.capacity()
    }

    pub(super) fn change(&mut self, capacity: Capacity, now: Instant) {
        self.bucket.change(capacity, now);
    }

    pub(super) fn schedule(&mut self, steps: impl IntoIterator<Item = (Duration, Capacity)>, now: Instant) {
        let steps = steps.into_iter().map(|(after, capacity)| (now + after, capacity));
        self.bucket.schedule(steps, now);
    }

    /// Units per second that the partitions must be able to accept; for an on-demand table, its warm throughput.
    pub(super) fn needs(&self) -> f64 {
        match (&self.growth, &self.scaling) {
            (Some(growth), _) => growth.warm(),
            (None, Some(_)) => self.capacity().rate(),
            (None, None) => 0.0,
        }
    }

    pub(super) fn growth(&self) -> Option<&Growth> {
        self.growth.as_ref()
    }

    pub(super) fn level(&self) -> f64 {
        self.bucket.level()
    }

    pub(super) fn fits(&self, units: f64) -> bool {
        self.bucket.fits(units)
    }

    pub(super) fn take(&mut self, units: f64) {
        self.bucket.take(units);
        if let Some(growth) = &mut self.growth {
            growth.consumption.add(units);
        }
        if let Some(scaling) = &mut self.scaling {
            scaling.consumption.add(units);
        }
    }

    /// Another client uses the available capacity, at most this many units. Returns how many it has used.
    pub(super) fn drain(&mut self, units: f64) -> f64 {
        self.bucket.drain(units)
    }

    /// The limit that is exceeded when units are missing.
    pub(super) fn limit(&self) -> ThroughputLimit {
        match &self.growth {
            Some(growth) if growth.is_at_most() => ThroughputLimit::MaxOnDemand,
            Some(_) => ThroughputLimit::KeyRange,
            None => ThroughputLimit::Provisioned,
        }
    }
}
