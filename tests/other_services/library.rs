//! Aggregates between this crate and AWS's library for Python, in both directions. `localstack/aggregation` runs it.

use std::io::Write;
use std::process::{Command, Stdio};

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::kinesis::{KinesisStream, deaggregate};
use aws_batch_simulator::StreamOptions;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use aws_smithy_async::rt::sleep::TokioSleep;
use serde_json::{Value, json};

use crate::{client, simulator};

/// The Python that has the library.
const PYTHON: &str = "AWS_BATCH_DELIVERY_PYTHON";

/// Partition key, explicit hash key, data.
type User = (String, Option<String>, Vec<u8>);

/// What the library makes of these lines of JSON.
fn library(action: &str, lines: impl Iterator<Item = Value>) -> Vec<Value> {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| panic!("{PYTHON} is not set: run localstack/aggregation"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/localstack/aggregation.py");
    let mut process = Command::new(python)
        .args([script, action])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = lines.flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    // It reads all of it before it writes anything.
    process.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn hexadecimal(data: &[u8]) -> String {
    let digits = data.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits
        .map(|digit| char::from_digit(u32::from(digit), 16).unwrap())
        .collect()
}

fn bytes(hexadecimal: &Value) -> Vec<u8> {
    let hexadecimal = hexadecimal.as_str().unwrap();
    let digits = |place| u8::from_str_radix(&hexadecimal[place..place + 2], 16).unwrap();
    (0..hexadecimal.len()).step_by(2).map(digits).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// User records of all kinds: without data, with bytes that are no text, with keys of several bytes for a character, and with data
/// that looks like an aggregate. The library takes the first explicit hash key of an aggregate for that of records without one, so
/// all have one or none has.
fn users(explicit: bool) -> Vec<User> {
    let user = |number: usize| {
        let key = match number % 4 {
            0 => format!("key {number}"),
            1 => "é".repeat(1 + number % 256),
            _ => format!("key {}", number % 100),
        };
        let hash_key = explicit.then(|| (u128::MAX / 5_000 * number as u128).to_string());
        let data: Vec<u8> = match number % 50 {
            0 => Vec::new(),
            1 => [&[0xF3, 0x89, 0x9A, 0xC2][..], &[0; 30]].concat(),
            2 => format!("{number:030000}").into_bytes(),
            3 => vec![0xFF; number],
            _ => number.to_string().repeat(1 + number % 40).into_bytes(),
        };
        (key, hash_key, data)
    };
    (0..5_000).map(user).collect()
}

#[tokio::test(start_paused = true)]
#[ignore = "needs aws-kinesis-agg for Python: localstack/aggregation"]
async fn the_library_for_python_reads_all_that_is_aggregated() {
    for (explicit, in_order) in [(false, false), (true, false), (false, true)] {
        let simulator = simulator();
        let stream = simulator.stream("orders", StreamOptions::shards(4));
        let sent = users(explicit);
        let records = sent.clone().into_iter().map(|(key, hash_key, data)| {
            let record = PutRecordsRequestEntry::builder().partition_key(key);
            let record = record.set_explicit_hash_key(hash_key).data(Blob::new(data));
            record.build().unwrap()
        });
        let mut delivery = Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders");
        delivery = delivery.map_target(KinesisStream::aggregated);
        if in_order {
            delivery = delivery.map_target(KinesisStream::ordered);
        }
        let report = delivery.deliver(records).await.unwrap();
        assert_eq!(report.delivered, 5_000);
        let stored = stream.records();
        assert!(stored.len() < 1_000, "{} Kinesis records", stored.len());
        let lines = stored
            .iter()
            .map(|record| json!({"key": record.partition_key, "data": hexadecimal(&record.data)}));
        let read = library("read", lines);
        // What was put by itself has its explicit hash key outside of its data, and the simulator keeps none.
        let is_alone = |user: &Value| user["is_alone"] == true;
        let mut seen: Vec<User> = Vec::new();
        for user in &read {
            let key = text(&user["key"]).unwrap();
            let data = bytes(&user["data"]);
            // Those that are put by themselves have different data.
            let of_sent = || sent.iter().find(|sent| sent.0 == key && sent.2 == data).unwrap();
            let hash_key = if is_alone(user) {
                of_sent().1.clone()
            } else {
                text(&user["hash_key"])
            };
            seen.push((key, hash_key, data));
        }
        assert!(read.iter().filter(|user| !is_alone(user)).count() > 4_500);
        let mut expected = sent;
        seen.sort_unstable();
        expected.sort_unstable();
        assert!(seen == expected, "what the library reads is not what was put");
    }
}

#[test]
#[ignore = "needs aws-kinesis-agg for Python: localstack/aggregation"]
fn what_the_library_for_python_aggregates_is_read() {
    for explicit in [false, true] {
        let mut sent = users(explicit);
        // The library refuses what is larger than its aggregates.
        sent.retain(|(_, _, data)| data.len() < 20_000);
        let lines = sent
            .iter()
            .map(|(key, hash_key, data)| json!({"key": key, "hash_key": hash_key, "data": hexadecimal(data)}));
        let aggregates = library("write", lines);
        assert!(aggregates.len() > 10);
        let users = aggregates
            .iter()
            .flat_map(|aggregate| deaggregate(&bytes(&aggregate["data"])).expect("it is an aggregate"));
        let read: Vec<User> = users
            .map(|user| {
                (
                    user.partition_key.unwrap(),
                    user.explicit_hash_key,
                    user.data.into_inner(),
                )
            })
            .collect();
        assert!(read == sent, "what is read is not what the library has put in");
    }
}
