//! Tables and queues as inputs.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};

use crate::{FILMS, bodies, create_table, emulators, items, output, run, run_with, unique, write_films};

/// Messages of a test.
const MESSAGES: usize = 300;

/// Groups of a FIFO queue.
const GROUPS: usize = 5;

/// What the program wrote, and its exit code.
fn ended(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = output(folder, arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn a_copy_is_equal_until_an_item_is_changed() {
    let client = aws_sdk_dynamodb::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_films(folder);
    let (from, to) = (unique("films"), unique("copies"));
    create_table(&client, &from).await;
    create_table(&client, &to).await;
    run(folder, &format!("load --table {from} films.jsonl"));
    let copy = format!("copy --from {from} --to {to} --resume state");
    run(folder, &copy);
    let copied = items(&client, &to).await;
    assert_eq!(copied.len(), FILMS as usize);
    assert_eq!(copied, items(&client, &from).await);
    let (code, found, words) = ended(folder, &["diff", &from, &to]);
    assert_eq!((code, found.as_str()), (Some(0), ""), "{words}");
    // All of it is settled: another run writes nothing.
    let arguments: Vec<&str> = copy.split_whitespace().collect();
    let (code, _, words) = ended(folder, &arguments);
    assert!(code == Some(0) && words.contains("0 delivered"), "{words}");

    let another = json!({"year": 7, "title": "Film, \"7\"", "rating": 0}).to_string();
    fs::write(folder.join("another.jsonl"), another).unwrap();
    run(folder, &format!("load --table {to} another.jsonl"));
    let (code, found, words) = ended(folder, &["diff", &from, &to, "--consistent"]);
    assert_eq!(code, Some(1), "{words}");
    let expected = json!({"difference": "different", "key": {"title": {"S": "Film, \"7\""}, "year": {"N": "7"}}});
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), expected);

    // What is there stays, or is replaced.
    run(folder, &format!("copy --from {from} --to {to} --if-absent"));
    assert_eq!(
        items(&client, &to).await[&7]["rating"],
        AttributeValue::N("0".to_owned())
    );
    run(folder, &format!("copy --from {from} --to {to} --overwrite"));
    run(folder, &format!("diff {from} {to}"));
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn the_items_that_match_are_copied_updated_and_deleted() {
    let client = aws_sdk_dynamodb::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_films(folder);
    let (from, to) = (unique("films"), unique("copies"));
    create_table(&client, &from).await;
    create_table(&client, &to).await;
    run(folder, &format!("load --table {from} films.jsonl"));
    let matching = ["--filter", "#year < :until", "--value", ":until=100"];
    let copy = [
        "copy",
        "--from",
        &from,
        "--to",
        &to,
        "--project",
        "rating",
        "--segments",
        "3",
    ];
    run_with(folder, &[&copy[..], &matching].concat());
    let copied = items(&client, &to).await;
    assert_eq!(copied.keys().copied().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    let is_projected =
        |film: &std::collections::HashMap<String, AttributeValue>| film.len() == 3 && !film.contains_key("info");
    assert!(copied.values().all(is_projected));

    let update = [
        "update",
        "--table",
        &to,
        "--where",
        "rating >= :good",
        "--set",
        "#class = :class",
        "--yes",
    ];
    run_with(
        folder,
        &[&update[..], &["--value", ":good=5", "--value", ":class=good"]].concat(),
    );
    let good = |year: u32| year % 100 >= 50;
    for (year, film) in items(&client, &to).await {
        assert_eq!(film.contains_key("class"), good(year), "{year}");
    }
    run_with(
        folder,
        &["delete", "--table", &to, "--where", "attribute_exists(#class)", "--yes"],
    );
    assert_eq!(
        items(&client, &to).await.into_keys().collect::<Vec<_>>(),
        (0..50).collect::<Vec<_>>()
    );
    run(folder, &format!("delete --table {to} --all --yes"));
    assert!(items(&client, &to).await.is_empty());
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn an_export_is_loaded_as_the_table_was() {
    let client = aws_sdk_dynamodb::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_films(folder);
    let (from, to) = (unique("films"), unique("copies"));
    create_table(&client, &from).await;
    create_table(&client, &to).await;
    run(folder, &format!("load --table {from} films.jsonl"));
    for (file, format) in [("out.jsonl.gz", "dynamodb"), ("out.jsonl", "json")] {
        run(folder, &format!("export --table {from} {file} --format {format}"));
        run(folder, &format!("load --table {to} {file}"));
        run(folder, &format!("diff {from} {to}"));
        run(folder, &format!("delete --table {to} --all --yes"));
    }
}

/// Creates a queue, and returns its URL.
async fn create_queue(client: &aws_sdk_sqs::Client, name: &str) -> String {
    let mut queue = client.create_queue().queue_name(name);
    if name.contains(".fifo") {
        queue = queue.attributes(QueueAttributeName::FifoQueue, "true");
    }
    queue.send().await.unwrap().queue_url.unwrap()
}

/// Sends numbered messages, in a FIFO queue with groups.
fn send(folder: &Path, queue: &str) -> BTreeSet<String> {
    let (mut lines, mut bodies) = (String::new(), BTreeSet::new());
    for number in 0..MESSAGES {
        let state = if number.is_multiple_of(3) { "failed" } else { "done" };
        let body = json!({"number": number, "order": {"state": state}}).to_string();
        let mut line =
            json!({"body": body, "attributes": {"state": state, "raw": {"type": "Binary", "value": "AQI="}}});
        if queue.contains(".fifo") {
            line["group_id"] = json!((number % GROUPS).to_string());
            line["dedup_id"] = json!(number.to_string());
        }
        writeln!(lines, "{line}").unwrap();
        bodies.insert(body);
    }
    fs::write(folder.join("messages.jsonl"), lines).unwrap();
    run(folder, &format!("send --queue {queue} --format json messages.jsonl"));
    bodies
}

fn number(body: &str) -> usize {
    let body: Value = serde_json::from_str(body).unwrap();
    usize::try_from(body["number"].as_u64().unwrap()).unwrap()
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn the_messages_that_match_are_moved_and_the_others_stay() {
    let client = aws_sdk_sqs::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (from, to) = (unique("from"), unique("to"));
    let from_url = create_queue(&client, &from).await;
    let to_url = create_queue(&client, &to).await;
    let sent = send(folder, &from);
    run(
        folder,
        &format!("move --from {from} --to {to} --attribute state=failed"),
    );
    let first = client
        .receive_message()
        .queue_url(&to_url)
        .message_attribute_names("All");
    let first = first.wait_time_seconds(2).visibility_timeout(0).send().await.unwrap();
    let attributes = first.messages()[0].message_attributes().unwrap();
    assert_eq!(attributes["state"].string_value(), Some("failed"));
    assert_eq!(attributes["raw"].binary_value().unwrap().as_ref(), [1, 2]);
    let moved = bodies(&client, &to_url, MESSAGES / 3).await;
    let left = bodies(&client, &from_url, MESSAGES - MESSAGES / 3).await;
    assert!(moved.iter().all(|body| number(body).is_multiple_of(3)), "{moved:?}");
    assert_eq!((moved.len(), left.len()), (MESSAGES / 3, MESSAGES - MESSAGES / 3));
    assert_eq!(moved.union(&left).cloned().collect::<BTreeSet<_>>(), sent);
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn groups_are_moved_in_their_order() {
    let client = aws_sdk_sqs::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (from, to) = (unique("from") + ".fifo", unique("to") + ".fifo");
    let from_url = create_queue(&client, &from).await;
    create_queue(&client, &to).await;
    send(folder, &from);
    run(folder, &format!("move --from {from} --to {to}"));
    assert!(bodies(&client, &from_url, 0).await.is_empty());
    run(folder, &format!("drain --queue {to} out.jsonl"));
    let lines = fs::read_to_string(folder.join("out.jsonl")).unwrap();
    let mut groups = vec![Vec::new(); GROUPS];
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let group: usize = line["group_id"].as_str().unwrap().parse().unwrap();
        groups[group].push(number(line["body"].as_str().unwrap()));
    }
    for (group, numbers) in groups.into_iter().enumerate() {
        assert_eq!(numbers, (group..MESSAGES).step_by(GROUPS).collect::<Vec<_>>());
    }
}

#[tokio::test]
#[ignore = "run by localstack/test"]
async fn dead_letters_go_back_and_a_queue_is_drained() {
    let client = aws_sdk_sqs::Client::new(&emulators().await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (queue, letters) = (unique("orders"), unique("letters"));
    let url = create_queue(&client, &queue).await;
    let letters_url = create_queue(&client, &letters).await;
    let arn = QueueAttributeName::QueueArn;
    let asked = client
        .get_queue_attributes()
        .queue_url(&letters_url)
        .attribute_names(arn.clone());
    let arn = asked.send().await.unwrap().attributes.unwrap().remove(&arn).unwrap();
    let policy = json!({"deadLetterTargetArn": arn, "maxReceiveCount": "3"}).to_string();
    let change = client.set_queue_attributes().queue_url(&url);
    change
        .attributes(QueueAttributeName::RedrivePolicy, policy)
        .send()
        .await
        .unwrap();
    let sent = send(folder, &letters);
    run(folder, &format!("redrive --queue {letters} --max 100"));
    run(folder, &format!("redrive --queue {letters}"));
    run(folder, &format!("drain --queue {queue} out.jsonl"));
    let lines = fs::read_to_string(folder.join("out.jsonl")).unwrap();
    let body = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["body"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(lines.lines().map(body).collect::<BTreeSet<_>>(), sent);
    assert_eq!(lines.lines().count(), MESSAGES);
    assert!(bodies(&client, &url, 0).await.is_empty() && bodies(&client, &letters_url, 0).await.is_empty());
}
