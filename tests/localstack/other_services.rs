//! Kinesis, Firehose, SNS and EventBridge, as an application would use them.

use std::collections::BTreeMap;

use aws_batch_delivery::targets::eventbridge::EventBus;
use aws_batch_delivery::targets::firehose::FirehoseStream;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_batch_delivery::targets::sns::SnsTopic;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, Target};
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, ShardIteratorType};
use aws_sdk_sns::types::PublishBatchRequestEntry;
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use crate::emulators::{Emulators, unique};
use crate::queue::{Queue, numbered};

const ENTRIES: usize = 1_200;

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}

async fn arn(queue: &Queue) -> String {
    let call = queue.client.get_queue_attributes().queue_url(&queue.url);
    let output = call.attribute_names(QueueAttributeName::QueueArn).send().await.unwrap();
    output
        .attributes
        .unwrap()
        .remove(&QueueAttributeName::QueueArn)
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn records_of_a_partition_key_are_in_the_stream_in_their_order() {
    let emulators = Emulators::find().await;
    let client = aws_sdk_kinesis::Client::new(emulators.config());
    let stream = unique("records");
    client
        .create_stream()
        .stream_name(&stream)
        .shard_count(4)
        .send()
        .await
        .unwrap();
    // Not by a waiter: moto writes the time of creation in a form that the SDK does not read.
    while client
        .list_shards()
        .stream_name(&stream)
        .send()
        .await
        .map_or(0, |list| list.shards().len())
        < 4
    {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }

    let key = |number: usize| format!("key {}", number % 100);
    let records = (0..ENTRIES).map(|number| {
        let record = PutRecordsRequestEntry::builder().partition_key(key(number));
        record.data(Blob::new(numbered(number))).build().unwrap()
    });
    // moto loses records of calls at the same time: see `localstack/README.md`.
    let report = Delivery::to_kinesis(client.clone(), &stream)
        .map_target(KinesisStream::ordered)
        .options(DeliveryOptions::default().concurrency(1))
        .deliver(records)
        .await
        .unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);

    let mut stored: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let shards = client.list_shards().stream_name(&stream).send().await.unwrap();
    assert_eq!(shards.shards().len(), 4);
    for shard in shards.shards() {
        let call = client
            .get_shard_iterator()
            .stream_name(&stream)
            .shard_id(shard.shard_id());
        let iterator = call
            .shard_iterator_type(ShardIteratorType::TrimHorizon)
            .send()
            .await
            .unwrap();
        let call = client
            .get_records()
            .set_shard_iterator(iterator.shard_iterator)
            .limit(10_000);
        for record in call.send().await.unwrap().records {
            let text = String::from_utf8(record.data.into_inner()).unwrap();
            stored.entry(record.partition_key.unwrap()).or_default().push(text);
        }
    }
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for number in 0..ENTRIES {
        sent.entry(key(number)).or_default().push(numbered(number));
    }
    assert_eq!(stored, sent);
    client.delete_stream().stream_name(stream).send().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn records_go_through_a_delivery_stream_into_a_bucket() {
    let emulators = Emulators::find().await;
    let client = aws_sdk_firehose::Client::new(emulators.config());
    // The bucket is in the same program as the delivery stream.
    let s3 = aws_sdk_s3::config::Builder::from(emulators.config())
        .endpoint_url(std::env::var("AWS_ENDPOINT_URL_FIREHOSE").unwrap())
        .force_path_style(true);
    let s3 = aws_sdk_s3::Client::from_conf(s3.build());
    let (bucket, stream) = (unique("records"), unique("records"));
    s3.create_bucket().bucket(&bucket).send().await.unwrap();
    let destination = aws_sdk_firehose::types::ExtendedS3DestinationConfiguration::builder()
        .role_arn("arn:aws:iam::000000000000:role/firehose")
        .bucket_arn(format!("arn:aws:s3:::{bucket}"));
    let create = client.create_delivery_stream().delivery_stream_name(&stream);
    let create = create.extended_s3_destination_configuration(destination.build().unwrap());
    Box::pin(create.send()).await.unwrap();

    let records = (0..ENTRIES).map(|number| {
        let data = Blob::new(numbered(number) + "\n");
        aws_sdk_firehose::types::Record::builder().data(data).build().unwrap()
    });
    let report = Delivery::new(FirehoseStream::new(client.clone(), &stream))
        .deliver(records)
        .await
        .unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);

    let mut stored = Vec::new();
    let objects = s3.list_objects_v2().bucket(&bucket).send().await.unwrap();
    for object in objects.contents() {
        let key = object.key().unwrap();
        let object = s3.get_object().bucket(&bucket).key(key).send().await.unwrap();
        let bytes = object.body.collect().await.unwrap().into_bytes();
        stored.extend(String::from_utf8(bytes.to_vec()).unwrap().lines().map(str::to_owned));
    }
    assert_eq!(sorted(stored), (0..ENTRIES).map(numbered).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn messages_of_a_group_go_through_a_topic_in_their_order() {
    let emulators = Emulators::find().await;
    let client = aws_sdk_sns::Client::new(emulators.config());
    let queue = Queue::create(&emulators, "subscribed.fifo").await;
    let create = client.create_topic().name(unique("topic") + ".fifo");
    let topic = create
        .attributes("FifoTopic", "true")
        .send()
        .await
        .unwrap()
        .topic_arn
        .unwrap();
    let subscribe = client
        .subscribe()
        .topic_arn(&topic)
        .protocol("sqs")
        .endpoint(arn(&queue).await);
    subscribe.attributes("RawMessageDelivery", "true").send().await.unwrap();

    let messages = (0..ENTRIES).map(|number| {
        let entry = PublishBatchRequestEntry::builder().id("id").message(numbered(number));
        entry
            .message_group_id(format!("group-{}", number % 20))
            .build()
            .unwrap()
    });
    let report = Delivery::new(SnsTopic::new(client.clone(), &topic))
        .deliver(messages)
        .await
        .unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);

    queue.wait_for(ENTRIES).await;
    let mut received: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in queue.drain().await {
        received.entry(message.group.unwrap()).or_default().push(message.body);
    }
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for number in 0..ENTRIES {
        sent.entry(format!("group-{}", number % 20))
            .or_default()
            .push(numbered(number));
    }
    assert_eq!(received, sent);
    client.delete_topic().topic_arn(topic).send().await.unwrap();
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn events_go_through_a_bus_and_to_none_that_is_not_there() {
    let emulators = Emulators::find().await;
    let client = aws_sdk_eventbridge::Client::new(emulators.config());
    let queue = Queue::create(&emulators, "events").await;
    let bus = unique("bus");
    client.create_event_bus().name(&bus).send().await.unwrap();
    let rule = client.put_rule().name("orders").event_bus_name(&bus);
    rule.event_pattern(r#"{"source":["shop"]}"#).send().await.unwrap();
    let target = Target::builder().id("queue").arn(arn(&queue).await).build().unwrap();
    let targets = client.put_targets().rule("orders").event_bus_name(&bus).targets(target);
    targets.send().await.unwrap();

    let events = || {
        (0..ENTRIES).map(|number| {
            let event = PutEventsRequestEntry::builder().source("shop").detail_type("order");
            event
                .detail(serde_json::json!({"text": numbered(number)}).to_string())
                .build()
        })
    };
    let options = DeliveryOptions::default();
    let report = Delivery::new(EventBus::new(client.clone(), &bus))
        .options(options.clone())
        .deliver(events())
        .await
        .unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);
    let text = |body: String| {
        let event: Value = serde_json::from_str(&body).unwrap();
        event["detail"]["text"].as_str().unwrap().to_owned()
    };
    queue.wait_for(ENTRIES).await;
    let received = queue.bodies().await.into_iter().map(text).collect();
    assert_eq!(sorted(received), (0..ENTRIES).map(numbered).collect::<Vec<_>>());

    let error = Delivery::new(EventBus::new(client.clone(), unique("absent")))
        .options(options.clone())
        .deliver(events())
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), ENTRIES);
    assert!(matches!(error.undelivered()[0].cause, Cause::Stopped(_)), "{error:?}");
    queue.remove().await;
}
