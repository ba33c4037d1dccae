//! Calls whose records are aggregates of many.

use std::sync::atomic::Ordering::Relaxed;

use aws_sdk_kinesis::types::PutRecordsRequestEntry;

use super::{KinesisStream, verdict};
use crate::aws::correlate::by_place;
use crate::contract::{Answer, Fault, Verdict};
use crate::services::kinesis::packing::{AGGREGATE_BYTES, Landing, PackedCall, of_user_records};

/// User records in a call, if they are aggregated.
const MAX_USER_RECORDS: usize = 10_000;

/// Bytes of an aggregate, its partition key included: 1 MiB, which every stream takes unless it is set lower.
const MAX_AGGREGATE_BYTES: usize = 1024 * 1024;

impl KinesisStream {
    /// The bytes of the largest aggregate.
    pub(super) fn aggregate_bytes(&self) -> usize {
        let largest = self.limits.largest_entry();
        largest.min(MAX_AGGREGATE_BYTES)
    }

    /// How many user records a call may have, so that they need no more Kinesis records than it may have.
    ///
    /// Two aggregates of a shard in a row have more than [`AGGREGATE_BYTES`] together. So there are at most twice as many as bytes
    /// of the call need, and one for each shard.
    pub(super) fn user_records(&self) -> usize {
        let most = self.limits.entries;
        let shards = self.shards.get().map_or(usize::MAX, |shards| shards.len());
        let by_size = 2 * self.aggregate_bytes().div_ceil(AGGREGATE_BYTES);
        if (1..=most.saturating_sub(by_size)).contains(&shards) {
            MAX_USER_RECORDS.max(most)
        } else {
            most
        }
    }

    /// Makes one call in which user records share Kinesis records. Each has the verdict on its Kinesis record.
    pub(super) async fn send_aggregated(&self, records: &[PutRecordsRequestEntry]) -> Answer {
        let shards = self.shards.get();
        let packed = PackedCall::of(records, shards.as_deref(), self.is_ordered);
        let sent = packed.records.len();
        if sent > self.limits.entries {
            // The stream has been resharded, and has more shards than before. A smaller call needs fewer.
            let fault = Fault::new("more Kinesis records than a call may have");
            return Answer::Whole(Verdict::Refused(fault.for_the_size_of_the_call()));
        }
        let mut results = match self.put(packed.records).await {
            Ok(results) => results,
            Err(answer) => return answer,
        };
        let shard_ids: Vec<_> = results.iter_mut().map(|result| result.shard_id.take()).collect();
        let verdicts = match by_place("Kinesis", sent, results.into_iter().map(verdict)) {
            Answer::Each(verdicts) => verdicts,
            answer => return answer,
        };
        let mut landed = Vec::with_capacity(sent);
        for ((parts, verdict), id) in packed.parts.iter().zip(&verdicts).zip(shard_ids) {
            let id = id.filter(|id| !id.is_empty() && parts.depend_on_shard() && verdict.is_accepted());
            landed.push(match id {
                Some(id) => self.landed_in(&id, parts.sent_by()).await,
                None => Landing::InItsShard,
            });
        }
        Answer::Each(of_user_records(records.len(), &packed.parts, &verdicts, &landed))
    }

    /// Where a Kinesis record with this hash key is that the shard with this id has accepted.
    async fn landed_in(&self, id: &str, hash_key: Option<u128>) -> Landing {
        let Some(hash_keys) = self.shards.hash_keys(id, || self.list_shards()).await else {
            return Landing::Elsewhere;
        };
        if hash_key.is_some_and(|hash_key| !hash_keys.contains(&hash_key)) {
            self.ignores_keys.store(true, Relaxed);
        }
        Landing::In(hash_keys)
    }
}
