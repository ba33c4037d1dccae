//! What stands in checkpoints, dead letters and exports.

use std::collections::BTreeMap;

use aws_batch_simulator::Record;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

/// A checkpoint of another load, which has settled more records than any shard has.
pub(crate) fn stale() -> Vec<u8> {
    let lines = [
        json!({
            "batch_deliver": 3, "program": env!("CARGO_PKG_VERSION"), "settings": {}, "unsure": 100,
            "inputs": [{"place": "s3://b/in/0.jsonl", "bytes": 1, "version": "another"}],
        }),
        json!({"settled": [[0, 1_000_000]]}),
        json!("begun"),
    ];
    let lines = lines.map(|line| format!("{:08x} {line}\n", crc32fast::hash(line.to_string().as_bytes())));
    lines.concat().into_bytes()
}

/// The lines of a checkpoint, each behind its checksum.
fn lines(checkpoint: &[u8]) -> impl Iterator<Item = Value> {
    let lines = checkpoint.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| {
        let json = line.get(9..).unwrap_or_default();
        serde_json::from_slice(json).unwrap_or_else(|_| panic!("{} is no line", String::from_utf8_lossy(line)))
    })
}

/// The name of the checkpoint of a shard.
pub(crate) fn checkpoint(planned: &Value) -> String {
    let safe = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => character,
        _ => '+',
    };
    let input: String = planned["input"].as_str().unwrap().chars().map(safe).collect();
    let execution = planned["execution"].as_str().unwrap();
    format!("{execution}@{input}@{}-{}.state", planned["begin"], planned["end"])
}

/// The runs of records that a checkpoint of lines has settled; `None` if it has settled none.
pub(crate) fn settled_runs(checkpoint: &[u8]) -> Option<Vec<(usize, usize)>> {
    let runs: Vec<Vec<(usize, usize)>> = lines(checkpoint)
        .filter_map(|line| serde_json::from_value(line.get("settled")?.clone()).ok())
        .collect();
    (!runs.is_empty()).then(|| runs.concat())
}

/// How far a segment is settled.
pub(crate) enum Position {
    Start,
    /// After the item with this id.
    After(u32),
    End,
}

/// How far a checkpoint has settled its segment, in the form in which positions are serialized.
pub(crate) fn position(checkpoint: &[u8]) -> Option<Position> {
    let checkpoint = lines(checkpoint).next()?;
    if checkpoint["position"].is_null() {
        return Some(Position::Start);
    }
    let places = checkpoint["position"].as_array().unwrap();
    let [place] = &places[..] else {
        panic!("a checkpoint has {} segments", places.len());
    };
    match place.as_str() {
        Some("start") => Some(Position::Start),
        Some("end") => Some(Position::End),
        _ => {
            let id = place["after"]["id"]["N"].as_str().and_then(|id| id.parse().ok());
            Some(Position::After(id.unwrap_or_else(|| panic!("{place} is no position"))))
        }
    }
}

/// The number of what the simulator has applied.
pub(crate) fn number_of_record(record: &Record) -> Option<u32> {
    let entry = record.entry();
    entry["MessageBody"]
        .as_str()
        .and_then(|body| number(&serde_json::from_str(body).ok()?))
        .or_else(|| number(&entry))
}

/// The number of an entry, as JSON, as DynamoDB JSON or as a message.
pub(crate) fn number(entry: &Value) -> Option<u32> {
    if let Some(body) = entry["body"].as_str() {
        return number(&serde_json::from_str(body).ok()?);
    }
    let entry = entry.get("Item").unwrap_or(entry);
    let number = &entry["number"];
    let typed = number["N"].as_str().and_then(|number| number.parse().ok());
    typed.or_else(|| u32::try_from(number.as_u64()?).ok())
}

/// The numbers of entries, one on each line.
pub(crate) fn numbers(lines: &[u8]) -> Vec<u32> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| number(&serde_json::from_slice(line).ok()?))
        .collect()
}

/// The numbers of the exported items. An object that is being written in parts is not complete.
pub(crate) fn exported(objects: &BTreeMap<String, Vec<u8>>) -> Vec<u32> {
    let parts = objects
        .iter()
        .filter(|(key, _)| key.starts_with("out/") && !key.contains("/parts/"));
    let unpacked = parts.map(|(_, content)| {
        let mut lines = Vec::new();
        std::io::Read::read_to_end(&mut MultiGzDecoder::new(&content[..]), &mut lines).unwrap();
        lines
    });
    unpacked.flat_map(|lines| numbers(&lines)).collect()
}
