//! One partition, and how long it has been hot.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tokio::time::Instant;

use super::demand::Place;
use crate::capacity::{Capacity, TokenBucket};

/// Write units per second that one partition accepts. From the developer guide, "Designing partition keys to distribute your
/// workload".
pub(super) const PARTITION_LIMIT: f64 = 1_000.0;
/// The burst of a partition: the unused capacity of this time. AWS does not publish it.
const EVENED_OUT: Duration = Duration::from_secs(1);
/// A partition is no longer hot after it was not asked for more than its limit for this long.
const COOLED_DOWN: Duration = Duration::from_secs(10);
/// Sampled places, whose median is the place of a split.
const SAMPLES: usize = 64;

/// The capacity of a healthy partition.
pub(super) fn healthy() -> Capacity {
    limited(PARTITION_LIMIT).starts_full()
}

/// A partition with this limit, in units per second. Its burst is empty when an outage ends.
pub(super) fn limited(units: f64) -> Capacity {
    Capacity::per_second(units).burst_of(EVENED_OUT)
}

#[derive(Debug, Clone)]
pub(super) struct Partition {
    /// The first place that belongs to the partition.
    pub(super) start: Place,
    pub(super) bucket: TokenBucket,
    heat: Option<Heat>,
}

/// Since when a partition is asked for more than its limit, and a sample of the requested places.
#[derive(Debug, Clone)]
struct Heat {
    since: Instant,
    last: Instant,
    seen: u64,
    places: Vec<Place>,
}

impl Partition {
    pub(super) fn new(start: Place, now: Instant) -> Self {
        Self {
            start,
            bucket: TokenBucket::new(healthy(), now),
            heat: None,
        }
    }

    /// A partition with the same limit and level that begins at another place.
    pub(super) fn from(&self, start: Place) -> Self {
        Self {
            start,
            bucket: self.bucket.clone(),
            heat: None,
        }
    }

    /// The partition was asked for more than its limit.
    pub(super) fn throttled(&mut self, now: Instant) {
        match &mut self.heat {
            Some(heat) if now < heat.last + COOLED_DOWN => heat.last = now,
            heat => {
                *heat = Some(Heat {
                    since: now,
                    last: now,
                    seen: 0,
                    places: Vec::new(),
                });
            }
        }
    }

    /// A write was requested, accepted or not. Every place has the same probability of being sampled.
    pub(super) fn asked(&mut self, place: Place, random: &mut SmallRng) {
        let Some(heat) = &mut self.heat else { return };
        heat.seen += 1;
        if heat.places.len() < SAMPLES {
            heat.places.push(place);
        } else if let Ok(index) = usize::try_from(random.random_range(0..heat.seen))
            && let Some(sample) = heat.places.get_mut(index)
        {
            *sample = place;
        }
    }

    /// Where the partition splits, if it has been hot for `after`.
    pub(super) fn parts_at(&mut self, after: Duration, now: Instant) -> Option<Place> {
        let heat = self
            .heat
            .take_if(|heat| heat.since + after <= now && heat.places.len() == SAMPLES)?;
        let mut places = heat.places;
        places.sort_unstable();
        let first = *places.first()?;
        places[SAMPLES / 2..]
            .iter()
            .copied()
            .find(|place| *place > first && *place > self.start)
    }
}
