//! How much memory a load takes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::Stdio;

use aws_batch_simulator::{Capacity, KeyType, TableOptions};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::program::Folder;
use crate::served::Served;

/// Bytes of entries that are read ahead at most, once a partition key is hot.
const LOOK_AHEAD: u64 = 64 << 20;

/// What the program takes beside them at most.
const BESIDE: u64 = 64 << 20;

/// Items of a partition key, which stand one behind the other.
const ITEMS_OF_A_KEY: u64 = 500;

/// Attributes of an item beside its key.
const ATTRIBUTES: u64 = 20;

/// The peak of the memory of a process in bytes, as far as it has come.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn write_items(output: impl Write, items: u64, text: usize) {
    let mut output = BufWriter::new(output);
    let text = "x".repeat(text);
    for id in 0..items {
        write!(output, "{{\"key\":{},\"id\":{id}", id / ITEMS_OF_A_KEY).unwrap();
        for attribute in 0..ATTRIBUTES {
            write!(output, ",\"attribute_{attribute}\":\"{text}\"").unwrap();
        }
        output.write_all(b"}\n").unwrap();
    }
}

/// Loads for a while, and returns the largest number of entries that waited, and the peak of the memory.
fn load(folder: &Folder, served: &Served, input: &str) -> (u64, u64) {
    let load = format!(
        "load --table t --deadline 20s --json --every 100ms {} {input}",
        served.arguments()
    );
    let mut load = folder.command(&load);
    let mut child = load.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut waiting, mut most) = (0, 0);
    for event in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&event.unwrap()).unwrap();
        waiting = event["figures"]["waiting"].as_u64().unwrap_or_default().max(waiting);
        if event["event"] == "progress" {
            most = peak(child.id()).max(most);
        }
    }
    child.wait().unwrap();
    (waiting, most)
}

/// For the figures in `README.md`: `cargo test --release --package batch-deliver --test program -- --ignored --nocapture memory`
#[test]
#[ignore = "takes 2 min, and prints figures"]
fn memory_has_a_bound_while_a_load_looks_ahead() {
    let folder = Folder::new();
    // Small items reach the limit of entries, larger ones that of bytes.
    for text in [1, 100, 1_000] {
        let items = 2_000_000 / (10 + text as u64);
        write_items(File::create(folder.path("a.jsonl")).unwrap(), items, text);
        let packed = File::create(folder.path("a.gz")).unwrap();
        write_items(GzEncoder::new(packed, Compression::fast()), items, text);
        for input in ["a.jsonl", "a.gz"] {
            let table = TableOptions::key("key", KeyType::N).sort_key("id", KeyType::N);
            let table = table.capacity(Capacity::per_second(2_000.0)).partitions(4);
            let served = Served::with_table(table, 1.0);
            let (waiting, peak) = load(&folder, &served, input);
            println!(
                "{input}, {ATTRIBUTES} attributes of {text} B: {waiting} waited, {} MB at most",
                peak / 1_000_000
            );
            assert!(waiting > 1_000, "no partition key was hot");
            assert!(peak <= LOOK_AHEAD + BESIDE, "{peak}");
        }
    }
}
