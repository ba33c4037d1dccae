//! Calls that AWS refuses as a whole: none of their parts is forwarded alone.

use serde_json::{Value, json};

use super::Proxy;
use super::wire::{batch, put};

/// 25 units, four messages and three records, and no more.
const LITTLE: &str = "[tables.orders]\nwrite_units = 0\nread_units = 0\nstarts_full = true\n\
                      [queues.orders]\nmessages = 4\n[streams.events]\nrecords = 3\n";

/// The entries of such a call in what the emulator has received, which are all if it may refuse them.
async fn forwarded(target: &str, call: &Value, list: &str) -> Vec<Value> {
    let proxy = Proxy::new(LITTLE).await;
    let answer = proxy.connect().await.call(target, call).await.unwrap();
    assert_eq!(answer.status, 200);
    let received = proxy.emulator.received(target);
    received
        .iter()
        .map(|call| call.json().pointer(list).cloned().unwrap())
        .collect()
}

#[tokio::test]
async fn a_batch_of_writes_that_dynamodb_refuses_is_not_divided() {
    let mut same_key = batch(0..20, 2);
    same_key["RequestItems"]["orders"][7] = json!({"DeleteRequest": {"Key": {"id": {"S": "000008"}}}});
    let mut without_key = batch(0..20, 2);
    without_key["RequestItems"]["orders"][7] = json!({"PutRequest": {"Item": {"other": {"S": "a"}}}});
    let mut too_large = batch(0..20, 2);
    too_large["RequestItems"]["orders"][7] = put(7, 401);
    for (call, why) in [
        (batch(0..26, 1), "more than 25"),
        (same_key, "one key twice"),
        (without_key, "no key"),
        (too_large, "an item of more than 400 KB"),
    ] {
        let lists = forwarded("DynamoDB_20120810.BatchWriteItem", &call, "/RequestItems/orders").await;
        assert_eq!(lists, [call["RequestItems"]["orders"].clone()], "{why}");
    }
}

#[tokio::test]
async fn a_batch_of_reads_that_dynamodb_refuses_is_not_divided() {
    let key = |id: usize| json!({"id": {"S": id.to_string()}});
    let twice = (0..99).chain([7]).map(key).collect::<Value>();
    for (keys, why) in [
        ((0..101).map(key).collect::<Value>(), "more than 100"),
        (twice, "one key twice"),
    ] {
        let of_table = json!({"Keys": keys, "ConsistentRead": true});
        let call = json!({"RequestItems": {"orders": of_table}});
        let lists = forwarded("DynamoDB_20120810.BatchGetItem", &call, "/RequestItems/orders/Keys").await;
        assert_eq!(lists, [keys], "{why}");
    }
}

#[tokio::test]
async fn a_batch_of_messages_that_sqs_refuses_is_not_divided() {
    let messages = |ids: &[usize], bytes: usize| -> Value {
        let message = |id: &usize| json!({"Id": id.to_string(), "MessageBody": "x".repeat(bytes)});
        ids.iter().map(message).collect()
    };
    let ten: Vec<usize> = (0..10).collect();
    let eleven: Vec<usize> = (0..11).collect();
    for (entries, why) in [
        (messages(&eleven, 1), "more than ten"),
        (messages(&[0, 1, 2, 3, 4, 1], 1), "one id twice"),
        (messages(&ten, 104_858), "more than 1 MiB"),
    ] {
        let call = json!({"QueueUrl": "http://a/0/orders", "Entries": entries});
        let lists = forwarded("AmazonSQS.SendMessageBatch", &call, "/Entries").await;
        assert_eq!(lists, [entries], "{why}");
    }
}

#[tokio::test]
async fn records_that_kinesis_refuses_are_not_divided() {
    let records = |count: usize, data: &str| -> Value {
        let record = |key: usize| json!({"PartitionKey": key.to_string(), "Data": data});
        (0..count).map(record).collect()
    };
    for (records, why) in [
        (records(501, "AAEC"), "more than 500"),
        (records(11, &"AAEC".repeat(333_333)), "more than 10 MiB"),
    ] {
        let call = json!({"StreamName": "events", "Records": records});
        let lists = forwarded("Kinesis_20131202.PutRecords", &call, "/Records").await;
        assert_eq!(lists, [records], "{why}");
    }
}
