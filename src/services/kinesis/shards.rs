//! The shards of a stream.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_kinesis::types::Shard;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::contract::{Fault, Lookup, LookupError};
use crate::time_limit::within;

/// Records per second that a shard takes. From the quotas of Kinesis, as the bytes.
const RECORDS_PER_SECOND: f64 = 1_000.0;

/// How long a call waits for the shards to be listed again.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The shards are listed again at most so often.
const INTERVAL: Duration = Duration::from_secs(1);

/// The shards of a stream, by the hash keys at which they begin and end.
#[derive(Debug, Clone, Default)]
pub(super) struct Shards {
    /// Those that take records, in the order of their hash keys.
    open: Vec<RangeInclusive<u128>>,
    /// All that are listed, by their ids. The hash keys of a shard never change.
    by_id: HashMap<String, RangeInclusive<u128>>,
}

impl Shards {
    /// Those of a list of all shards that the stream has had. A shard with a last sequence number was split or merged and
    /// takes no more records.
    pub(super) fn listed(shards: &[Shard]) -> Self {
        let mut listed = Self::default();
        for shard in shards {
            let Some(hash_keys) = hash_keys_of(shard) else {
                continue;
            };
            let sequence_numbers = shard.sequence_number_range();
            if sequence_numbers.is_none_or(|numbers| numbers.ending_sequence_number().is_none()) {
                listed.open.push(hash_keys.clone());
            }
            listed.by_id.insert(shard.shard_id().to_owned(), hash_keys);
        }
        listed.open.sort_unstable_by_key(|hash_keys| *hash_keys.start());
        listed
    }

    /// How many shards take records.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Records per second that the open shards take together. `None` without a shard.
    pub(super) fn throughput(&self) -> Option<f64> {
        let count = u32::try_from(self.len()).ok().filter(|count| *count > 0)?;
        Some(RECORDS_PER_SECOND * f64::from(count))
    }

    /// The index of the open shard that takes the hash key, in the order of the hash keys.
    pub(super) fn of(&self, hash_key: u128) -> Option<usize> {
        let after = self.open.partition_point(|hash_keys| *hash_keys.start() <= hash_key);
        let place = after.checked_sub(1)?;
        self.open[place].contains(&hash_key).then_some(place)
    }

    /// The hash keys of the shard with this id, open or not.
    pub(super) fn hash_keys(&self, id: &str) -> Option<&RangeInclusive<u128>> {
        self.by_id.get(id)
    }
}

fn hash_keys_of(shard: &Shard) -> Option<RangeInclusive<u128>> {
    let range = shard.hash_key_range()?;
    let first = range.starting_hash_key().parse().ok()?;
    Some(first..=range.ending_hash_key().parse().ok()?)
}

/// The shards as they were listed last, which clones share.
#[derive(Clone)]
pub(super) struct ShardMap {
    listed: Lookup<Shards>,
    /// When they were listed again last. Locked for as long as that takes.
    renewed_at: Arc<Mutex<Option<Instant>>>,
}

impl ShardMap {
    pub(super) fn new() -> Self {
        Self {
            listed: Lookup::by("ListShards"),
            renewed_at: Arc::default(),
        }
    }

    /// Lists the shards, unless they are known.
    pub(super) async fn ask_once<F>(&self, list: impl FnOnce() -> F) -> Result<(), Fault>
    where
        F: Future<Output = Result<Shards, LookupError>>,
    {
        self.listed.ask_once(list).await?;
        Ok(())
    }

    /// Why they are not known.
    pub(super) fn missing(&self) -> Option<Fault> {
        self.listed.missing()
    }

    /// What is known of them.
    pub(super) fn get(&self) -> Option<Arc<Shards>> {
        self.listed.get()
    }

    /// Shards with these ids have accepted records. If one of them is not known, the stream has been resharded.
    pub(super) fn have_accepted<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        let Some(shards) = self.get() else {
            return;
        };
        if ids.into_iter().any(|id| shards.hash_keys(id).is_none()) {
            self.listed.seems_outdated();
        }
    }

    /// The hash keys of the shard with this id. If it is not known, the stream has been resharded, and the shards are listed again.
    pub(super) async fn hash_keys<F>(&self, id: &str, list: impl FnOnce() -> F) -> Option<RangeInclusive<u128>>
    where
        F: Future<Output = Result<Shards, LookupError>>,
    {
        let known = || self.get()?.hash_keys(id).cloned();
        if let Some(hash_keys) = known() {
            return Some(hash_keys);
        }
        let mut renewed_at = self.renewed_at.lock().await;
        // Another call may have listed them meanwhile.
        if let Some(hash_keys) = known() {
            return Some(hash_keys);
        }
        let now = Instant::now();
        if renewed_at.is_some_and(|at| now < at + INTERVAL) {
            return None;
        }
        // Even if this one is dropped while it waits.
        *renewed_at = Some(now);
        let listed = within(TIMEOUT, pin!(list())).await;
        // What has waited for this list does not wait for another one.
        *renewed_at = Some(Instant::now());
        self.listed.learn(listed?.ok()?);
        known()
    }
}

#[cfg(test)]
mod tests;
