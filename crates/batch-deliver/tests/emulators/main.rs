//! The program against an emulator of DynamoDB and LocalStack, as a person would use it.
//!
//! `localstack/test` brings them up and runs these tests, which plain `cargo test` lists as ignored.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod inputs;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant, UNIX_EPOCH};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// Films of the test, each with its number as its year.
const FILMS: u32 = 500;

/// How long is waited for messages.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Lines that go to the queue.
const LINES: usize = 10_000;

async fn emulators() -> SdkConfig {
    for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"] {
        let is_set = std::env::var_os(name).is_some();
        assert!(is_set, "{name} is not set; localstack/test runs these tests");
    }
    aws_config::load_defaults(BehaviorVersion::latest()).await
}

/// A name that no other run uses.
fn unique(name: &str) -> String {
    format!("{name}-{}", UNIX_EPOCH.elapsed().unwrap().as_nanos())
}

/// Runs the program in this folder. The environment says where the services are.
fn run(folder: &Path, arguments: &str) {
    run_with(folder, &arguments.split_whitespace().collect::<Vec<_>>());
}

fn run_with(folder: &Path, arguments: &[&str]) {
    let output = output(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_batch-deliver"));
    program.current_dir(folder).args(arguments).output().unwrap()
}

/// A film as plain JSON, as DynamoDB JSON and as a row of CSV.
fn film(number: u32) -> (Value, Value, String) {
    let (title, rating) = (format!("Film, \"{number}\""), f64::from(number % 100) / 10.0);
    let plain = json!({"year": number, "title": title, "rating": rating, "info": {"seen": number.is_multiple_of(2), "tags": ["a", number]}});
    let typed = json!({
        "year": {"N": number.to_string()},
        "title": {"S": title},
        "rating": {"N": rating.to_string()},
        "info": {"M": {"seen": {"BOOL": number.is_multiple_of(2)}, "tags": {"L": [{"S": "a"}, {"N": number.to_string()}]}}},
    });
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let row = format!(
        "{number},{},{rating},{}",
        quoted(&title),
        quoted(&plain["info"].to_string())
    );
    (plain, typed, row)
}

/// The same films as JSON lines, as DynamoDB JSON, as CSV and as an export of a table.
fn write_films(folder: &Path) {
    let (mut plain, mut typed, mut items) = (String::new(), String::new(), String::new());
    let mut csv = "year,title,rating,info\n".to_owned();
    for number in 0..FILMS {
        let film = film(number);
        writeln!(plain, "{}", film.0).unwrap();
        writeln!(typed, "{}", film.1).unwrap();
        writeln!(items, "{}", json!({"Item": film.1})).unwrap();
        writeln!(csv, "{}", film.2).unwrap();
    }
    fs::write(folder.join("films.jsonl"), plain).unwrap();
    fs::write(folder.join("typed.jsonl"), typed).unwrap();
    fs::write(folder.join("films.csv"), csv).unwrap();
    let export = folder.join("AWSDynamoDB/01234567890123-abcdef");
    fs::create_dir_all(export.join("data")).unwrap();
    let data = "AWSDynamoDB/01234567890123-abcdef/data/part.json.gz";
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut compressed, items.as_bytes()).unwrap();
    fs::write(folder.join(data), compressed.finish().unwrap()).unwrap();
    let file = json!({"itemCount": FILMS, "dataFileS3Key": data});
    fs::write(export.join("manifest-files.json"), format!("{file}\n")).unwrap();
    let summary = json!({"outputFormat": "DYNAMODB_JSON", "exportType": "FULL_EXPORT", "itemCount": FILMS});
    fs::write(export.join("manifest-summary.json"), summary.to_string()).unwrap();
}

async fn create_table(client: &aws_sdk_dynamodb::Client, name: &str) {
    let mut table = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest);
    for (attribute, kind, of) in [
        ("year", KeyType::Hash, ScalarAttributeType::N),
        ("title", KeyType::Range, ScalarAttributeType::S),
    ] {
        let key = KeySchemaElement::builder().attribute_name(attribute).key_type(kind);
        let definition = AttributeDefinition::builder()
            .attribute_name(attribute)
            .attribute_type(of);
        table = table
            .key_schema(key.build().unwrap())
            .attribute_definitions(definition.build().unwrap());
    }
    table.send().await.unwrap();
}

/// The items of a table by their years.
async fn items(client: &aws_sdk_dynamodb::Client, table: &str) -> BTreeMap<u32, HashMap<String, AttributeValue>> {
    let mut pages = client.scan().table_name(table).into_paginator().items().send();
    let mut items = BTreeMap::new();
    while let Some(item) = pages.next().await {
        let item = item.unwrap();
        let year = item["year"].as_n().unwrap().parse().unwrap();
        items.insert(year, item);
    }
    items
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn a_table_is_the_same_whatever_form_its_items_had() {
    let client = aws_sdk_dynamodb::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    write_films(folder.path());
    let mut loaded = Vec::new();
    for (input, options) in [
        ("films.jsonl", ""),
        ("typed.jsonl", ""),
        ("films.csv", "--types rating:N,info:JSON"),
        ("AWSDynamoDB/01234567890123-abcdef", ""),
    ] {
        let table = unique("films");
        create_table(&client, &table).await;
        run(folder.path(), &format!("load --table {table} {options} {input}"));
        loaded.push(items(&client, &table).await);
        run(folder.path(), &format!("delete --table {table} films.jsonl"));
        assert_eq!(items(&client, &table).await, BTreeMap::new());
    }
    assert_eq!(loaded[0].len(), FILMS as usize);
    for other in &loaded[1..] {
        assert_eq!(*other, loaded[0]);
    }
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn what_a_condition_excludes_stays_and_is_kept_in_a_file() {
    let client = aws_sdk_dynamodb::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_films(folder);
    let table = unique("films");
    create_table(&client, &table).await;
    run(folder, &format!("load --table {table} --if-absent films.jsonl"));
    let before = items(&client, &table).await;
    assert_eq!(before.len(), FILMS as usize);

    // The last ten are there already, and the next ten are not.
    let again: Vec<String> = (FILMS - 10..FILMS + 10)
        .map(|number| film(number).0.to_string())
        .collect();
    let worse = again.join("\n").replace("\"rating\":", "\"rating\":-");
    fs::write(folder.join("again.jsonl"), &worse).unwrap();
    run(
        folder,
        &format!("load --table {table} --if-absent --failed failed.jsonl again.jsonl"),
    );
    let after = items(&client, &table).await;
    assert_eq!(after.len(), FILMS as usize + 10);
    assert!(before.iter().all(|(year, film)| after[year] == *film));
    let kept = fs::read_to_string(folder.join("failed.jsonl")).unwrap();
    let expected: BTreeSet<&str> = worse.lines().take(10).collect();
    assert_eq!(kept.lines().collect::<BTreeSet<_>>(), expected);

    // Only a better rating replaces an item.
    let better = "attribute_not_exists(#year) OR rating < :rating";
    run_with(
        folder,
        &["load", "--table", &table, "--condition", better, "again.jsonl"],
    );
    assert_eq!(items(&client, &table).await, after);

    run_with(
        folder,
        &[
            "delete",
            "--table",
            &table,
            "--condition",
            "rating < :limit",
            "--value",
            ":limit=5",
            "films.jsonl",
        ],
    );
    let left = items(&client, &table).await;
    let is_high =
        |film: &HashMap<String, AttributeValue>| film["rating"].as_n().unwrap().parse::<f64>().unwrap() >= 5.0;
    let expected = after.into_iter().filter(|(year, film)| *year >= FILMS || is_high(film));
    assert_eq!(left, expected.collect());
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn updates_set_remove_and_add_what_the_records_say() {
    let client = aws_sdk_dynamodb::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_films(folder);
    let table = unique("films");
    create_table(&client, &table).await;
    run(folder, &format!("load --table {table} films.jsonl"));

    // Rows that have the keys, and a value for each item.
    let mut rows = "year,title,status\n".to_owned();
    for number in 0..FILMS {
        writeln!(rows, "{number},\"Film, \"\"{number}\"\"\",status {number}").unwrap();
    }
    fs::write(folder.join("status.csv"), rows).unwrap();
    let set = "#status = :status, checked = :yes";
    run_with(
        folder,
        &[
            "update",
            "--table",
            &table,
            "--set",
            set,
            "--remove",
            "info",
            "--value",
            ":yes=true",
            "status.csv",
        ],
    );
    for _ in 0..2 {
        run_with(
            folder,
            &[
                "update",
                "--table",
                &table,
                "--add",
                "#views :two",
                "--value",
                ":two=2",
                "films.jsonl",
            ],
        );
    }
    let items = items(&client, &table).await;
    assert_eq!(items.len(), FILMS as usize);
    for (year, film) in items {
        assert_eq!(film["status"], AttributeValue::S(format!("status {year}")));
        assert_eq!(film["checked"], AttributeValue::Bool(true));
        assert_eq!(film["views"], AttributeValue::N("4".to_owned()));
        assert!(!film.contains_key("info") && film.contains_key("rating"));
    }
}

/// Receives messages of a queue and deletes them, until there are so many different ones and the queue is empty. A topic passes
/// messages on after it has accepted them.
async fn bodies(client: &aws_sdk_sqs::Client, url: &str, expected: usize) -> BTreeSet<String> {
    let end = Instant::now() + LONGEST_WAIT;
    let mut received = BTreeSet::new();
    loop {
        let receive = client.receive_message().queue_url(url).max_number_of_messages(10);
        let messages = receive
            .wait_time_seconds(2)
            .send()
            .await
            .unwrap()
            .messages
            .unwrap_or_default();
        if messages.is_empty() {
            if received.len() >= expected || Instant::now() >= end {
                break;
            }
            continue;
        }
        let mut delete = client.delete_message_batch().queue_url(url);
        for (
            place,
            Message {
                body, receipt_handle, ..
            },
        ) in messages.into_iter().enumerate()
        {
            received.extend(body);
            let entry = DeleteMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .set_receipt_handle(receipt_handle);
            delete = delete.entries(entry.build().unwrap());
        }
        delete.send().await.unwrap();
    }
    received
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn every_line_of_a_file_reaches_the_queue() {
    let client = aws_sdk_sqs::Client::new(&emulators().await);
    let name = unique("lines");
    let created = client.create_queue().queue_name(&name).send().await.unwrap();
    let url = created.queue_url().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let lines: BTreeSet<String> = (0..LINES).map(|number| format!("line {number}")).collect();
    let text = lines.iter().cloned().collect::<Vec<_>>().join("\n");
    fs::write(folder.path().join("lines.txt"), text).unwrap();
    run(folder.path(), &format!("send --queue {name} lines.txt"));

    assert_eq!(bodies(&client, url, LINES).await, lines);
}

#[cfg(feature = "put")]
#[tokio::test]
#[ignore = "run by localstack/test"]
async fn every_line_of_a_file_is_in_the_stream() {
    let client = aws_sdk_kinesis::Client::new(&emulators().await);
    let stream = unique("lines");
    let create = client.create_stream().stream_name(&stream).shard_count(2);
    create.send().await.unwrap();
    let shards = || async {
        let list = client.list_shards().stream_name(&stream).send().await.unwrap();
        list.shards.unwrap_or_default()
    };
    while shards().await.len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let lines: BTreeSet<String> = (0..LINES).map(|number| format!("line {number}")).collect();
    let text = lines.iter().cloned().collect::<Vec<_>>().join("\n");
    fs::write(folder.path().join("lines.txt"), text).unwrap();
    // moto gives records of calls at the same time one number, and keeps one of them: see `localstack/README.md`.
    run(
        folder.path(),
        &format!("put --stream {stream} --concurrency 1 lines.txt"),
    );

    let mut stored = BTreeSet::new();
    for shard in shards().await {
        let call = client
            .get_shard_iterator()
            .stream_name(&stream)
            .shard_id(shard.shard_id());
        let from_the_first = aws_sdk_kinesis::types::ShardIteratorType::TrimHorizon;
        let mut next = call
            .shard_iterator_type(from_the_first)
            .send()
            .await
            .unwrap()
            .shard_iterator;
        // A page ends before the shard does; an empty one is behind the last record.
        while let Some(iterator) = next.take() {
            let page = client.get_records().shard_iterator(iterator).send().await.unwrap();
            if !page.records.is_empty() {
                next = page.next_shard_iterator;
            }
            let records = page.records.into_iter();
            stored.extend(records.map(|record| String::from_utf8(record.data.into_inner()).unwrap()));
        }
    }
    assert_eq!(stored, lines);
    client.delete_stream().stream_name(stream).send().await.unwrap();
}

#[cfg(feature = "put")]
#[tokio::test]
#[ignore = "run by localstack/test"]
async fn every_line_of_a_file_goes_through_the_topic() {
    const MESSAGES: usize = 1_000;
    let config = emulators().await;
    let queues = aws_sdk_sqs::Client::new(&config);
    let topics = aws_sdk_sns::Client::new(&config);
    let queue = queues
        .create_queue()
        .queue_name(unique("subscribed"))
        .send()
        .await
        .unwrap();
    let url = queue.queue_url().unwrap();
    let arn = aws_sdk_sqs::types::QueueAttributeName::QueueArn;
    let call = queues
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(arn.clone());
    let attributes = call.send().await.unwrap().attributes.unwrap();
    let topic = topics.create_topic().name(unique("topic")).send().await.unwrap();
    let topic = topic.topic_arn().unwrap();
    let subscribe = topics
        .subscribe()
        .topic_arn(topic)
        .protocol("sqs")
        .endpoint(&attributes[&arn]);
    subscribe.attributes("RawMessageDelivery", "true").send().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let messages: BTreeSet<String> = (0..MESSAGES).map(|number| format!("größe {number}")).collect();
    let line = |message: &String| json!({"message": message, "attributes": {"n": 1}}).to_string() + "\n";
    fs::write(
        folder.path().join("lines.jsonl"),
        messages.iter().map(line).collect::<String>(),
    )
    .unwrap();
    run(folder.path(), &format!("put --topic {topic} --format json lines.jsonl"));
    assert_eq!(bodies(&queues, url, MESSAGES).await, messages);
    topics.delete_topic().topic_arn(topic).send().await.unwrap();
}
