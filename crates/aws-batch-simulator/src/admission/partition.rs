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
const BURST: Duration = Duration::from_secs(1);
/// A partition is no longer hot when no more than its limit was requested for this long.
const COOLING: Duration = Duration::from_secs(10);
/// Sampled places, whose median is the place of a split.
const SAMPLES: usize = 64;

/// The capacity of a healthy partition.
pub(super) fn healthy() -> Capacity {
    limited(PARTITION_LIMIT).starts_full()
}

/// A partition with this limit, in units per second. Its burst is empty when an outage ends.
pub(super) fn limited(units: f64) -> Capacity {
    Capacity::per_second(units).burst_of(BURST)
}

#[derive(Debug, Clone)]
pub(super) struct Partition {
    /// The first place that belongs to the partition.
    pub(super) start: Place,
    pub(super) bucket: TokenBucket,
    overload: Option<Overload>,
}

/// Since when more than the limit of a partition is requested, and a sample of the requested places.
#[derive(Debug, Clone)]
struct Overload {
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
            overload: None,
        }
    }

    /// A partition with the same limit and level that begins at another place.
    pub(super) fn from(&self, start: Place) -> Self {
        Self {
            start,
            bucket: self.bucket.clone(),
            overload: None,
        }
    }

    /// More than the limit of the partition was requested.
    pub(super) fn record_throttle(&mut self, now: Instant) {
        match &mut self.overload {
            Some(overload) if now < overload.last + COOLING => overload.last = now,
            overload => {
                *overload = Some(Overload {
                    since: now,
                    last: now,
                    seen: 0,
                    places: Vec::new(),
                });
            }
        }
    }

    /// A write was requested, accepted or not. Every place has the same probability of being sampled.
    pub(super) fn record_request(&mut self, place: Place, random: &mut SmallRng) {
        let Some(overload) = &mut self.overload else { return };
        overload.seen += 1;
        if overload.places.len() < SAMPLES {
            overload.places.push(place);
        } else if let Ok(index) = usize::try_from(random.random_range(0..overload.seen))
            && let Some(sample) = overload.places.get_mut(index)
        {
            *sample = place;
        }
    }

    /// Where the partition splits, if it has been hot for `after`.
    pub(super) fn split_point(&mut self, after: Duration, now: Instant) -> Option<Place> {
        let overload = self
            .overload
            .take_if(|overload| overload.since + after <= now && overload.places.len() == SAMPLES)?;
        let mut places = overload.places;
        places.sort_unstable();
        let first = *places.first()?;
        places[SAMPLES / 2..]
            .iter()
            .copied()
            .find(|place| *place > first && *place > self.start)
    }
}
