//! Queues and streams: entries that fail, and calls that are throttled.

use serde_json::{Value, json};

use super::Proxy;

const URL: &str = "http://127.0.0.1:4566/000000000000/orders";

fn messages(count: usize) -> Value {
    let entries: Vec<Value> = (0..count)
        .map(|id| json!({"Id": format!("m{id}"), "MessageBody": format!("body {id}")}))
        .collect();
    json!({"QueueUrl": URL, "Entries": entries})
}

#[tokio::test]
async fn messages_beyond_the_rate_fail_as_aws_reports_throttles() {
    let proxy = Proxy::new("[queues.orders]\nmessages = 4\n").await;
    let mut client = proxy.connect().await;
    let answer = client
        .call("AmazonSQS.SendMessageBatch", &messages(10))
        .await
        .unwrap()
        .json();
    let ids = |list: &str| {
        answer[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["Id"].clone())
            .collect::<Vec<_>>()
    };
    let (sent, failed) = (ids("Successful"), ids("Failed"));
    assert_eq!((sent.len(), failed.len()), (4, 6));
    assert!(failed.iter().all(|id| !sent.contains(id)));
    assert_eq!(
        (&answer["Failed"][0]["Code"], &answer["Failed"][0]["SenderFault"]),
        (&json!("RequestThrottled"), &json!(true))
    );
    let forwarded = proxy.emulator.received("SendMessageBatch")[0].json();
    let forwarded: Vec<Value> = forwarded["Entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["Id"].clone())
        .collect();
    assert_eq!(forwarded, sent);
}

#[tokio::test]
async fn calls_beyond_the_quota_of_a_queue_are_throttled_as_a_whole() {
    // One call, and no other.
    let proxy = Proxy::new("[queues.orders]\ncalls = 0\n").await;
    let mut client = proxy.connect().await;
    assert_eq!(
        client
            .call("AmazonSQS.SendMessageBatch", &messages(10))
            .await
            .unwrap()
            .status,
        200
    );
    let answer = client.call("AmazonSQS.SendMessageBatch", &messages(10)).await.unwrap();
    assert_eq!(
        (answer.status, &*answer.headers["x-amzn-query-error"]),
        (400, "RequestThrottled;Sender")
    );
    // Other kinds of calls have a quota of their own.
    let receive = client
        .call("AmazonSQS.ReceiveMessage", &json!({ "QueueUrl": URL }))
        .await
        .unwrap();
    assert_eq!(receive.status, 200);
}

#[tokio::test]
async fn records_keep_their_places_in_the_answer() {
    let proxy = Proxy::new("[streams.events]\nrecords = 3\n").await;
    let mut client = proxy.connect().await;
    let records: Vec<Value> = (0..20)
        .map(|key| json!({"PartitionKey": key.to_string(), "Data": "AAEC"}))
        .collect();
    let answer = client
        .call(
            "Kinesis_20131202.PutRecords",
            &json!({"StreamName": "events", "Records": records}),
        )
        .await
        .unwrap()
        .json();
    let answered = answer["Records"].as_array().unwrap();
    assert_eq!(answered.len(), 20);
    let mut accepted = 0;
    for (key, record) in answered.iter().enumerate() {
        if record["ErrorCode"].is_null() {
            accepted += 1;
            assert_eq!(record["SequenceNumber"], key.to_string());
        } else {
            assert_eq!(record["ErrorCode"], "ProvisionedThroughputExceededException");
        }
    }
    // Three of each of the two shards, as soon as each has three.
    assert_eq!(accepted, 6);
    assert_eq!(answer["FailedRecordCount"], 14);
}

#[tokio::test]
async fn the_urls_of_queues_lead_through_the_proxy() {
    let proxy = Proxy::new("").await;
    proxy.emulator.answers(|target, _| {
        let answer = match target {
            "AmazonSQS.ListQueues" => json!({"QueueUrls": [URL, format!("{URL}-2")]}),
            _ => json!({ "QueueUrl": URL }),
        };
        Some((200, answer.to_string()))
    });
    let mut client = proxy.connect().await;
    for operation in ["CreateQueue", "GetQueueUrl"] {
        let answer = client
            .call(&format!("AmazonSQS.{operation}"), &json!({"QueueName": "orders"}))
            .await
            .unwrap();
        assert_eq!(answer.json()["QueueUrl"], "http://proxy.test/000000000000/orders");
    }
    let answer = client.call("AmazonSQS.ListQueues", &json!({})).await.unwrap().json();
    assert_eq!(answer["QueueUrls"][1], "http://proxy.test/000000000000/orders-2");
}

#[tokio::test]
async fn a_stream_that_is_changed_by_its_arn_is_described_again() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let put = json!({"StreamName": "events", "PartitionKey": "a", "Data": "AAEC"});
    let change = json!({"StreamARN": "arn:aws:kinesis:us-east-1:0:stream/events", "TargetShardCount": 4});
    for (target, call, described) in [
        ("Kinesis_20131202.PutRecord", &put, 1),
        ("Kinesis_20131202.PutRecord", &put, 1),
        ("Kinesis_20131202.UpdateShardCount", &change, 1),
        ("Kinesis_20131202.PutRecord", &put, 2),
    ] {
        assert_eq!(client.call(target, call).await.unwrap().status, 200);
        assert_eq!(proxy.emulator.received("DescribeStreamSummary").len(), described);
    }
}

#[tokio::test]
async fn a_stream_has_the_limits_of_its_shards_after_each_change_of_them() {
    let proxy = Proxy::new("[streams.events]\nrecords = 3\n").await;
    let arn = "arn:aws:kinesis:us-east-1:0:stream/events";
    let changes = [
        (
            "UpdateShardCount",
            json!({"StreamName": "events", "TargetShardCount": 4}),
        ),
        (
            "UpdateStreamMode",
            json!({"StreamARN": arn, "StreamModeDetails": {"StreamMode": "ON_DEMAND"}}),
        ),
        (
            "SplitShard",
            json!({"StreamName": "events", "ShardToSplit": "shardId-0"}),
        ),
        ("MergeShards", json!({"StreamARN": arn, "ShardToMerge": "shardId-0"})),
    ];
    let records: Vec<Value> = (0..100)
        .map(|key| json!({"PartitionKey": key.to_string(), "Data": "AAEC"}))
        .collect();
    let put = json!({"StreamName": "events", "Records": records});
    let mut client = proxy.connect().await;
    for (shards, (operation, change)) in [4, 5, 6, 3].into_iter().zip(changes) {
        proxy.emulator.answers(move |target, _| {
            let summary = json!({"OpenShardCount": shards, "StreamStatus": "ACTIVE"});
            let answer = json!({ "StreamDescriptionSummary": summary }).to_string();
            target.ends_with("DescribeStreamSummary").then_some((200, answer))
        });
        let answer = client.call(&format!("Kinesis_20131202.{operation}"), &change).await;
        assert_eq!(answer.unwrap().status, 200);
        let answer = client.call("Kinesis_20131202.PutRecords", &put).await.unwrap().json();
        assert_eq!(answer["FailedRecordCount"], 100 - 3 * shards, "{operation}");
    }
}
