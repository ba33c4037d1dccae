//! Public reports of what emulators cannot do, and of writers that lost data because their tests never saw it, each rebuilt as a
//! configuration.

use serde_json::{Value, json};

use super::Proxy;
use super::wire::{batch, put};

fn unprocessed(answer: &Value) -> usize {
    answer["UnprocessedItems"]["orders"].as_array().map_or(0, Vec::len)
}

/// architect/dynalite#62: "no good way to confirm that the library being tested handles `UnprocessedItems`".
#[tokio::test]
async fn dynalite_62_unprocessed_items_of_a_chosen_call() {
    let proxy = Proxy::new("[[faults]]\ndestination = \"orders\"\nnext = [\"none\", { unprocessed = 3 }]\n").await;
    let mut client = proxy.connect().await;
    let mut counts = Vec::new();
    for _ in 0..3 {
        counts.push(unprocessed(
            &client.tables("BatchWriteItem", batch(0..25, 1)).await.json(),
        ));
    }
    assert_eq!(counts, [0, 3, 0]);
}

/// localstack/localstack#3879: a throttled `BatchWriteItem` was "all or nothing" with a 500.
#[tokio::test]
async fn localstack_3879_a_throttled_batch_is_accepted_in_part() {
    let proxy = Proxy::new("[tables.orders]\nwrite_units = 0\nstarts_full = true\n").await;
    let answer = proxy.connect().await.tables("BatchWriteItem", batch(0..25, 5)).await;
    assert_eq!((answer.status, unprocessed(&answer.json())), (200, 20));
}

/// localstack/localstack#849: the random errors were for `DescribeTable`, too.
#[tokio::test]
async fn localstack_849_only_the_named_operation_fails() {
    let proxy = Proxy::new("[[faults]]\noperation = \"BatchWriteItem\"\nfault = \"throttle\"\n").await;
    let mut client = proxy.connect().await;
    assert_eq!(client.tables("BatchWriteItem", batch(0..1, 1)).await.status, 400);
    assert_eq!(
        client
            .tables("DescribeTable", json!({"TableName": "orders"}))
            .await
            .status,
        200
    );
    let item = put(1, 1)["PutRequest"]["Item"].clone();
    assert_eq!(
        client
            .tables("PutItem", json!({"TableName": "orders", "Item": item}))
            .await
            .status,
        200
    );
}

/// localstack/localstack#917: a throttled `PutRecord` was answered with 200.
#[tokio::test]
async fn localstack_917_a_throttled_record_alone_is_an_error() {
    let proxy = Proxy::new("[[faults]]\nservice = \"kinesis\"\nfault = \"throttle\"\n").await;
    let record = json!({"StreamName": "events", "PartitionKey": "a", "Data": "AAEC"});
    let answer = proxy
        .connect()
        .await
        .call("Kinesis_20131202.PutRecord", &record)
        .await
        .unwrap();
    assert_eq!(
        (answer.status, &answer.json()["__type"]),
        (400, &json!("ProvisionedThroughputExceededException"))
    );
}

/// localstack/localstack#2510: at a probability between 0 and 1 what was read did not agree with what was reported.
#[tokio::test]
async fn localstack_2510_what_is_reported_as_failed_is_not_applied() {
    let proxy = Proxy::new("seed = 3\n[[faults]]\nshare = 0.5\nfault = { failed = { entries = 2 } }\n").await;
    let mut client = proxy.connect().await;
    let records: Vec<Value> = (0..5)
        .map(|key| json!({"PartitionKey": key.to_string(), "Data": "AAEC"}))
        .collect();
    let mut accepted = 0;
    let mut failed = 0;
    for _ in 0..40 {
        let call = json!({"StreamName": "events", "Records": records});
        let answer = client.call("Kinesis_20131202.PutRecords", &call).await.unwrap().json();
        failed += answer["FailedRecordCount"].as_u64().unwrap();
        accepted += 5 - answer["FailedRecordCount"].as_u64().unwrap();
    }
    assert!((20..60).contains(&failed), "{failed}");
    let applied: usize = proxy
        .emulator
        .received("PutRecords")
        .iter()
        .map(|call| call.json()["Records"].as_array().unwrap().len())
        .sum();
    assert_eq!(applied as u64, accepted);
}

/// mhart/kinesalite#50: `PutRecord` that exceeds the throughput of its stream.
#[tokio::test]
async fn kinesalite_50_a_shard_takes_no_more_than_its_records() {
    let proxy = Proxy::new("[streams.events]\nrecords = 0.001\nshards = 1\n").await;
    let mut client = proxy.connect().await;
    let record = json!({"StreamName": "events", "PartitionKey": "a", "Data": "AAEC"});
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(client.call("Kinesis_20131202.PutRecord", &record).await.unwrap().status);
    }
    assert_eq!(statuses, [200, 400]);
}

/// localstack/localstack#3660: abort or delay `GetRecords` and `PutRecords`.
#[tokio::test]
async fn localstack_3660_a_call_that_reads_is_aborted_or_delayed() {
    let file = "[[faults]]\noperation = \"GetRecords\"\nnext = [{ error = { status = 503 } }, \"dropped\", { slow = \"1ms\" }]\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    assert_eq!(
        client
            .call("Kinesis_20131202.GetRecords", &json!({}))
            .await
            .unwrap()
            .status,
        503
    );
    assert!(client.call("Kinesis_20131202.GetRecords", &json!({})).await.is_err());
    let mut client = proxy.connect().await;
    assert_eq!(
        client
            .call("Kinesis_20131202.GetRecords", &json!({}))
            .await
            .unwrap()
            .status,
        200
    );
}

/// BlackbirdWorks/gopherstack#147: the units of a table were stored and never enforced.
#[tokio::test]
async fn gopherstack_147_the_units_of_a_table_are_enforced() {
    let proxy = Proxy::new("").await;
    let schema = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
    let table = json!({"Table": {"KeySchema": schema, "ProvisionedThroughput": {"WriteCapacityUnits": 1, "ReadCapacityUnits": 1}}});
    proxy
        .emulator
        .answers(move |target, _| target.ends_with("DescribeTable").then(|| (200, table.to_string())));
    let mut client = proxy.connect().await;
    let answer = client
        .tables(
            "PutItem",
            json!({"TableName": "orders", "Item": put(1, 1)["PutRequest"]["Item"]}),
        )
        .await;
    assert!(
        answer.json()["__type"]
            .as_str()
            .unwrap()
            .ends_with("ProvisionedThroughputExceededException")
    );
    let answer = client
        .tables("GetItem", json!({"TableName": "orders", "Key": {"id": {"S": "a"}}}))
        .await;
    assert_eq!(answer.status, 400);
}

/// ministackorg/ministack#565: random `ProvisionedThroughputExceededException`.
#[tokio::test]
async fn ministack_565_a_share_of_the_calls_to_tables_is_throttled() {
    let proxy = Proxy::new("seed = 1\n[[faults]]\nservice = \"dynamodb\"\nshare = 0.3\nfault = \"throttle\"\n").await;
    let mut client = proxy.connect().await;
    let mut throttled = 0;
    for _ in 0..100 {
        throttled += usize::from(client.tables("BatchWriteItem", batch(0..1, 1)).await.status == 400);
    }
    assert!((15..45).contains(&throttled), "{throttled}");
}

/// sensedeep/dynamodb-onetable#486: a writer looked for the unprocessed items in the wrong place, and dropped them.
#[tokio::test]
async fn onetable_486_a_writer_that_ignores_unprocessed_items_is_found_out() {
    let proxy = Proxy::new("[tables.orders]\nwrite_units = 0\nstarts_full = true\n").await;
    let mut client = proxy.connect().await;
    assert_eq!(client.tables("BatchWriteItem", batch(0..25, 2)).await.status, 200);
    let figures = client.get("figures").await;
    assert_eq!(figures["dynamodb"]["orders"]["applied"]["put"]["keys"], 12, "of 25");
}

/// aws-samples/sample-voice-of-customer-datalake#259 and JasperFx/wolverine#3503: `Failed` was not looked at.
#[tokio::test]
async fn voice_of_customer_259_a_sender_that_ignores_failed_messages_is_found_out() {
    let file =
        "[[faults]]\ndestination = \"orders\"\nnext = [{ failed = { entries = 4, code = \"InternalError\" } }]\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    let entries: Vec<Value> = (0..10)
        .map(|id| json!({"Id": id.to_string(), "MessageBody": id.to_string()}))
        .collect();
    let call = json!({"QueueUrl": "http://localhost/0/orders", "Entries": entries});
    let answer = client.call("AmazonSQS.SendMessageBatch", &call).await.unwrap();
    assert_eq!(
        (answer.status, answer.json()["Failed"][0]["Code"].clone()),
        (200, json!("InternalError"))
    );
    let figures = client.get("figures").await;
    assert_eq!(figures["sqs"]["orders"]["applied"]["send"]["keys"], 6, "of 10");
}
