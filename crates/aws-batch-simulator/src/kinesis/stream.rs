//! A data stream.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::time::Instant;

use super::options::StreamOptions;
use super::ranges::Ranges;
use crate::capacity::Capacity;
use crate::handles::{debug_fields, intake_handle};
use crate::intake::{Entry, Intake, KeptEntry, Shard, data};
use crate::registry::{ACCOUNT, REGION, Registry, lock};
use crate::wire::Refusal;

/// A record in a stream.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamRecord {
    /// The number of the record, in the order of acceptance.
    pub sequence: u64,
    /// When the stream accepted it.
    pub put_at: Instant,
    /// The number of its shard, from 0 in the order of the hash keys. [Resharding](Stream::reshard) continues with the next number.
    pub shard: usize,
    /// The partition key; empty if there is none.
    pub partition_key: String,
    /// The data.
    pub data: Vec<u8>,
}

debug_fields!(StreamRecord, sequence, put_at, shard);

impl KeptEntry for StreamRecord {
    fn of(entry: &Entry, number: u64, at: Instant) -> Self {
        Self {
            sequence: number,
            put_at: at,
            shard: entry.shard,
            partition_key: entry.key.clone(),
            data: data(&entry.json).unwrap_or_default(),
        }
    }
}

/// A Kinesis data stream of the simulator. Clones are handles to the same stream.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    options: StreamOptions,
    /// The shards since the last resharding, and before them those that take no more records.
    generations: Mutex<Vec<Ranges>>,
    intake: Intake<StreamRecord>,
}

intake_handle!(Stream, "records", "are put");

impl Stream {
    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/{}", self.inner.name)
    }

    /// Changes the capacity of one shard, in records per second; shards are numbered from 0. The level of its bucket stays, up
    /// to the new burst. Does nothing if there is no such shard.
    pub fn set_capacity(&self, shard: usize, records: impl Into<Capacity>) {
        if let Some(shard) = self.inner.intake.state().shards.get_mut(shard) {
            shard.set_capacity(records.into());
        }
    }

    /// Replaces the shards by this many new ones, at least one, which divide the hash keys evenly, as `UpdateShardCount` finally
    /// does. The new ones have the capacity of the options and full buckets. Earlier shards take no more records and are still listed.
    pub fn reshard(&self, count: usize) {
        let options = &self.inner.options;
        let mut generations = lock(&self.inner.generations);
        let first = generations.last().map_or(0, |ranges| ranges.shards().end);
        let shards = (0..count.max(1)).map(|_| Shard::new(options.capacity, options.bytes));
        self.inner.intake.state().shards.extend(shards);
        generations.push(Ranges::new(first, count.max(1)));
    }

    /// All records, in the order of acceptance.
    pub fn records(&self) -> Vec<StreamRecord> {
        self.inner.intake.state().kept.clone()
    }
}

impl Stream {
    pub(crate) fn new(name: &str, options: StreamOptions, seed: u64) -> Self {
        let shards = (0..options.shards).map(|_| Shard::new(options.capacity, options.bytes));
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                generations: Mutex::new(vec![Ranges::new(0, options.shards)]),
                intake: Intake::new(shards.collect(), options.counts_only, seed),
                options,
            }),
        }
    }

    pub(super) fn options(&self) -> &StreamOptions {
        &self.inner.options
    }

    /// The shards that take records.
    pub(super) fn ranges(&self) -> Ranges {
        let generations = lock(&self.inner.generations);
        generations.last().copied().unwrap_or(Ranges::new(0, 1))
    }

    /// The shards of each resharding; only the last ones take records.
    pub(super) fn generations(&self) -> Vec<Ranges> {
        lock(&self.inner.generations).clone()
    }

    pub(super) fn intake(&self) -> &Intake<StreamRecord> {
        &self.inner.intake
    }
}

pub(super) fn shard_id(shard: usize) -> String {
    format!("shardId-{shard:012}")
}

/// The streams of a simulator.
pub(crate) type Streams = Registry<Stream>;

impl Streams {
    /// The stream that a request names, by its name or its ARN.
    pub(super) fn of_request(&self, body: &Value) -> Result<Stream, Refusal> {
        let of_arn = body["StreamARN"].as_str().and_then(|arn| arn.rsplit_once(":stream/"));
        let name = of_arn.map(|(_, name)| name).or(body["StreamName"].as_str());
        let name = name.ok_or_else(|| invalid_argument("Either StreamName or StreamARN should be provided."))?;
        self.named(name)
    }

    pub(super) fn named(&self, name: &str) -> Result<Stream, Refusal> {
        self.find(name).ok_or_else(|| {
            let message = format!("Stream {name} under account {ACCOUNT} not found.");
            Refusal::new("ResourceNotFoundException", message)
        })
    }
}

pub(super) fn invalid_argument(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new("InvalidArgumentException", message)
}
