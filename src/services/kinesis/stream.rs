//! A stream to put records into. `lookups` is what it asks the service first, `aggregation` its calls with many user records.

mod aggregation;
mod lookups;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::Builder;
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, PutRecordsResultEntry};
use tracing::debug;

use super::aggregate::len_alone;
use super::packing::seems_aggregated;
use super::record::{check, hash_key, size};
use super::shards::ShardMap;
use crate::aws::classify;
use crate::aws::correlate::{by_place, entry_verdict};
use crate::aws::renewal::Changes;
use crate::aws::request::{request_span, send, single_attempt};
use crate::contract::{Acknowledgement, Answer, BatchTarget, Fault, Lane, Limits, Lookup, Verdict, hash_of};
use crate::events::LOOKUP;
use crate::invalid::InvalidEntry;
use crate::services::checks::check_size;
use crate::services::debug::debug_by_name;

/// Records in a call. From the API reference of `PutRecords`.
pub const MAX_RECORDS: usize = 500;

/// Bytes of a call, partition keys included: 10 MiB. From the API reference of `PutRecords`; it was 5 MiB until October 2025.
pub const MAX_BATCH_BYTES: usize = 10 * 1024 * 1024;

/// Bytes of a record, its partition key included: 10 MiB. From the API reference of `PutRecords`. A stream may have a lower
/// limit, by default 1 MiB, and then refuses a call with a larger record; it reports that limit.
pub const MAX_RECORD_BYTES: usize = 10 * 1024 * 1024;

/// Bytes of a unit of the pace.
const UNIT: usize = 1_024;

/// Bytes of a unit of the pace, if records are aggregated: then small ones count by their bytes as well.
const AGGREGATED_UNIT: usize = 64;

/// These units in a KiB, as a shard takes for each of its records.
const UNITS_OF_A_RECORD: f64 = 16.0;

/// Why no order can be kept, and no records be aggregated.
const NO_KEYS: &str = "the stream ignores partition keys";

/// What can be done then. From the API reference of `UpdateStreamRecordDistributionStrategy`.
const UPDATE: &str = "its RecordDistributionStrategy is AUTO: change it to USER_PARTITION_KEY, or deliver without `ordered` \
                      and `aggregated`";

/// The attributes of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summary {
    /// Whether it distributes the records itself.
    spreads: bool,
    /// Bytes of a record, its partition key included, if it reports them: "The record size limit applies to the total size of the partition
    /// key and data blob", from the API reference of `PutRecords`.
    record_bytes: Option<usize>,
}

/// A Kinesis data stream to put records into.
///
/// Each shard has its own capacity, 1 MiB and 1,000 records a second, and throttles independently. A shard that is
/// throttled far more often than the others gets a pace of its own and does not slow the others down. For this, one
/// `ListShards` call gets the shards of the stream. If that call is not permitted, each partition key is treated like a
/// shard.
///
/// A stream on demand may distribute the records itself (`RecordDistributionStrategy` is `AUTO`), whatever keys they have.
/// One `DescribeStreamSummary` call finds that out, and the stream is paced as a whole. It also returns the largest record that the stream
/// takes, its partition key included. If that call is not permitted or fails, partition keys count as in other streams, and a call with a record that is too large
/// is refused and sent again in halves.
///
/// `PutRecords` keeps no order. [`ordered`](Self::ordered) keeps the order of each partition key. A record may be in the
/// stream twice when a call is repeated after a lost answer. The [`sequence_number`](Acknowledgement::sequence_number) of
/// an accepted record is the one from the stream. Which records failed is read from the answer for each record, never from
/// `FailedRecordCount`.
///
/// A shard takes 1,000 records a second however small they are. [`aggregated`](Self::aggregated) puts many of them into one.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
#[must_use]
pub struct KinesisStream {
    client: Client,
    changes: Changes<Builder>,
    stream: String,
    limits: Limits,
    is_ordered: bool,
    is_aggregated: bool,
    shards: ShardMap,
    summary: Lookup<Summary>,
    /// Whether a record was put into another shard than that of its hash key.
    ignores_keys: Arc<AtomicBool>,
}

impl KinesisStream {
    /// The stream with this name or ARN.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_RECORDS`], 500 |
    /// | bytes of a call | [`MAX_BATCH_BYTES`], 10 MiB |
    /// | bytes of a record | [`MAX_RECORD_BYTES`], 10 MiB |
    pub fn new(client: Client, stream: impl Into<String>) -> Self {
        Self {
            changes: single_attempt!(aws_sdk_kinesis, client),
            client,
            stream: stream.into(),
            limits: Limits::new(MAX_RECORDS, MAX_BATCH_BYTES).with_entry_bytes(MAX_RECORD_BYTES),
            is_ordered: false,
            is_aggregated: false,
            shards: ShardMap::new(),
            summary: Lookup::by("DescribeStreamSummary"),
            ignores_keys: Arc::default(),
        }
    }

    /// Records of one partition key arrive in the order of the input.
    ///
    /// At most one of them is in flight, because `PutRecords` may accept a later record of a call and reject an earlier
    /// one. So a key sends one record for each round trip.
    ///
    /// A stream that distributes the records itself keeps no order of keys. A delivery to it stops before its first call, and
    /// hands all records back.
    pub fn ordered(mut self) -> Self {
        self.is_ordered = true;
        self
    }

    /// Puts many user records into one Kinesis record, in the format of the Kinesis Producer Library.
    ///
    /// Readers have to take such records apart: the Kinesis Client Library, Firehose and Flink's connector do so, functions of Lambda need
    /// a library for it, and [`deaggregate`](super::deaggregate) does it in Rust. A user record keeps its partition key and its explicit
    /// hash key. One that shares no Kinesis record is put by itself, unless its data looks like an aggregate.
    ///
    /// - **Verdicts.** A user record is accepted or rejected with its Kinesis record, whose sequence number it has. Those of a rejected one
    ///   are all sent again.
    /// - **Shards.** User records share a Kinesis record only if they go to the same shard, because the Kinesis Client Library drops those
    ///   that belong to another. If an answer names a shard that is not known, the stream has been resharded: the shards are listed
    ///   again, and user records in a shard that is not theirs are sent again. They are then in the stream twice, of which a reader
    ///   with that library sees one. If the shards cannot be listed then, all user records of that Kinesis record are sent again.
    /// - **Without `ListShards`**, if it is not permitted, only records with the same hash key share a Kinesis record: such of one
    ///   partition key, or of one explicit hash key.
    /// - **Many shards.** Above some 400, a call has at most 500 user records, of which few go to the same shard.
    /// - **Size.** A Kinesis record has up to 25 KB of small user records, for which Kinesis charges one payload unit, and 1 MiB at most. A
    ///   larger user record is put by itself.
    /// - **Pace.** Its unit, also that of [`max_rate`](crate::DeliveryOptions::max_rate), is 64 bytes of user records with their partition
    ///   keys, where it is a KiB of a record without aggregation.
    /// - **Order.** With [`ordered`](Self::ordered), many records of a partition key leave in one call, within one Kinesis record. The order
    ///   is that of the records of a partition key in a shard; those with different explicit hash keys may go to different shards. The
    ///   stream is then paced as a whole.
    ///
    /// A stream that distributes the records itself puts them into any shard. A delivery to it stops before its first call.
    pub fn aggregated(mut self) -> Self {
        self.is_aggregated = true;
        self
    }

    /// Other limits, for a stream with a lower maximum record size and for endpoints with other ones. They are those of Kinesis
    /// records, even if these are [aggregated](Self::aggregated).
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The name and the ARN of the stream. One of them is `None`.
    fn name_or_arn(&self) -> (Option<String>, Option<String>) {
        let stream = Some(self.stream.clone());
        if self.stream.starts_with("arn:") {
            (None, stream)
        } else {
            (stream, None)
        }
    }

    /// The stream without the first part of its ARN, which has the account id.
    fn short_name(&self) -> &str {
        let name = self.stream.rsplit_once(":stream/");
        name.map_or(&*self.stream, |(_, name)| name)
    }

    /// Whether the stream is known to distribute the records itself.
    fn spreads(&self) -> bool {
        self.summary.get().is_some_and(|summary| summary.spreads) || self.ignores_keys.load(Relaxed)
    }

    /// Makes one call with these Kinesis records. An error is the answer for all of them.
    async fn put(&self, records: Vec<PutRecordsRequestEntry>) -> Result<Vec<PutRecordsResultEntry>, Answer> {
        let span = request_span!(
            "Kinesis",
            "PutRecords",
            messaging.system = "aws_kinesis",
            messaging.operation.type = "send",
            messaging.operation.name = "PutRecords",
            messaging.destination.name = self.short_name(),
            aws.kinesis.stream_name = self.short_name(),
            messaging.batch.message_count = records.len(),
        );
        let (name, arn) = self.name_or_arn();
        let call = self.client.put_records().set_stream_name(name).set_stream_arn(arn);
        let call = call.set_records(Some(records));
        match send!(aws_sdk_kinesis, call, self.changes, span) {
            Ok(output) => {
                let ids = output.records.iter().filter_map(PutRecordsResultEntry::shard_id);
                self.shards.have_accepted(ids.filter(|id| !id.is_empty()));
                Ok(output.records)
            }
            Err(error) => {
                let answer = classify(error);
                if answer.has_refusal() {
                    self.summary.seems_outdated();
                }
                Err(answer)
            }
        }
    }
}

impl BatchTarget for KinesisStream {
    type Entry = PutRecordsRequestEntry;

    fn name(&self) -> Cow<'_, str> {
        format!("kinesis/{}", self.short_name()).into()
    }

    /// With aggregation, a call has the bytes of one Kinesis record: then the records of a partition key, however many there are, fit
    /// into one.
    fn limits(&self) -> Limits {
        if !self.is_aggregated {
            return self.limits;
        }
        Limits {
            entries: self.user_records(),
            bytes: self.aggregate_bytes(),
            entry_bytes: self.limits.entry_bytes,
        }
    }

    async fn prepare(&self) {
        if let Err(fault) = self.shards.ask_once(|| self.list_shards()).await {
            // Each partition key then has its own pace, which is nearly as good.
            debug!(target: LOOKUP, destination = &*self.name(), code = fault.code(), "the shards are not known");
        }
        if let Err(fault) = self.summary.ask_once(|| self.describe()).await {
            // Then the throttles of its shards may count for the wrong keys.
            let code = fault.code();
            debug!(target: LOOKUP, destination = &*self.name(), code, "it is not known whether keys determine the shards");
        }
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.shards.missing().or_else(|| self.summary.missing())
    }

    /// With aggregation, a record needs what an aggregate of it alone would need, so that the sum is enough for all of them together. One
    /// for which an aggregate is too small has a call to itself.
    fn check(&self, record: &PutRecordsRequestEntry) -> Result<usize, InvalidEntry> {
        let limit = self.limits.largest_entry();
        let of_stream = self.summary.get().and_then(|summary| summary.record_bytes);
        let of_record = of_stream.map_or(limit, |of_stream| of_stream.min(limit));
        let checked = check(record, of_record);
        if matches!(checked, Err(InvalidEntry::TooLarge { .. })) {
            self.summary.seems_outdated();
        }
        let size = checked?;
        if !self.is_aggregated {
            return Ok(size);
        }
        let alone = len_alone(record);
        if seems_aggregated(record) {
            check_size("record", of_record, alone)?;
        }
        Ok(alone.min(self.aggregate_bytes()))
    }

    fn weight(&self, record: &PutRecordsRequestEntry, bytes: usize) -> usize {
        size(record).max(bytes)
    }

    fn lane(&self, record: &PutRecordsRequestEntry) -> Option<Lane> {
        let key = record.partition_key().filter(|_| self.is_ordered)?;
        Some(if self.is_aggregated {
            Lane::together(key)
        } else {
            Lane::exclusive(key)
        })
    }

    fn partition_key(&self, record: &PutRecordsRequestEntry) -> Option<u64> {
        if self.spreads() {
            return None;
        }
        let hash_key = hash_key(record)?;
        let shards = self.shards.get();
        let shard = shards.and_then(|shards| shards.of(hash_key));
        Some(shard.map_or_else(|| hash_of(&hash_key), |shard| hash_of(&shard)))
    }

    /// The throughput of the open shards together, if they are known.
    fn throughput(&self) -> Option<f64> {
        let records = self.shards.get()?.throughput()?;
        Some(if self.is_aggregated {
            records * UNITS_OF_A_RECORD
        } else {
            records
        })
    }

    /// KiB of the record and its key. A shard takes 1,000 records and 1 MiB a second, so a smaller record counts as one KiB, unless it
    /// is aggregated.
    fn units(&self, record: &PutRecordsRequestEntry) -> usize {
        let unit = if self.is_aggregated { AGGREGATED_UNIT } else { UNIT };
        size(record).div_ceil(unit)
    }

    async fn send(&self, records: &[PutRecordsRequestEntry]) -> Answer {
        if (self.is_ordered || self.is_aggregated) && self.spreads() {
            return Answer::Stop(Fault::new(NO_KEYS).caused_by(UPDATE));
        }
        if self.is_aggregated {
            return self.send_aggregated(records).await;
        }
        match self.put(records.to_vec()).await {
            Ok(results) => by_place("Kinesis", records.len(), results.into_iter().map(verdict)),
            Err(answer) => answer,
        }
    }
}

fn verdict(answer: PutRecordsResultEntry) -> Verdict {
    let accepted = answer.sequence_number.filter(|number| !number.is_empty());
    let accepted = accepted.map(|number| Acknowledgement {
        message_id: None,
        sequence_number: Some(number),
    });
    entry_verdict(answer.error_code.as_deref(), answer.error_message.as_deref(), accepted)
}

debug_by_name!(KinesisStream);

#[cfg(test)]
mod tests;
