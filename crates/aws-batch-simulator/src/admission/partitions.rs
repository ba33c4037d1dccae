//! The partitions of a table: ranges of its keys.

use std::time::Duration;

use rand::rngs::SmallRng;
use tokio::time::Instant;

use super::demand::Place;
use super::partition::{PARTITION_LIMIT, Partition, healthy, limited};

/// More partitions than any table of a simulation needs.
const MOST: usize = 1 << 16;

#[derive(Debug, Clone)]
pub(super) struct Partitions {
    /// In the order of their places. The first one starts at the first place.
    ranges: Vec<Partition>,
    splits_after: Option<Duration>,
}

impl Partitions {
    /// This many partitions, each with an equal part of the hashes.
    pub(super) fn new(count: usize, splits_after: Option<Duration>, now: Instant) -> Self {
        let count = count.clamp(1, MOST);
        let start = |index: usize| {
            let hash = (index as u128) << 64;
            u64::try_from(hash / count as u128).unwrap_or(u64::MAX)
        };
        Self {
            ranges: (0..count)
                .map(|index| Partition::new(Place::new(start(index), 0), now))
                .collect(),
            splits_after,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The partition that a place belongs to.
    pub(super) fn index_of(&self, place: Place) -> usize {
        self.ranges.partition_point(|range| range.start <= place) - 1
    }

    /// Whether the partition accepts this many units now.
    pub(super) fn fits(&mut self, index: usize, place: Place, units: f64, now: Instant, random: &mut SmallRng) -> bool {
        let partition = &mut self.ranges[index];
        partition.bucket.fill(now);
        // In an outage, the burst is gone too.
        let fits = partition.bucket.capacity().rate() > 0.0 && partition.bucket.fits(units);
        if let Some(after) = self.splits_after {
            if !fits {
                partition.record_throttle(now);
            }
            partition.record_request(place, random);
            if let Some(middle) = partition.split_point(after, now) {
                let upper = partition.from(middle);
                self.ranges.insert(index + 1, upper);
            }
        }
        fits
    }

    pub(super) fn take(&mut self, index: usize, units: f64) {
        self.ranges[index].bucket.take(units);
    }

    /// Splits every partition until all together accept this many units per second.
    pub(super) fn grow_to(&mut self, units: f64) {
        #[expect(clippy::cast_precision_loss, reason = "a number of partitions")]
        while (self.len() as f64) * PARTITION_LIMIT < units && self.len() < MOST {
            let ends: Vec<u128> = self.ranges.iter().skip(1).map(|range| range.start.number()).collect();
            let ends = ends.into_iter().chain([u128::MAX]);
            let halves = self.ranges.drain(..).zip(ends).flat_map(|(lower, end)| {
                let upper = lower.from(lower.start.between(end));
                [lower, upper]
            });
            self.ranges = halves.collect();
        }
    }

    /// Changes the limit of the partition at each of these times after `now`; infinity is the limit of a healthy partition.
    pub(super) fn schedule(&mut self, index: usize, steps: impl IntoIterator<Item = (Duration, f64)>, now: Instant) {
        let Some(partition) = self.ranges.get_mut(index) else {
            return;
        };
        let steps = steps.into_iter().map(|(after, units)| {
            let units = units.min(healthy().rate());
            (now + after, limited(units))
        });
        partition.bucket.schedule(steps, now);
    }
}
