//! What passes through, and what comes from either side that is no HTTP.

use serde_json::{Value, json};
use throttled_aws::{Config, Server};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::Proxy;
use super::wire::{Connection, batch};

#[tokio::test]
async fn a_call_without_capacity_passes_unchanged() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let body = "{ \"b\": 1.50, \"a\": 2 }";
    for _ in 0..2 {
        let head = format!(
            "POST /path?x=%20y HTTP/1.1\r\nhost: proxy.test\r\nx-amz-target: AWSEvents.PutEvents\r\nauthorization: signed\r\nx-own: 1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        client.send(head.as_bytes()).await;
        assert_eq!(client.answer().await.unwrap().status, 200);
    }
    let received = &proxy.emulator.received("PutEvents")[1];
    assert_eq!(received.bytes, body);
    for part in [
        "POST /path?x=%20y",
        "\"host\": \"proxy.test\"",
        "\"authorization\": \"signed\"",
        "\"x-own\": \"1\"",
    ] {
        assert!(received.head.contains(part), "{}", received.head);
    }
    assert_eq!(client.get("figures").await["passed"]["AWSEvents.PutEvents"], 2);
}

#[tokio::test]
async fn a_body_streams_through_before_it_is_complete() {
    let proxy = Proxy::new("").await;
    let gate = proxy.emulator.gate();
    let mut client = proxy.connect().await;
    client
        .send(b"PUT /bucket/key HTTP/1.1\r\nhost: proxy.test\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        .await;
    proxy.emulator.arrival().await;
    gate.notify_one();
    client.send(b"4\r\nlast\r\n0\r\n\r\n").await;
    assert_eq!(client.answer().await.unwrap().status, 200);
    // The first part was taken by the emulator before.
    assert_eq!(proxy.emulator.received("")[0].bytes, "last");
}

#[tokio::test]
async fn sixteen_mebibytes_are_taken_and_a_byte_more_is_not() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let mut body = batch(0..25, 400);
    let missing = 16 * 1024 * 1024 - body.to_string().len();
    body["Padding"] = json!("");
    let padding = missing - (body.to_string().len() - batch(0..25, 400).to_string().len());
    body["Padding"] = json!("x".repeat(padding));
    assert_eq!(body.to_string().len(), 16 * 1024 * 1024);
    assert_eq!(client.tables("BatchWriteItem", body.clone()).await.status, 200);
    body["Padding"] = json!("x".repeat(padding + 1));
    let answer = client.tables("BatchWriteItem", body).await;
    assert_eq!((answer.status, &*answer.headers["connection"]), (413, "close"));
    assert!(
        answer.json()["message"].as_str().unwrap().contains("16777216"),
        "{answer:?}"
    );
    assert_eq!(proxy.emulator.received("BatchWriteItem").len(), 1);
}

#[tokio::test]
async fn an_emulator_that_was_killed_is_named_and_works_when_it_is_back() {
    let mut proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    assert_eq!(client.tables("BatchWriteItem", batch(0..1, 1)).await.status, 200);
    proxy.emulator.kill().await;
    for operation in ["BatchWriteItem", "ListTables"] {
        let answer = client.tables(operation, batch(0..1, 1)).await;
        assert_eq!(answer.status, 502, "{operation}");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains(&format!("the emulator at {}", proxy.emulator.url())),
            "{message}"
        );
    }
    let unknown = client.get("figures").await;
    assert_eq!(
        (&unknown["upstream_failures"], &unknown["dynamodb"]["orders"]["unknown"]),
        (&json!(2), &json!(1))
    );
    proxy.emulator.restart().await;
    assert_eq!(client.tables("BatchWriteItem", batch(0..1, 1)).await.status, 200);
}

/// A proxy in front of something that answers each connection with these bytes, and closes it.
async fn in_front_of(bytes: &'static [u8]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    Server::to(&url, Config::default(), "127.0.0.1:0").await.unwrap()
}

#[tokio::test]
async fn garbage_of_the_emulator_is_named_as_its_own() {
    for bytes in [
        &b"\x00\xffgarbage\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 999999 ?\r\n\r\n",
        b"",
    ] {
        let server = in_front_of(bytes).await;
        let mut client = Connection::to(&server.endpoint()).await;
        // `CreateTable` is a call whose answer is read as a whole.
        let answer = client.tables("CreateTable", json!({"TableName": "orders"})).await;
        assert_eq!(answer.status, 502, "{bytes:?}");
        assert!(
            answer.json()["message"].as_str().unwrap().contains("the emulator at"),
            "{answer:?}"
        );
        // What streams through breaks off.
        let passed = client.call("AWSEvents.PutEvents", &json!({})).await;
        assert!(
            passed.is_err() || passed.as_ref().is_ok_and(|answer| answer.status == 502),
            "{passed:?}"
        );
    }
}

#[tokio::test]
async fn a_url_with_a_password_is_refused_without_it() {
    for url in ["http://user:secret@127.0.0.1:4566", "http://secret@127.0.0.1:4566/path"] {
        let refused = Server::to(url, Config::default(), "127.0.0.1:0").await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("127.0.0.1:4566") && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json_passes_as_it_is() {
    let proxy = Proxy::new("").await;
    for body in [
        "",
        "[]",
        "<html>",
        "{\"UnprocessedItems\": 5}",
        "{\"UnprocessedItems\": {\"orders\": 5}}",
        "{\"ConsumedCapacity\": [5, {}]}",
    ] {
        proxy
            .emulator
            .answers(move |target, _| target.ends_with("BatchWriteItem").then(|| (200, body.to_owned())));
        let mut client = proxy.connect().await;
        let answer = client.tables("BatchWriteItem", batch(0..2, 1)).await;
        assert_eq!(answer.status, 200);
        if serde_json::from_str::<Value>(body).map_or(true, |value| !value.is_object()) {
            assert_eq!(answer.body, body.as_bytes());
        }
    }
}

#[tokio::test]
async fn garbage_of_a_client_ends_its_connection_alone() {
    let proxy = Proxy::new("").await;
    for bytes in [
        &b"\x16\x03\x01garbage\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut client = proxy.connect().await;
        client.send(bytes).await;
        let answer = client.answer().await;
        assert!(
            answer.as_ref().map_or(true, |answer| answer.status >= 400),
            "{bytes:?}: {answer:?}"
        );
    }
    // Bodies of calls that take capacity, and are none.
    let mut client = proxy.connect().await;
    for body in [
        json!([]),
        json!(5),
        json!({}),
        json!({"RequestItems": 5}),
        json!({"RequestItems": {"orders": 5}}),
        json!({"RequestItems": {"orders": [5]}}),
        json!({"RequestItems": {"orders": [{"PutRequest": {}}]}}),
    ] {
        assert_eq!(
            client.tables("BatchWriteItem", body.clone()).await.status,
            200,
            "{body}"
        );
        assert_eq!(
            client
                .tables("TransactWriteItems", json!({ "TransactItems": [body] }))
                .await
                .status,
            200
        );
    }
    for target in [
        "AmazonSQS.SendMessageBatch",
        "Kinesis_20131202.PutRecord",
        "DynamoDB_20120810.PutItem",
        "DynamoDB_20120810.",
        ".",
    ] {
        let answer = client.call(target, &json!({"Entries": "x", "TableName": 7})).await;
        drop(answer);
        client = proxy.connect().await;
    }
    assert_eq!(client.tables("BatchWriteItem", batch(0..1, 1)).await.status, 200);
}

#[tokio::test]
async fn a_chunked_call_takes_capacity_as_any_other() {
    let proxy = Proxy::new("[tables.orders]\nwrite_units = 0\nstarts_full = true\n").await;
    let body = batch(0..25, 2).to_string();
    let (first, last) = body.split_at(1_000);
    let mut client = proxy.connect().await;
    client
        .send(
            b"POST / HTTP/1.1\r\nhost: proxy.test\r\nx-amz-target: DynamoDB_20120810.BatchWriteItem\r\n\
              content-type: application/x-amz-json-1.0\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .await;
    for part in [first, last, ""] {
        client.send(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).await;
    }
    let answer = client.answer().await.unwrap().json();
    assert_eq!(answer["UnprocessedItems"]["orders"].as_array().unwrap().len(), 13);
}

#[tokio::test]
async fn an_answer_streams_through_before_it_is_complete() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::to(&url, Config::default(), "127.0.0.1:0").await.unwrap();
    let mut client = Connection::to(&server.endpoint()).await;
    client
        .send(b"GET /bucket/key HTTP/1.1\r\nhost: proxy.test\r\n\r\n")
        .await;
    let (mut emulator, _) = listener.accept().await.unwrap();
    let mut request = [0; 4_096];
    assert!(emulator.read(&mut request).await.unwrap() > 0);
    emulator
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfirst")
        .await
        .unwrap();
    let mut lines = String::new();
    while !lines.ends_with("\r\n\r\n") {
        client.stream.read_line(&mut lines).await.unwrap();
    }
    let mut part = [0; 5];
    client.stream.read_exact(&mut part).await.unwrap();
    assert_eq!(&part, b"first");
    emulator.write_all(b"last").await.unwrap();
    client.stream.read_exact(&mut part[..4]).await.unwrap();
    assert_eq!(&part[..4], b"last");
}

#[tokio::test]
async fn a_slow_emulator_keeps_nothing_but_its_own_answers() {
    let proxy = Proxy::new("").await;
    let gate = proxy.emulator.gate();
    let mut waiting = Vec::new();
    for id in 0..50 {
        let mut client = proxy.connect().await;
        client
            .send_call("DynamoDB_20120810.BatchWriteItem", &batch(id..id + 1, 1))
            .await;
        waiting.push(client);
        proxy.emulator.arrival().await;
    }
    // Half of them do not wait for it.
    waiting.truncate(25);
    let figures = proxy.connect().await.get("figures").await;
    assert_eq!(figures["calls"], 50);
    gate.notify_waiters();
    for client in &mut waiting {
        assert_eq!(client.answer().await.unwrap().status, 200);
    }
    let mut client = proxy.connect().await;
    loop {
        let applied = client.get("figures").await["dynamodb"]["orders"]["accepted"].clone();
        if applied == 50 {
            return;
        }
        tokio::task::yield_now().await;
    }
}
