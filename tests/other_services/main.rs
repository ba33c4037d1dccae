//! Kinesis, Firehose, SNS and EventBridge, whatever goes wrong on the way.

mod aggregation;
mod library;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_batch_delivery::targets::eventbridge::EventBus;
use aws_batch_delivery::targets::firehose::FirehoseStream;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_batch_delivery::targets::sns::SnsTopic;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_batch_simulator::{
    Capacity, DeliveryStreamOptions, EventBusOptions, Faults, InjectedFault, Latency, Simulator, StreamOptions,
    TopicOptions,
};
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use aws_sdk_sns::types::PublishBatchRequestEntry;
use aws_smithy_async::rt::sleep::TokioSleep;

const ENTRIES: usize = 3_000;

/// A client of one service's SDK for the simulator.
macro_rules! client {
    ($sdk:ident, $simulator:expr) => {{
        use $sdk::config::{BehaviorVersion, Config, Credentials, Region};
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("simulator", "simulator", None, None, "simulator"))
            .sleep_impl(TokioSleep::new())
            .http_client($simulator.http_client());
        $sdk::Client::from_conf(config.build())
    }};
}

pub(crate) use client;

fn simulator() -> Simulator {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
    simulator
}

/// Entries that fail, calls that fail, answers that are lost, and answers that are too short, too long or empty.
fn faults() -> Faults {
    let shorter = InjectedFault::Omitted {
        entries: 1,
        applied: true,
    };
    Faults::none()
        .unprocessed(0.05)
        .calls(0.05, InjectedFault::Throttle)
        .calls(0.02, InjectedFault::internal_error(true))
        .calls(0.02, InjectedFault::Dropped { applied: true })
        .calls(0.02, InjectedFault::Garbage { applied: false })
        .calls(0.02, InjectedFault::Empty { applied: true })
        .calls(0.02, shorter)
        .calls(0.02, InjectedFault::Unknown(1))
}

fn all() -> BTreeSet<String> {
    (0..ENTRIES).map(|number| number.to_string()).collect()
}

fn texts(bytes: impl IntoIterator<Item = Vec<u8>>) -> BTreeSet<String> {
    bytes
        .into_iter()
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn records_of_a_partition_key_are_in_the_stream_in_their_order() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(4));
    stream.set_faults(faults());
    let key = |number: usize| format!("key {}", number % 100);
    let records = (0..ENTRIES).map(|number| {
        let record = PutRecordsRequestEntry::builder().partition_key(key(number));
        record.data(Blob::new(number.to_string())).build().unwrap()
    });
    let report = Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), stream.arn())
        .map_target(KinesisStream::ordered)
        .deliver(records)
        .await
        .unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);
    // An answer that was lost brings a record twice, but none passes another one.
    let mut stored: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for record in stream.records() {
        let number = String::from_utf8(record.data).unwrap().parse().unwrap();
        stored.entry(record.partition_key).or_default().push(number);
    }
    for (stored_key, mut numbers) in stored {
        assert!(numbers.is_sorted(), "{stored_key}: {numbers:?}");
        numbers.dedup();
        let sent = (0..ENTRIES).filter(|number| key(*number) == stored_key);
        assert_eq!(numbers, sent.collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_takes_nothing_does_not_hold_up_the_others() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(8).capacity(Capacity::unlimited()));
    stream.reject_while(|record| record["ExplicitHashKey"] == "0");
    let records = (0..ENTRIES).map(|number| {
        let hash_key = (number as u128 % 8) << 125;
        let record = PutRecordsRequestEntry::builder()
            .partition_key("k")
            .data(Blob::new("x"));
        record.explicit_hash_key(hash_key.to_string()).build().unwrap()
    });
    let options = DeliveryOptions::default().give_up_after(Duration::from_secs(30));
    let error = Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders")
        .options(options)
        .deliver(records)
        .await
        .unwrap_err();
    let eighth = ENTRIES / 8;
    assert_eq!((stream.len(), error.undelivered().len()), (ENTRIES - eighth, eighth));
    let started = stream.records()[0].put_at;
    let last = stream.records().last().unwrap().put_at;
    assert!(last - started < Duration::from_secs(1), "{:?}", last - started);
}

/// A shard takes 1 MiB a second, which are 35 records on average. Counted as records, they were sent again 57 times each.
#[tokio::test(start_paused = true)]
async fn large_records_count_by_their_bytes() {
    let simulator = simulator();
    simulator.stream("orders", StreamOptions::shards(1));
    let records = (0..1_000).map(|number: usize| {
        let size = 100 + (number * 7_919 % 97) * 600;
        let record = PutRecordsRequestEntry::builder().partition_key(number.to_string());
        record.data(Blob::new(vec![b'x'; size])).build().unwrap()
    });
    let delivery = Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders");
    let report = delivery.deliver(records).await.unwrap();
    assert!(report.resubmitted < report.delivered, "{report:?}");
}

/// Nearly all records have the same key, and one shard of eight takes nothing: an eighth of all records is rejected, whatever
/// their keys.
#[tokio::test(start_paused = true)]
async fn a_stream_that_distributes_its_records_itself_is_paced_as_a_whole() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(8).spreading());
    stream.set_capacity(0, Capacity::none());
    let records = (0..60_000).map(|number| {
        let key = if number % 100 == 0 {
            number.to_string()
        } else {
            "k".to_owned()
        };
        let record = PutRecordsRequestEntry::builder().partition_key(key);
        record.data(Blob::new("x")).build().unwrap()
    });
    let delivery = Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders");
    let report = delivery.deliver(records).await.unwrap();
    assert!(report.resubmitted < 2 * report.delivered / 7, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn no_order_is_promised_for_a_stream_that_distributes_its_records_itself() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(8).spreading());
    let record = PutRecordsRequestEntry::builder().partition_key("k");
    let record = record.data(Blob::new("x")).build().unwrap();
    let delivery =
        Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders").map_target(KinesisStream::ordered);
    let error = delivery.deliver([record]).await.unwrap_err();
    let undelivered = &error.undelivered()[0];
    let cause = undelivered.cause.to_string();
    assert!(cause.contains("the stream ignores partition keys"), "{cause}");
    assert!(!undelivered.may_have_been_delivered);
    assert_eq!(stream.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn records_are_in_the_delivery_stream_whatever_goes_wrong() {
    let simulator = simulator();
    let capacity = Capacity::per_second(1_000.0).burst(100.0);
    let stream = simulator.delivery_stream("orders", DeliveryStreamOptions::default().capacity(capacity));
    stream.set_faults(faults());
    let records = all().into_iter().map(|text| {
        let record = aws_sdk_firehose::types::Record::builder().data(Blob::new(text));
        record.build().unwrap()
    });
    let client = client!(aws_sdk_firehose, simulator);
    let report = Delivery::new(FirehoseStream::new(client.clone(), "orders"))
        .deliver(records)
        .await
        .unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);
    assert_eq!(texts(stream.records()), all());
}

fn numbered(records: usize) -> impl Iterator<Item = aws_sdk_firehose::types::Record> {
    (0..records).map(|number| {
        let record = aws_sdk_firehose::types::Record::builder().data(Blob::new(number.to_string()));
        record.build().unwrap()
    })
}

#[tokio::test(start_paused = true)]
async fn a_delivery_stream_that_says_slow_down_is_paced() {
    let simulator = simulator();
    let capacity = Capacity::per_second(1_000.0).burst(1_000.0);
    simulator.delivery_stream("orders", DeliveryStreamOptions::default().capacity(capacity));
    let client = client!(aws_sdk_firehose, simulator);
    let report = Delivery::new(FirehoseStream::new(client.clone(), "orders"))
        .deliver(numbered(20_000))
        .await
        .unwrap();
    assert_eq!(report.throttled, report.resubmitted);
    assert!(report.resubmitted <= 1_000, "5%: {report:?}");
}

#[tokio::test(start_paused = true)]
async fn records_that_are_rejected_by_name_are_surely_not_delivered() {
    let simulator = simulator();
    let capacity = Capacity::per_second(1_000.0).burst(1_000.0);
    let stream = simulator.delivery_stream("orders", DeliveryStreamOptions::default().capacity(capacity));
    let options = DeliveryOptions::default().retries(0);
    let error = Delivery::new(FirehoseStream::new(client!(aws_sdk_firehose, simulator), "orders"))
        .options(options)
        .deliver(numbered(1_000))
        .await
        .unwrap_err();
    let undelivered = error.undelivered();
    assert_eq!(stream.len() + undelivered.len(), 1_000);
    let in_doubt = undelivered.iter().filter(|record| record.may_have_been_delivered);
    assert_eq!(in_doubt.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_group_are_published_once_and_in_their_order() {
    for strict in [false, true] {
        let simulator = simulator();
        let topic = simulator.topic("orders.fifo", TopicOptions::default());
        topic.set_faults(faults());
        let messages = (0..ENTRIES).map(|number| {
            let entry = PublishBatchRequestEntry::builder().id("id").message(number.to_string());
            entry
                .message_group_id(format!("group-{}", number % 50))
                .build()
                .unwrap()
        });
        let mut delivery = Delivery::new(SnsTopic::new(client!(aws_sdk_sns, simulator), topic.arn()));
        if strict {
            delivery = delivery.map_target(SnsTopic::strict_order);
        }
        let report = delivery.deliver(messages).await.unwrap();
        assert_eq!(report.delivered, ENTRIES as u64);
        assert_eq!(
            topic.len(),
            ENTRIES,
            "the ids that they were given keep them from being there twice"
        );
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for message in topic.messages() {
            let number = message.message.parse().unwrap();
            groups.entry(message.group.unwrap()).or_default().push(number);
        }
        assert!(groups.len() == 50 && groups.values().all(|numbers| numbers.is_sorted()));
    }
}

#[tokio::test(start_paused = true)]
async fn events_are_on_the_bus_and_those_that_are_refused_are_handed_back_alone() {
    let simulator = simulator();
    let bus = simulator.event_bus("orders", EventBusOptions::default());
    bus.set_faults(faults());
    bus.poison(|event| event["Source"] == "poison");
    let events = all().into_iter().map(|text| {
        let source = if text == "1234" { "poison" } else { "shop" };
        let event = PutEventsRequestEntry::builder().source(source).detail_type("order");
        event.detail(format!(r#"{{"number":"{text}"}}"#)).build()
    });
    let client = client!(aws_sdk_eventbridge, simulator);
    let error = Delivery::new(EventBus::new(client.clone(), bus.arn()))
        .deliver(events)
        .await
        .unwrap_err();
    let [refused] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert!(matches!(refused.cause, Cause::Refused(_)), "{refused:?}");
    let details = bus
        .events()
        .into_iter()
        .map(|event| event["Detail"].as_str().unwrap().to_owned());
    let expected = all().into_iter().filter(|text| text != "1234");
    let expected = expected.map(|text| format!(r#"{{"number":"{text}"}}"#));
    assert_eq!(details.collect::<BTreeSet<_>>(), expected.collect());
}
