//! How much memory a load takes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::Stdio;

use aws_batch_simulator::{KeyType, TableOptions, Throughput};
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

/// Bytes of an input: more than may be read ahead.
const INPUT: usize = 150_000_000;

/// The peak of the memory of a process in bytes, as far as it has come.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Items of so many attributes of so many bytes beside the key.
fn write_items(output: impl Write, attributes: usize, text: usize) {
    let mut output = BufWriter::new(output);
    let items = INPUT / (attributes * (text + 20));
    let text = "x".repeat(text);
    for id in 0..items as u64 {
        write!(output, "{{\"key\":{},\"id\":{id}", id / ITEMS_OF_A_KEY).unwrap();
        for attribute in 0..attributes {
            write!(output, ",\"attribute_{attribute}\":\"{text}\"").unwrap();
        }
        output.write_all(b"}\n").unwrap();
    }
}

/// Loads for a while, and returns the largest number of entries that were read ahead and of their bytes, and the peak of the memory.
fn load(folder: &Folder, served: &Served, input: &str) -> [u64; 3] {
    let load = format!(
        "load --table items --deadline 20s --json --every 100ms {} {input}",
        served.arguments()
    );
    let mut load = folder.command(&load);
    let mut child = load.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let [mut entries, mut bytes, mut most] = [0; 3];
    for event in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&event.unwrap()).unwrap();
        let figure = |name: &str| event["figures"][name].as_u64().unwrap_or_default();
        entries = figure("read_ahead").max(entries);
        bytes = figure("read_ahead_bytes").max(bytes);
        if event["event"] == "progress" {
            most = peak(child.id()).max(most);
        }
    }
    child.wait().unwrap();
    [entries, bytes, most]
}

/// For the figures in `docs/figures.md`: `cargo test --release --package batch-deliver --test program -- --ignored --nocapture memory`
#[test]
#[ignore = "takes 2 min, and prints figures"]
fn memory_has_a_bound_while_a_load_looks_ahead() {
    let folder = Folder::new();
    // Small items reach the limit of entries, larger ones that of bytes, and many small attributes take most beside their bytes.
    for (attributes, text) in [(20, 1), (20, 100), (20, 1_000), (40, 13), (1, 100_000)] {
        write_items(File::create(folder.path("a.jsonl")).unwrap(), attributes, text);
        let packed = File::create(folder.path("a.gz")).unwrap();
        write_items(GzEncoder::new(packed, Compression::fast()), attributes, text);
        for input in ["a.jsonl", "a.gz"] {
            let table = TableOptions::key("key", KeyType::N).sort_key("id", KeyType::N);
            let table = table.throughput(Throughput::provisioned(2_000.0).partitions(4));
            let served = Served::with_table(table, 1.0);
            let [entries, bytes, peak] = load(&folder, &served, input);
            println!(
                "{input}, {attributes} attributes of {text} B: {entries} read ahead, {} of their MB, {} MB in all at most",
                bytes / 1_000_000,
                peak / 1_000_000
            );
            assert!(entries > 500, "no partition key was hot");
            assert!(peak <= LOOK_AHEAD + BESIDE, "{peak}");
        }
    }
}
