//! Faults by file and by HTTP, the journal and the figures.

use std::time::Duration;

use serde_json::{Value, json};
use throttled_aws::Config;
use tokio::io::AsyncWriteExt;

use super::Proxy;
use super::wire::batch;

#[tokio::test]
async fn the_next_calls_have_the_faults_of_the_script() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let script = r#"{"faults": [{"destination": "orders", "next": [{"unprocessed": 25}, "lost", {"error": {"status": 500}}, "garbage", "throttle"]}]}"#;
    assert_eq!(client.post("faults", script).await.status, 200);
    let all = client.tables("BatchWriteItem", batch(0..25, 1)).await;
    assert_eq!(
        (
            all.status,
            all.json()["UnprocessedItems"]["orders"].as_array().unwrap().len()
        ),
        (200, 25)
    );
    assert_eq!(proxy.emulator.received("BatchWriteItem").len(), 0);

    let lost = client.call("DynamoDB_20120810.BatchWriteItem", &batch(0..25, 1)).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!(proxy.emulator.received("BatchWriteItem").len(), 1, "it was applied");

    let mut client = proxy.connect().await;
    let failed = client.tables("BatchWriteItem", batch(0..25, 1)).await;
    assert_eq!(failed.status, 500);
    assert!(
        failed.json()["__type"]
            .as_str()
            .unwrap()
            .ends_with("#InternalServerError")
    );
    assert_eq!(proxy.emulator.received("BatchWriteItem").len(), 1);

    let garbage = client.tables("BatchWriteItem", batch(0..25, 1)).await;
    assert!(garbage.status == 200 && serde_json::from_slice::<Value>(&garbage.body).is_err());
    assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 400);
    assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 200);

    let figures = client.get("figures").await;
    let orders = &figures["dynamodb"]["orders"];
    let counted: Vec<u64> = ["calls", "faults", "throttled", "lost", "failed", "accepted"]
        .iter()
        .map(|name| orders[name].as_u64().unwrap())
        .collect();
    assert_eq!(counted, [6, 5, 50, 50, 25, 25]);
    // Each was applied three times, and the journal says so.
    assert_eq!(orders["applied"]["put"], json!({"keys": 25, "twice": 25}));
}

#[tokio::test]
async fn the_words_of_the_file_and_of_http_are_the_same() {
    let file = "[[faults]]\nservice = \"dynamodb\"\nshare = 1.0\nfault = { failed = { entries = 2 } }\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    let of_file = client.get("faults").await;
    client.post("faults", r#"{"faults": []}"#).await;
    assert_eq!(client.get("faults").await["faults"], json!([]));
    assert_eq!(client.post("faults", &of_file.to_string()).await.json(), of_file);
    let answer = client.tables("BatchWriteItem", batch(0..25, 1)).await.json();
    assert_eq!(answer["UnprocessedItems"]["orders"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_answer_without_what_was_forwarded_has_its_members() {
    let proxy = Proxy::new("[[faults]]\nfault = { unprocessed = 100 }\n").await;
    let mut client = proxy.connect().await;
    let of_table = json!({"Keys": [{"id": {"S": "a"}}]});
    let read = json!({"RequestItems": {"orders": of_table}});
    let answer = client.tables("BatchGetItem", read).await.json();
    assert_eq!(
        answer,
        json!({"Responses": {}, "UnprocessedKeys": {"orders": of_table}})
    );
    let write = batch(0..1, 1);
    let answer = client.tables("BatchWriteItem", write.clone()).await.json();
    assert_eq!(answer, json!({"UnprocessedItems": write["RequestItems"]}));
    let url = "http://127.0.0.1:4566/000000000000/orders";
    let send = json!({"QueueUrl": url, "Entries": [{"Id": "a", "MessageBody": "a"}]});
    let answer = client.call("AmazonSQS.SendMessageBatch", &send).await.unwrap().json();
    assert_eq!(
        (&answer["Successful"], &answer["Failed"][0]["Id"]),
        (&json!([]), &json!("a"))
    );
    let put = json!({"StreamName": "events", "Records": [{"PartitionKey": "a", "Data": "AAEC"}]});
    let answer = client.call("Kinesis_20131202.PutRecords", &put).await.unwrap().json();
    assert_eq!(
        (&answer["FailedRecordCount"], answer["Records"].as_array().map(Vec::len)),
        (&json!(1), Some(1))
    );
    for operation in ["BatchGetItem", "BatchWriteItem", "SendMessageBatch", "PutRecords"] {
        assert_eq!(proxy.emulator.received(operation).len(), 0, "{operation}");
    }
}

#[tokio::test]
async fn a_call_with_one_item_that_fails_is_an_error() {
    let proxy = Proxy::new("[[faults]]\nfault = { failed = { entries = 1 } }\n").await;
    let mut client = proxy.connect().await;
    let item = json!({"id": {"S": "a"}});
    let calls = [
        ("PutItem", "Item"),
        ("UpdateItem", "Key"),
        ("DeleteItem", "Key"),
        ("GetItem", "Key"),
    ];
    for (operation, member) in calls {
        let call = json!({"TableName": "orders", member: item});
        let answer = client.tables(operation, call).await;
        let kind = answer.json()["__type"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, 500, "{operation}");
        assert!(kind.ends_with("#InternalServerError"), "{operation}: {kind}");
        assert_eq!(proxy.emulator.received(operation).len(), 0, "{operation}");
    }
    let own = r#"{"faults": [{"fault": {"failed": {"entries": 1, "code": "OwnCode"}}}]}"#;
    client.post("faults", own).await;
    let answer = client
        .tables("PutItem", json!({"TableName": "orders", "Item": item}))
        .await;
    assert!(answer.json()["__type"].as_str().unwrap().ends_with("#OwnCode"));
    assert_eq!(client.get("figures").await["dynamodb"]["orders"]["failed"], 5);
}

#[tokio::test]
async fn wrong_words_are_refused_and_change_nothing() {
    let proxy = Proxy::new("[[faults]]\nfault = \"throttle\"\n").await;
    let mut client = proxy.connect().await;
    for body in [
        r#"{"faults": [{"fault": "losst"}]}"#,
        r#"{"faults": [{}]}"#,
        "{",
        r#"{"fault": []}"#,
    ] {
        let answer = client.post("faults", body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(!answer.json()["error"].as_str().unwrap().is_empty());
    }
    assert_eq!(client.tables("BatchWriteItem", batch(0..1, 1)).await.status, 400);
    assert_eq!(client.post("nonsense", "").await.status, 404);
}

#[tokio::test]
async fn a_reset_is_a_new_start() {
    let proxy = Proxy::new("[tables.orders]\nwrite_units = 0\nstarts_full = true\n").await;
    let mut client = proxy.connect().await;
    for _ in 0..2 {
        assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 200);
        assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 400);
        assert_eq!(client.get("journal").await["entries"].as_array().unwrap().len(), 50);
        client.post("reset", "").await;
        assert_eq!(client.get("journal").await["entries"], json!([]));
    }
}

#[tokio::test]
async fn throttled_calls_are_those_that_the_capacity_or_a_fault_kept() {
    let mut proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let write = batch(0..1, 1);
    client.post("faults", r#"{"faults": [{"next": ["throttle"]}]}"#).await;
    assert_eq!(client.tables("BatchWriteItem", write.clone()).await.status, 400);
    let error = json!({"__type": "ValidationException"}).to_string();
    proxy
        .emulator
        .answers(move |target, _| target.ends_with("BatchWriteItem").then(|| (400, error.clone())));
    assert_eq!(client.tables("BatchWriteItem", write.clone()).await.status, 400);
    proxy.emulator.kill().await;
    assert_eq!(client.tables("BatchWriteItem", write).await.status, 502);
    let figures = client.get("figures").await;
    let orders = &figures["dynamodb"]["orders"];
    let counted = ["calls", "throttled_calls", "throttled", "refused", "unknown"].map(|name| orders[name].clone());
    assert_eq!(counted, [3, 1, 1, 1, 1].map(|count| json!(count)));
}

#[tokio::test]
async fn faults_are_for_services_without_capacity_too() {
    let file = "[[faults]]\nservice = \"s3\"\noperation = \"PUT\"\nnext = [\"throttle\", \"dropped\", { error = { status = 500, applied = true } }]\n";
    let proxy = Proxy::new(file).await;
    let put = "PUT /bucket/key HTTP/1.1\r\nhost: proxy.test\r\nauthorization: AWS4-HMAC-SHA256 Credential=k/20261128/us-east-1/s3/aws4_request\r\ncontent-length: 2\r\n\r\nhi";
    let mut client = proxy.connect().await;
    client.send(put.as_bytes()).await;
    let answer = client.answer().await.unwrap();
    assert_eq!(answer.status, 503);
    assert!(
        String::from_utf8(answer.body)
            .unwrap()
            .contains("<Code>SlowDown</Code>")
    );
    let mut client = proxy.connect().await;
    client.send(put.as_bytes()).await;
    assert!(client.answer().await.is_err());
    assert_eq!(proxy.emulator.received("").len(), 0);
    let mut client = proxy.connect().await;
    client.send(put.as_bytes()).await;
    assert_eq!(client.answer().await.unwrap().status, 500);
    assert_eq!(proxy.emulator.received("")[0].bytes, "hi");
}

#[tokio::test]
async fn a_call_that_hangs_ends_with_its_connection() {
    let proxy = Proxy::new("[[faults]]\nnext = [\"hung\"]\n").await;
    let mut client = proxy.connect().await;
    client
        .send_call("DynamoDB_20120810.BatchWriteItem", &batch(0..1, 1))
        .await;
    let mut other = proxy.connect().await;
    loop {
        // The call is counted before it hangs.
        if other.get("figures").await["dynamodb"]["orders"]["dropped"] == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    drop(client);
    assert_eq!(other.tables("BatchWriteItem", batch(0..1, 1)).await.status, 200);
}

#[tokio::test]
async fn the_journal_has_what_was_applied_when_the_client_is_gone() {
    let proxy = Proxy::new("").await;
    let gate = proxy.emulator.gate();
    let mut client = proxy.connect().await;
    client
        .send_call("DynamoDB_20120810.BatchWriteItem", &batch(0..3, 1))
        .await;
    proxy.emulator.arrival().await;
    drop(client);
    gate.notify_one();
    let mut other = proxy.connect().await;
    loop {
        let journal = other.get("journal").await;
        if journal["entries"].as_array().unwrap().len() == 3 {
            assert!(
                journal["entries"][0]["key"].as_str().unwrap().contains("000000"),
                "{journal}"
            );
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_latency_without_end_is_refused_where_it_is() {
    for (setting, range) in [
        ("sigma = inf", "from 0 to 3, not inf"),
        ("sigma = 3.1", "from 0 to 3, not 3.1"),
        ("slow_factor = inf", "from 0 to 1000, not inf"),
        (
            "slow_factor = 1e30",
            "from 0 to 1000, not 1000000000000000000000000000000",
        ),
        ("slow_factor = nan", "from 0 to 1000, not NaN"),
        ("median = \"2h\"", "1h at most, not 2h"),
    ] {
        let error = Config::parse(&format!("[latency]\n{setting}\n"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 2") && error.contains(range), "{error}");
    }
    assert!(Config::parse("[latency]\nmedian = \"1h\"\nsigma = 3\nslow_factor = 1000\n").is_ok());
}

const OF_S3: &str = "authorization: AWS4-HMAC-SHA256 Credential=k/20261128/us-east-1/s3/aws4_request";

/// A put of an object of this many bytes, of which some are sent.
fn put_of(bytes: usize, sent: usize) -> Vec<u8> {
    let head = format!("PUT /bucket/key HTTP/1.1\r\nhost: a\r\n{OF_S3}\r\ncontent-length: {bytes}\r\n\r\n");
    [head.as_bytes(), &vec![b'x'; sent]].concat()
}

#[tokio::test]
async fn the_connection_of_a_call_that_a_fault_answers_takes_the_next_one() {
    let file = "[[faults]]\nservice = \"s3\"\nnext = [\"throttle\", { error = { status = 500 } }]\n";
    let proxy = Proxy::new(file).await;
    let mut client = proxy.connect().await;
    for status in [503, 500, 200] {
        client.send(&put_of(1_000_000, 1_000)).await;
        client.send(&vec![b'x'; 999_000]).await;
        assert_eq!(client.answer().await.unwrap().status, status);
    }
    assert_eq!(proxy.emulator.received("")[0].bytes.len(), 1_000_000);
}

#[tokio::test]
async fn the_answer_to_a_call_whose_body_is_too_long_to_be_read_closes_the_connection() {
    let proxy = Proxy::new("[[faults]]\nservice = \"s3\"\nfault = \"throttle\"\n").await;
    let mut client = proxy.connect().await;
    client.send(&put_of(1_000_000_000, 17_000_000)).await;
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status, &*answer.headers["connection"]), (503, "close"));
}

#[tokio::test]
async fn a_put_that_hangs_ends_with_its_connection() {
    let proxy = Proxy::new("[[faults]]\nservice = \"s3\"\nfault = \"hung\"\n").await;
    let mut client = proxy.connect().await;
    client.send(&put_of(1_000_000, 1_000_000)).await;
    client.stream.shutdown().await.unwrap();
    // It would otherwise stay open.
    let ended = tokio::time::timeout(Duration::from_secs(30), client.answer()).await;
    assert!(ended.unwrap().is_err());
}

/// A queue that says of a message that it is one that it has: the same sequence number.
#[tokio::test]
async fn what_the_service_recognizes_as_sent_before_is_applied_once() {
    let proxy = Proxy::new("[[faults]]\ndestination = \"jobs.fifo\"\nnext = [\"lost\"]\n").await;
    proxy.emulator.answers(|target, body| {
        let sent = |entry: &Value| {
            // It has forgotten the one with `b`.
            let number = if entry["Id"] == "b" {
                &entry["MessageBody"]
            } else {
                &json!("7")
            };
            json!({"Id": entry["Id"], "MessageId": "m", "SequenceNumber": number})
        };
        let sent = body["Entries"]
            .as_array()
            .into_iter()
            .flatten()
            .map(sent)
            .collect::<Value>();
        let answer = json!({ "Successful": sent }).to_string();
        target.ends_with("SendMessageBatch").then_some((200, answer))
    });
    let url = "http://a/0/jobs.fifo";
    let message = |id: &str, body: &str| json!({"Id": id, "MessageBody": body, "MessageGroupId": "g", "MessageDeduplicationId": id});
    for body in ["1", "2"] {
        let send = json!({"QueueUrl": url, "Entries": [message("a", body), message("b", body)]});
        let _ = proxy.connect().await.call("AmazonSQS.SendMessageBatch", &send).await;
    }
    let put = json!({"Put": {"TableName": "orders", "Item": {"id": {"S": "a"}}}});
    for (token, table) in [("a", "same"), ("a", "same"), ("a", "others"), ("b", "others")] {
        let mut put = put.clone();
        put["Put"]["TableName"] = json!(table);
        let call = json!({"TransactItems": [put], "ClientRequestToken": token});
        proxy.connect().await.tables("TransactWriteItems", call).await;
    }
    let mut client = proxy.connect().await;
    let figures = client.get("figures").await;
    let applied = |service: &str, name: &str, action: &str| figures[service][name]["applied"][action].clone();
    assert_eq!(applied("sqs", "jobs.fifo", "send"), json!({"keys": 2, "twice": 1}));
    assert_eq!(applied("dynamodb", "same", "put"), json!({"keys": 1, "twice": 0}));
    assert_eq!(applied("dynamodb", "others", "put"), json!({"keys": 1, "twice": 1}));
    let journal = client.get("journal?destination=jobs.fifo").await;
    assert_eq!(journal["entries"][2]["known_as"], "7");
}

#[tokio::test]
async fn the_journal_keeps_digests_of_long_keys() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    for bytes in [100, 1_000_000] {
        let item = json!({"id": {"S": "x".repeat(bytes)}});
        let call = json!({"TableName": "orders", "Item": item});
        client.tables("PutItem", call).await;
    }
    let journal = client.get("journal").await;
    let lengths: Vec<usize> = journal["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["key"].as_str().unwrap().len())
        .collect();
    assert_eq!(lengths, [100 + r#"{"id":{"S":""}}"#.len(), 32]);
}
