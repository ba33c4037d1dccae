//! Public reports of writers that lost data because their tests never saw a throttle, each rebuilt as a configuration.

use serde_json::{Value, json};

use super::Proxy;
use super::wire::batch;

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

/// boto/boto#2214: the keys that were not read were looked for in the wrong place, and 60,000 to 79,000 of 80,000 items were found.
#[tokio::test]
async fn boto_2214_keys_that_were_not_read_are_by_table() {
    let proxy = Proxy::new("[[faults]]\noperation = \"BatchGetItem\"\nnext = [{ unprocessed = 3 }]\n").await;
    let keys: Vec<Value> = (0..10).map(|id| json!({"id": {"S": id.to_string()}})).collect();
    let request = json!({"RequestItems": {"orders": {"Keys": keys}}});
    let answer = proxy.connect().await.tables("BatchGetItem", request).await.json();
    assert_eq!(answer["UnprocessedKeys"], json!({"orders": {"Keys": keys[..3]}}));
    let read = proxy.emulator.received("BatchGetItem")[0].json();
    assert_eq!(read["RequestItems"]["orders"]["Keys"], json!(keys[3..]));
}

/// risingwavelabs/risingwave#17865 and aws-samples/aws-lambda-fanout#38: `PutRecords` that succeeds was taken for one that wrote
/// everything.
#[tokio::test]
async fn risingwave_17865_a_sink_that_ignores_failed_records_is_found_out() {
    let file =
        "[[faults]]\noperation = \"PutRecords\"\nnext = [{ failed = { entries = 2, code = \"InternalFailure\" } }]\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    let record = |key: usize| json!({"PartitionKey": key.to_string(), "Data": "AAEC"});
    let call = json!({"StreamName": "events", "Records": (0..5).map(record).collect::<Vec<_>>()});
    let answer = client.call("Kinesis_20131202.PutRecords", &call).await.unwrap();
    assert_eq!((answer.status, &answer.json()["FailedRecordCount"]), (200, &json!(2)));
    assert_eq!(
        client.get("figures").await["kinesis"]["events"]["applied"]["put"]["keys"],
        3,
        "of 5"
    );
}

/// bbc/sqs-consumer#193: messages whose deletion failed were received again.
#[tokio::test]
async fn sqs_consumer_193_a_consumer_that_ignores_failed_deletions_is_found_out() {
    let file = "[[faults]]\noperation = \"DeleteMessageBatch\"\nnext = [{ failed = { entries = 4 } }]\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    let entry = |id: usize| json!({"Id": id.to_string(), "ReceiptHandle": format!("receipt-{id}")});
    let call = json!({"QueueUrl": "http://localhost/0/orders", "Entries": (0..10).map(entry).collect::<Vec<_>>()});
    let answer = client.call("AmazonSQS.DeleteMessageBatch", &call).await.unwrap().json();
    assert_eq!(answer["Failed"].as_array().unwrap().len(), 4);
    let deleted = proxy.emulator.received("DeleteMessageBatch")[0].json();
    assert_eq!(deleted["Entries"].as_array().unwrap().len(), 6);
}

/// guregu/dynamo#203: of the reasons for which a transaction is canceled, only some may be tried again, and no test had them.
#[tokio::test]
async fn guregu_203_a_transaction_is_canceled_for_each_reason() {
    let provisioned = "[tables.orders]\nwrite_units = 0\n";
    let conflict = "[[faults]]\nnext = [{ failed = { entries = 1 } }]\n";
    // A table that is not in the file is on demand.
    let throttled = "[[faults]]\nnext = [{ unprocessed = 1 }]\n";
    for (file, code) in [
        (provisioned, "ProvisionedThroughputExceeded"),
        (conflict, "TransactionConflict"),
        (throttled, "ThrottlingError"),
    ] {
        let proxy = Proxy::new(file).await;
        let put = json!({"Put": {"TableName": "orders", "Item": {"id": {"S": "a"}}}});
        let answer = proxy
            .connect()
            .await
            .tables("TransactWriteItems", json!({"TransactItems": [put]}))
            .await;
        assert_eq!(answer.json()["CancellationReasons"][0]["Code"], code);
        assert_eq!(proxy.emulator.received("TransactWriteItems").len(), 0);
    }
}

/// awslabs/dynein#195: an import ended at the first throttle, and at others when that was retried.
#[tokio::test]
async fn dynein_195_an_import_meets_each_of_its_errors() {
    let file = "[[faults]]\noperation = \"BatchWriteItem\"\nnext = [\"throttle\", { error = { status = 500 } }, \
                { error = { status = 400, code = \"ProvisionedThroughputExceededException\" } }]\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    let mut kinds = Vec::new();
    for _ in 0..4 {
        let answer = client.tables("BatchWriteItem", batch(0..5, 1)).await.json();
        let kind = answer["__type"].as_str().unwrap_or("none");
        kinds.push(kind.rsplit('#').next().unwrap().to_owned());
    }
    let expected = [
        "ThrottlingException",
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "none",
    ];
    assert_eq!(kinds, expected);
}

/// mapbox/dyno#82: "I don't have a good way to simulate" a network that fails after some of the calls of one large write.
#[tokio::test]
async fn dyno_82_the_network_fails_after_twelve_calls() {
    let script = format!(
        "[[faults]]\noperation = \"BatchWriteItem\"\nnext = [{}\"dropped\"]\n",
        "\"none\", ".repeat(12)
    );
    let proxy = Proxy::new(&script).await;
    let mut client = proxy.connect().await;
    for call in 0..12 {
        let answer = client
            .tables("BatchWriteItem", batch(25 * call..25 * call + 25, 1))
            .await;
        assert_eq!(answer.status, 200, "{call}");
    }
    let last = client
        .call("DynamoDB_20120810.BatchWriteItem", &batch(300..313, 1))
        .await;
    assert!(last.is_err(), "{last:?}");
    let figures = proxy.connect().await.get("figures").await;
    let orders = &figures["dynamodb"]["orders"];
    assert_eq!((&orders["accepted"], &orders["dropped"]), (&json!(300), &json!(13)));
}
