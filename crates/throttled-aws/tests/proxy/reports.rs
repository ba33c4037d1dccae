//! Public reports of what emulators cannot do, each rebuilt as a configuration.

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

/// localstack/localstack#17: throttles of reads and writes at random.
#[tokio::test]
async fn localstack_17_reads_and_writes_are_throttled_at_random() {
    let file = "seed = 2\n[[faults]]\noperation = \"GetItem\"\nshare = 0.2\nfault = \"throttle\"\n\
                [[faults]]\noperation = \"PutItem\"\nshare = 0.7\nfault = \"throttle\"\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    let mut throttled = [0, 0];
    for _ in 0..100 {
        let read = json!({"TableName": "orders", "Key": {"id": {"S": "a"}}});
        throttled[0] += usize::from(client.tables("GetItem", read).await.status == 400);
        let write = json!({"TableName": "orders", "Item": {"id": {"S": "a"}}});
        throttled[1] += usize::from(client.tables("PutItem", write).await.status == 400);
    }
    assert!(
        (10..35).contains(&throttled[0]) && (55..85).contains(&throttled[1]),
        "{throttled:?}"
    );
}

/// `ananthakumaran/fake_dynamo#43`: a flag with which each call is throttled.
#[tokio::test]
async fn fake_dynamo_43_each_call_is_throttled() {
    let file = "[tables.orders]\nwrite_units = 100\n[[faults]]\nservice = \"dynamodb\"\nfault = \"throttle\"\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    for operation in ["GetItem", "Query", "DeleteItem"] {
        let answer = client
            .tables(operation, json!({"TableName": "orders", "Key": {}}))
            .await;
        let kind = answer.json()["__type"].as_str().unwrap().to_owned();
        assert!(
            answer.status == 400 && kind.ends_with("#ProvisionedThroughputExceededException"),
            "{operation}: {kind}"
        );
    }
    let receive = json!({"QueueUrl": "http://localhost/0/orders"});
    assert_eq!(
        client.call("AmazonSQS.ReceiveMessage", &receive).await.unwrap().status,
        200
    );
}

/// mhart/kinesalite#19: `PutRecords` was accepted or refused as a whole.
#[tokio::test]
async fn kinesalite_19_records_of_one_call_are_accepted_and_refused() {
    let proxy = Proxy::new("[streams.events]\nshards = 1\nrecords = 2\n").await;
    let records = vec![json!({"PartitionKey": "a", "Data": "AAEC"}); 5];
    let call = json!({"StreamName": "events", "Records": records});
    let answer = proxy
        .connect()
        .await
        .call("Kinesis_20131202.PutRecords", &call)
        .await
        .unwrap();
    assert_eq!((answer.status, &answer.json()["FailedRecordCount"]), (200, &json!(3)));
}

/// BlackbirdWorks/gopherstack#329: a share of the puts to S3 fails with 503, set while it runs.
#[tokio::test]
async fn gopherstack_329_a_fault_of_s3_is_set_by_http() {
    let proxy = Proxy::new("seed = 4\n").await;
    let mut client = proxy.connect().await;
    let fault = json!({"error": {"status": 503, "code": "ServiceUnavailable"}});
    let rule = json!({"service": "s3", "operation": "PUT", "share": 0.5, "fault": fault});
    assert_eq!(
        client
            .post("faults", &json!({"faults": [rule]}).to_string())
            .await
            .status,
        200
    );
    let mut failed = 0;
    for _ in 0..40 {
        let scope = "Credential=key/20261129/us-east-1/s3/aws4_request";
        let head = format!(
            "PUT /bucket/key HTTP/1.1\r\nhost: a\r\nauthorization: AWS4-HMAC-SHA256 {scope}\r\ncontent-length: 0\r\n\r\n"
        );
        client.send(head.as_bytes()).await;
        let answer = client.answer().await.unwrap();
        if answer.status == 503 {
            failed += 1;
            assert!(
                String::from_utf8(answer.body)
                    .unwrap()
                    .contains("<Code>ServiceUnavailable</Code>")
            );
        }
    }
    assert!((10..30).contains(&failed), "{failed}");
}

/// scylladb/scylladb#6569: clients broke because an emulator left out what was empty.
#[tokio::test]
async fn scylladb_6569_what_is_unprocessed_is_there_even_if_it_is_nothing() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let answer = client.tables("BatchWriteItem", batch(0..2, 1)).await.json();
    assert_eq!(answer, json!({"UnprocessedItems": {}}));
    let keys = json!({"RequestItems": {"orders": {"Keys": [{"id": {"S": "a"}}]}}});
    let answer = client.tables("BatchGetItem", keys).await.json();
    assert_eq!(answer, json!({"Responses": {}, "UnprocessedKeys": {}}));
}

/// floci-io/floci#3028: the units of an index were stored, and a change of them did nothing.
#[tokio::test]
async fn floci_3028_an_index_has_its_units_after_a_change() {
    let proxy = Proxy::new("").await;
    let describe = |units: f64| {
        let schema = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        let units = json!({"WriteCapacityUnits": units, "ReadCapacityUnits": units});
        let index = json!({"IndexName": "by_id", "KeySchema": schema, "ProvisionedThroughput": units});
        let table = json!({"Table": {"KeySchema": schema, "GlobalSecondaryIndexes": [index]}}).to_string();
        proxy
            .emulator
            .answers(move |target, _| target.ends_with("DescribeTable").then(|| (200, table.clone())));
    };
    let mut client = proxy.connect().await;
    describe(1e-9);
    assert_eq!(client.tables("BatchWriteItem", batch(0..1, 1)).await.status, 400);
    describe(1e9);
    client
        .tables(
            "UpdateTable",
            json!({"TableName": "orders", "GlobalSecondaryIndexUpdates": []}),
        )
        .await;
    // The bucket of an index is empty at first, too.
    while client.tables("BatchWriteItem", batch(0..1, 1)).await.status == 400 {}
}
