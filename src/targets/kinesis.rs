//! Kinesis: records to one data stream by `PutRecords`.

use std::borrow::Cow;
use std::fmt;
use std::pin::pin;

use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::Builder;
use aws_sdk_kinesis::operation::RequestId;
use aws_sdk_kinesis::types::{
    PutRecordsRequestEntry, PutRecordsResultEntry, RecordDistributionStrategy, Shard, StreamDescriptionSummary,
};
use md5::{Digest, Md5};
use tracing::debug;

use super::correlate::{by_place, entry_verdict};
use super::lane::hash_of;
use super::lookup::{Lookup, LookupError};
use super::renewal::Changes;
use super::request::{in_span, request_span, single_attempt};
use super::{Acknowledgement, Answer, BatchTarget, Fault, Lane, Limits, Verdict, classify};
use crate::events::LOOKUP;
use crate::invalid::InvalidEntry;

/// Records in a call. From the API reference of `PutRecords`.
pub const MAX_RECORDS: usize = 500;

/// Bytes of a call, partition keys included: 10 MiB. From the API reference of `PutRecords`; it was 5 MiB until October 2025.
pub const MAX_BATCH_BYTES: usize = 10 * 1024 * 1024;

/// Bytes of a record, its partition key included: 10 MiB. From the API reference of `PutRecords`. A stream may have a lower
/// limit, by default 1 MiB, and then refuses a call with a larger record.
pub const MAX_RECORD_BYTES: usize = 10 * 1024 * 1024;

/// Bytes that a record counts for with the pace.
const UNIT: usize = 1_024;

/// Why no order can be kept.
const NO_ORDER: &str = "the stream ignores partition keys";

/// What can be done then. From the API reference of `UpdateStreamRecordDistributionStrategy`.
const UPDATE: &str =
    "its RecordDistributionStrategy is AUTO: change it to USER_PARTITION_KEY, or deliver without `ordered`";

/// Characters of a partition key. From the API reference of `PutRecords`.
const MAX_KEY_LENGTH: usize = 256;

/// A Kinesis data stream to put records into.
///
/// Each shard has its own capacity, 1 MiB and 1,000 records a second, and throttles independently. A shard that is
/// throttled far more often than the others gets a pace of its own and does not slow the others down. For this, one
/// `ListShards` call gets the shards of the stream. If that call is not permitted, each partition key is treated like a
/// shard.
///
/// A stream on demand may distribute the records itself (`RecordDistributionStrategy` is `AUTO`), whatever keys they have.
/// One `DescribeStreamSummary` call finds that out, and the stream is paced as a whole. If that call is not permitted or
/// fails, partition keys count as in other streams.
///
/// `PutRecords` keeps no order. [`ordered`](Self::ordered) keeps the order of each partition key. A record may be in the
/// stream twice when a call is repeated after a lost answer. The [`sequence_number`](Acknowledgement::sequence_number) of
/// an accepted record is the one from the stream. Which records failed is read from the answer for each record, never from
/// `FailedRecordCount`.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
pub struct KinesisStream {
    client: Client,
    changes: Changes<Builder>,
    stream: String,
    limits: Limits,
    is_ordered: bool,
    shards: Lookup<Shards>,
    /// Whether the stream distributes the records itself.
    spreads: Lookup<bool>,
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
            shards: Lookup::by("ListShards"),
            spreads: Lookup::by("DescribeStreamSummary"),
        }
    }

    /// Records of one partition key arrive in the order of the input.
    ///
    /// At most one of them is in flight, because `PutRecords` may accept a later record of a call and reject an earlier
    /// one. So a key sends one record for each round trip.
    ///
    /// A stream that distributes the records itself keeps no order of keys. A delivery to it stops before its first call, and
    /// hands all records back.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.is_ordered = true;
        self
    }

    /// Other limits, for a stream with a lower maximum record size and for endpoints with other ones.
    #[must_use]
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
        self.spreads.get() == Some(&true)
    }

    async fn describe(&self) -> Result<bool, LookupError> {
        let (name, arn) = self.name_or_arn();
        let call = self
            .client
            .describe_stream_summary()
            .set_stream_name(name)
            .set_stream_arn(arn);
        let output = call
            .customize()
            .config_override(self.changes.clone())
            .send()
            .await
            .map_err(classify)?;
        let summary = output.stream_description_summary();
        let strategy = summary.and_then(StreamDescriptionSummary::record_distribution_strategy);
        Ok(strategy == Some(&RecordDistributionStrategy::Auto))
    }

    async fn list_shards(&self) -> Result<Shards, LookupError> {
        let mut shards = Vec::new();
        let mut next = None;
        loop {
            // A call with a token must not name the stream.
            let (name, arn) = if next.is_none() {
                self.name_or_arn()
            } else {
                (None, None)
            };
            let call = self.client.list_shards().set_stream_name(name).set_stream_arn(arn);
            let call = call.set_next_token(next).customize();
            let output = call
                .config_override(self.changes.clone())
                .send()
                .await
                .map_err(classify)?;
            shards.extend(output.shards.unwrap_or_default());
            next = output.next_token;
            if next.is_none() {
                return Ok(Shards::open(&shards));
            }
        }
    }
}

impl BatchTarget for KinesisStream {
    type Entry = PutRecordsRequestEntry;

    fn name(&self) -> Cow<'_, str> {
        format!("kinesis/{}", self.short_name()).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    async fn prepare(&self) {
        if let Err(fault) = self.shards.ask_once(|| self.list_shards()).await {
            // Each partition key then has its own pace, which is nearly as good.
            debug!(target: LOOKUP, destination = &*self.name(), code = fault.code(), "the shards are not known");
        }
        if let Err(fault) = self.spreads.ask_once(|| self.describe()).await {
            // Then the throttles of its shards may count for the wrong keys.
            let code = fault.code();
            debug!(target: LOOKUP, destination = &*self.name(), code, "it is not known whether keys determine the shards");
        }
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.shards.missing().or_else(|| self.spreads.missing())
    }

    fn check(&self, record: &PutRecordsRequestEntry) -> Result<usize, InvalidEntry> {
        let key = record.partition_key();
        if key.is_some_and(str::is_empty) {
            return Err(InvalidEntry::Missing { part: "partition key" });
        }
        if key.is_some_and(|key| key.chars().count() > MAX_KEY_LENGTH) {
            return Err(InvalidEntry::Malformed {
                part: "partition key",
                rule: "of at most 256 characters",
            });
        }
        if record.explicit_hash_key().is_some_and(|key| !is_hash_key(key)) {
            return Err(InvalidEntry::Malformed {
                part: "explicit hash key",
                rule: "a decimal number from 0 to 2^128 - 1 without leading zeros",
            });
        }
        let actual = size(record);
        let limit = self.limits.entry_bytes.min(self.limits.bytes);
        if actual > limit {
            let part = "record";
            return Err(InvalidEntry::TooLarge { part, limit, actual });
        }
        Ok(actual)
    }

    fn lane(&self, record: &PutRecordsRequestEntry) -> Option<Lane> {
        let key = record.partition_key().filter(|_| self.is_ordered)?;
        Some(Lane::exclusive(key))
    }

    fn partition_key(&self, record: &PutRecordsRequestEntry) -> Option<u64> {
        if self.spreads() {
            return None;
        }
        let hash_key = hash_key(record)?;
        let shard = self.shards.get().and_then(|shards| shards.of(hash_key));
        Some(shard.map_or_else(|| hash_of(&hash_key), |shard| hash_of(&shard)))
    }

    /// The throughput of the open shards together, if they are known.
    fn throughput(&self) -> Option<f64> {
        self.shards.get()?.throughput()
    }

    /// KiB of the record and its key. A shard takes 1,000 records and 1 MiB a second, so a smaller record counts as one KiB.
    fn units(&self, record: &PutRecordsRequestEntry) -> usize {
        size(record).div_ceil(UNIT)
    }

    async fn send(&self, records: &[PutRecordsRequestEntry]) -> Answer {
        if self.is_ordered && self.spreads() {
            return Answer::Stop(Fault::new(NO_ORDER).caused_by(UPDATE));
        }
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
        let call = call.set_records(Some(records.to_vec())).customize();
        let request = pin!(call.config_override(self.changes.clone()).send());
        match in_span(request, &span, RequestId::request_id).await {
            Ok(output) => {
                let verdicts = output.records.into_iter().map(verdict);
                by_place("Kinesis", records.len(), verdicts)
            }
            Err(error) => classify(error),
        }
    }
}

/// Bytes of a record as Kinesis counts them: its data and its partition key.
fn size(record: &PutRecordsRequestEntry) -> usize {
    record.data().as_ref().len() + record.partition_key().map_or(0, str::len)
}

/// `0|([1-9]\d{0,38})`, and no more than 128 bits. From the API reference of `PutRecords`.
fn is_hash_key(key: &str) -> bool {
    let is_number = key == "0" || !key.starts_with(['0', '+']);
    is_number && key.parse::<u128>().is_ok()
}

fn verdict(answer: PutRecordsResultEntry) -> Verdict {
    let accepted = answer.sequence_number.filter(|number| !number.is_empty());
    let accepted = accepted.map(|number| Acknowledgement::default().with_sequence_number(number));
    entry_verdict(answer.error_code.as_deref(), answer.error_message.as_deref(), accepted)
}

impl fmt::Debug for KinesisStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KinesisStream")
            .field("stream", &self.short_name())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The open shards of a stream, by the hash keys at which they begin and end.
#[derive(Debug, Clone, Default)]
struct Shards(Vec<(u128, u128)>);

impl Shards {
    /// The open shards among all shards that the stream has had. A shard with a last sequence number was split or merged and
    /// takes no more records.
    fn open(shards: &[Shard]) -> Self {
        let is_open = |shard: &&Shard| {
            let sequence_numbers = shard.sequence_number_range();
            sequence_numbers.is_none_or(|numbers| numbers.ending_sequence_number().is_none())
        };
        let range = |shard: &Shard| {
            let range = shard.hash_key_range()?;
            let first = range.starting_hash_key().parse().ok()?;
            Some((first, range.ending_hash_key().parse().ok()?))
        };
        let mut ranges: Vec<_> = shards.iter().filter(is_open).filter_map(range).collect();
        ranges.sort_unstable();
        Self(ranges)
    }

    /// Records per second that the shards take together: 1,000 each, from the quotas of Kinesis. `None` without a shard.
    fn throughput(&self) -> Option<f64> {
        let count = u32::try_from(self.0.len()).ok().filter(|count| *count > 0)?;
        Some(1_000.0 * f64::from(count))
    }

    /// The index of the shard that takes the hash key, in the order of the hash keys.
    fn of(&self, hash_key: u128) -> Option<usize> {
        let place = self.0.partition_point(|(first, _)| *first <= hash_key).checked_sub(1)?;
        (hash_key <= self.0[place].1).then_some(place)
    }
}

/// The hash key of a record: its explicit one, or the MD5 of its partition key. From the API reference of `PutRecords`.
/// `None` if the stream distributes the records itself.
fn hash_key(record: &PutRecordsRequestEntry) -> Option<u128> {
    if let Some(explicit) = record.explicit_hash_key() {
        return explicit.parse().ok();
    }
    let digest = Md5::digest(record.partition_key()?);
    Some(u128::from_be_bytes(digest.into()))
}

#[cfg(test)]
mod tests;
