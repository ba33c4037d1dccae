//! The capacity of a shard, or of a topic, bus or delivery stream, which has a single one.

use tokio::time::Instant;

use super::Arrival;
use crate::bucket::{Bucket, Capacity};
use crate::gate::{HOT, Passage};

pub(crate) struct Shard {
    entries: Bucket,
    bytes: Bucket,
}

impl Shard {
    /// A shard with these capacities for entries and for bytes.
    pub(crate) fn new(entries: Capacity, bytes: Capacity) -> Self {
        let now = Instant::now();
        Self {
            entries: Bucket::new(entries, now),
            bytes: Bucket::new(bytes, now),
        }
    }

    pub(crate) fn set_capacity(&mut self, entries: Capacity) {
        self.entries.change(entries, Instant::now());
    }

    fn fill(&mut self, now: Instant) {
        self.entries.fill(now);
        self.bytes.fill(now);
    }

    fn fits(&self, entries: f64, bytes: f64) -> bool {
        self.entries.fits(entries) && self.bytes.fits(bytes)
    }

    fn take(&mut self, entries: f64, bytes: f64) {
        self.entries.take(entries);
        self.bytes.take(bytes);
    }
}

/// Charges the entries to their shards, in this order, and throttles those for which there is no capacity.
///
/// Hot entries are throttled whatever the capacity. If a shard accepts only whole calls, all of the call passes or nothing.
pub(super) fn charge(
    shards: &mut [Shard],
    arrivals: &[&Arrival],
    hot: &[bool],
    now: Instant,
    order: &[usize],
    passages: &mut [Passage],
) {
    for shard in &mut *shards {
        shard.fill(now);
    }
    for (passage, _) in passages
        .iter_mut()
        .zip(hot)
        .filter(|(passage, hot)| **hot && passage.is_applied())
    {
        *passage = Passage::Throttled(HOT);
    }
    if shards.iter().any(|shard| shard.entries.capacity().takes_whole_calls()) && !fit(shards, arrivals, passages) {
        for passage in passages.iter_mut().filter(|passage| passage.is_applied()) {
            *passage = Passage::Throttled(HOT);
        }
        return;
    }
    for &place in order {
        let Arrival { shard, bytes, .. } = arrivals[place];
        let shard = &mut shards[*shard];
        if !passages[place].is_applied() {
            continue;
        }
        if shard.fits(1.0, float(*bytes)) {
            shard.take(1.0, float(*bytes));
        } else {
            passages[place] = Passage::Throttled(HOT);
        }
    }
}

/// Whether each shard has the capacity for all of its entries.
fn fit(shards: &[Shard], arrivals: &[&Arrival], passages: &[Passage]) -> bool {
    let mut sums = vec![(0.0, 0.0); shards.len()];
    for (arrival, _) in arrivals
        .iter()
        .zip(passages)
        .filter(|(_, passage)| passage.is_applied())
    {
        let (entries, bytes) = &mut sums[arrival.shard];
        *entries += 1.0;
        *bytes += float(arrival.bytes);
    }
    let mut of_shards = shards.iter().zip(sums);
    of_shards.all(|(shard, (entries, bytes))| shard.fits(entries, bytes))
}

#[expect(clippy::cast_precision_loss, reason = "a request has less than 2^52 bytes")]
fn float(bytes: usize) -> f64 {
    bytes as f64
}
