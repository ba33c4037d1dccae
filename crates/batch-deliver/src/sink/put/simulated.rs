//! The simulator instead of a stream, a topic or a bus.

use aws_batch_delivery::targets::kinesis::MAX_RECORD_BYTES;
use aws_batch_simulator::{Capacity, DeliveryStreamOptions, EventBusOptions, Simulator, StreamOptions, TopicOptions};

use super::super::simulated::{MESSAGES, SimulatedService, capacity, last_part};

/// Entries of a call. From the API references of the services.
const RECORDS: f64 = 500.0;

/// Records per second that a shard of a stream accepts. From the quotas of Kinesis Data Streams.
const SHARD: f64 = 1_000.0;

impl SimulatedService {
    /// A data stream with this capacity in records per second, with as many shards as that needs.
    pub(super) fn stream(name: &str, rate: f64) -> Self {
        let options = sharded(rate).byte_capacity(Capacity::unlimited());
        let simulator = Simulator::new(1);
        let stream = simulator.stream(last_part(name, ":stream/"), options);
        Self::new(simulator, "record", move || stream.statistics().applied)
    }

    /// The same for aggregates, each of which counts as a record. A shard takes 1 MiB a second, too, as in the service: small records
    /// are aggregated to reach it.
    pub(super) fn aggregated_stream(name: &str, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let stream = simulator.stream(last_part(name, ":stream/"), sharded(rate));
        Self::new(simulator, "Kinesis record", move || stream.statistics().applied).aggregated()
    }

    /// A delivery stream with this capacity in records per second.
    pub(super) fn delivery_stream(name: &str, rate: f64) -> Self {
        let options = DeliveryStreamOptions::default()
            .capacity(capacity(rate, RECORDS))
            .counts_only();
        let simulator = Simulator::new(1);
        let stream = simulator.delivery_stream(name, options);
        Self::new(simulator, "record", move || stream.statistics().applied)
    }

    /// A topic with this capacity in messages per second.
    pub(super) fn topic(arn: &str, rate: f64) -> Self {
        let options = TopicOptions::default()
            .content_based_deduplication()
            .capacity(capacity(rate, MESSAGES));
        let simulator = Simulator::new(1);
        let topic = simulator.topic(last_part(arn, ":"), options.counts_only());
        Self::new(simulator, "message", move || topic.statistics().applied)
    }

    /// An event bus with this capacity in events per second.
    pub(super) fn event_bus(name: &str, rate: f64) -> Self {
        let options = EventBusOptions::default()
            .capacity(capacity(rate, MESSAGES))
            .counts_only();
        let simulator = Simulator::new(1);
        let bus = simulator.event_bus(last_part(name, ":event-bus/"), options);
        Self::new(simulator, "event", move || bus.statistics().applied)
    }
}

/// As many shards as the rate needs, which share it.
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
