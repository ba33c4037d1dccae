//! The simulator instead of a service.

#[cfg(feature = "put")]
use aws_batch_delivery::targets::kinesis::MAX_RECORD_BYTES;
#[cfg(feature = "s3")]
use aws_batch_simulator::Bucket;
use aws_batch_simulator::{Capacity, KeyType, Queue, QueueOptions, Simulator, Statistics, Table, TableOptions};
#[cfg(feature = "put")]
use aws_batch_simulator::{
    DeliveryStream, DeliveryStreamOptions, EventBus, EventBusOptions, Stream, StreamOptions, Topic, TopicOptions,
};

use crate::console::{counted, grouped};
use crate::format::{self, Key};

/// The burst of the simulated capacity, in seconds of its rate.
const BURST_SECONDS: f64 = 0.1;

/// The least burst for a call with at least so many entries. Of larger calls, no more than a second of the rate is accepted at once.
const LEAST: f64 = 25.0;

/// Entries of a call. From the API references of the services.
const WRITES: f64 = 25.0;
const MESSAGES: f64 = 10.0;
#[cfg(feature = "s3")]
const DELETIONS: f64 = 1_000.0;
#[cfg(feature = "put")]
const RECORDS: f64 = 500.0;

/// Records per second that a shard of a stream accepts. From the quotas of Kinesis Data Streams.
#[cfg(feature = "put")]
const SHARD: f64 = 1_000.0;

/// A simulated destination, which counts entries but does not keep them, or a source, which keeps them.
pub(crate) struct Simulated {
    pub(crate) simulator: Simulator,
    pub(super) stored: Stored,
    /// Entries that it had before the delivery.
    pub(super) before: u64,
}

pub(super) enum Stored {
    Writes(Table),
    Messages(Queue),
    #[cfg(feature = "s3")]
    Objects(Bucket),
    #[cfg(feature = "put")]
    Records(Stream),
    #[cfg(feature = "put")]
    Aggregates(Stream),
    #[cfg(feature = "put")]
    Delivered(DeliveryStream),
    #[cfg(feature = "put")]
    Published(Topic),
    #[cfg(feature = "put")]
    Events(EventBus),
}

impl Simulated {
    /// A table with this capacity in write units per second.
    pub(crate) fn table(name: &str, key: &Key, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let table = simulator.table(
            last_part(name, ":table/"),
            keyed_by(key).capacity(writes(rate)).counts_only(),
        );
        Self {
            simulator,
            stored: Stored::Writes(table),
            before: 0,
        }
    }

    /// A queue with this capacity in messages per second, and its URL.
    pub(crate) fn queue(name: &str, rate: f64) -> (Self, String) {
        let options = QueueOptions::default().content_based_deduplication();
        let simulator = Simulator::new(1);
        let queue = simulator.queue(name, options.capacity(capacity(rate, MESSAGES)).counts_only());
        let url = queue.url();
        let stored = Stored::Messages(queue);
        let simulated = Self {
            simulator,
            stored,
            before: 0,
        };
        (simulated, url)
    }

    /// A bucket with this capacity in deletions per second. It has no objects: to delete one that does not exist is a success.
    #[cfg(feature = "s3")]
    pub(crate) fn bucket(name: &str, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let bucket = simulator.bucket(name);
        bucket.set_capacity("", capacity(rate, DELETIONS));
        let stored = Stored::Objects(bucket);
        Self {
            simulator,
            stored,
            before: 0,
        }
    }

    /// A data stream with this capacity in records per second, with as many shards as that needs.
    #[cfg(feature = "put")]
    pub(crate) fn stream(name: &str, rate: f64) -> Self {
        let options = sharded(rate).byte_capacity(Capacity::unlimited());
        let simulator = Simulator::new(1);
        let stream = simulator.stream(last_part(name, ":stream/"), options);
        Self {
            simulator,
            stored: Stored::Records(stream),
            before: 0,
        }
    }

    /// The same for aggregates, each of which counts as a record. A shard takes 1 MiB a second, too, as in the service: small records
    /// are aggregated to reach it.
    #[cfg(feature = "put")]
    pub(crate) fn aggregated_stream(name: &str, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let stream = simulator.stream(last_part(name, ":stream/"), sharded(rate));
        Self {
            simulator,
            stored: Stored::Aggregates(stream),
            before: 0,
        }
    }

    /// A delivery stream with this capacity in records per second.
    #[cfg(feature = "put")]
    pub(crate) fn delivery_stream(name: &str, rate: f64) -> Self {
        let options = DeliveryStreamOptions::default()
            .capacity(capacity(rate, RECORDS))
            .counts_only();
        let simulator = Simulator::new(1);
        let stored = Stored::Delivered(simulator.delivery_stream(name, options));
        Self {
            simulator,
            stored,
            before: 0,
        }
    }

    /// A topic with this capacity in messages per second.
    #[cfg(feature = "put")]
    pub(crate) fn topic(arn: &str, rate: f64) -> Self {
        let options = TopicOptions::default()
            .content_based_deduplication()
            .capacity(capacity(rate, MESSAGES));
        let simulator = Simulator::new(1);
        let stored = Stored::Published(simulator.topic(last_part(arn, ":"), options.counts_only()));
        Self {
            simulator,
            stored,
            before: 0,
        }
    }

    /// An event bus with this capacity in events per second.
    #[cfg(feature = "put")]
    pub(crate) fn event_bus(name: &str, rate: f64) -> Self {
        let options = EventBusOptions::default()
            .capacity(capacity(rate, MESSAGES))
            .counts_only();
        let simulator = Simulator::new(1);
        let stored = Stored::Events(simulator.event_bus(last_part(name, ":event-bus/"), options));
        Self {
            simulator,
            stored,
            before: 0,
        }
    }

    /// A sentence that compares its count with the delivered entries.
    pub(crate) fn compare(&self, delivered: u64) -> String {
        let (what, Statistics { applied, .. }) = match &self.stored {
            Stored::Writes(table) => ("write", table.statistics()),
            Stored::Messages(queue) => ("message", queue.statistics()),
            #[cfg(feature = "s3")]
            Stored::Objects(bucket) => ("deletion", bucket.statistics()),
            #[cfg(feature = "put")]
            Stored::Records(stream) => ("record", stream.statistics()),
            #[cfg(feature = "put")]
            Stored::Aggregates(stream) => {
                let stored = counted(stream.statistics().applied, "Kinesis record");
                return format!(
                    "the simulator stored {stored} for {} that were delivered",
                    grouped(delivered)
                );
            }
            #[cfg(feature = "put")]
            Stored::Delivered(stream) => ("record", stream.statistics()),
            #[cfg(feature = "put")]
            Stored::Published(topic) => ("message", topic.statistics()),
            #[cfg(feature = "put")]
            Stored::Events(bus) => ("event", bus.statistics()),
        };
        let applied = applied - self.before;
        let stored = counted(applied, what);
        if applied == delivered {
            format!("the simulator stored what was delivered: {stored}")
        } else {
            format!(
                "the simulator stored {stored}, and {} were delivered",
                grouped(delivered)
            )
        }
    }
}

/// As many shards as the rate needs, which share it.
#[cfg(feature = "put")]
fn sharded(rate: f64) -> StreamOptions {
    // At least one, and no more than one `ListShards` call returns.
    let shards = (rate / SHARD).ceil().clamp(1.0, 1_000.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a small whole number"
    )]
    let options = StreamOptions::shards(shards as usize);
    options
        .capacity(capacity(rate / shards, RECORDS))
        .maximum_record_size(MAX_RECORD_BYTES)
        .counts_only()
}

/// A table with this key.
pub(super) fn keyed_by(key: &Key) -> TableOptions {
    let kind = |kind: format::KeyType| match kind {
        format::KeyType::S => KeyType::S,
        format::KeyType::N => KeyType::N,
        format::KeyType::B => KeyType::B,
    };
    let table = TableOptions::key(&key.partition.name, kind(key.partition.kind));
    match &key.sort {
        Some(sort) => table.sort_key(&sort.name, kind(sort.kind)),
        None => table,
    }
}

/// The name in an ARN.
pub(super) fn last_part<'a>(arn: &'a str, separator: &str) -> &'a str {
    arn.rsplit(separator).next().unwrap_or(arn)
}

/// The capacity of a table.
pub(super) fn writes(rate: f64) -> Capacity {
    capacity(rate, WRITES)
}

/// This rate, of whose burst a call with so many entries takes no more than all: what does not fit into a bucket is lost meanwhile.
fn capacity(rate: f64, entries: f64) -> Capacity {
    Capacity::per_second(rate).burst(entries.min(rate.max(LEAST)).max(rate * BURST_SECONDS))
}
