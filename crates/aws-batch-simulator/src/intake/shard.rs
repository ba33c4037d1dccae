//! The capacity of a shard, or of a topic, bus or delivery stream, which has a single one.

use tokio::time::Instant;

use super::entry::Entry;
use crate::calls::{HOT_RANGE, Verdict};
use crate::capacity::{Capacity, TokenBucket};

pub(crate) struct Shard {
    entries: TokenBucket,
    bytes: TokenBucket,
}

impl Shard {
    /// A shard with these capacities for entries and for bytes.
    pub(crate) fn new(entries: Capacity, bytes: Capacity) -> Self {
        let now = Instant::now();
        Self {
            entries: TokenBucket::new(entries, now),
            bytes: TokenBucket::new(bytes, now),
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
/// Some entries are throttled whatever the capacity.
pub(super) fn charge(
    shards: &mut [Shard],
    entries: &[&Entry],
    is_throttled: &[bool],
    now: Instant,
    order: &[usize],
    verdicts: &mut [Verdict],
) {
    for shard in &mut *shards {
        shard.fill(now);
    }
    for (verdict, _) in verdicts
        .iter_mut()
        .zip(is_throttled)
        .filter(|(verdict, is_throttled)| **is_throttled && verdict.is_applied())
    {
        *verdict = Verdict::Throttled(HOT_RANGE);
    }
    for &place in order {
        let Entry { shard, bytes, .. } = entries[place];
        let shard = &mut shards[*shard];
        if !verdicts[place].is_applied() {
            continue;
        }
        if shard.fits(1.0, float(*bytes)) {
            shard.take(1.0, float(*bytes));
        } else {
            verdicts[place] = Verdict::Throttled(HOT_RANGE);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a request has less than 2^52 bytes")]
fn float(bytes: usize) -> f64 {
    bytes as f64
}
