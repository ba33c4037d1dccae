//! Folders of spools that are looked into and emptied.

use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;
#[cfg(unix)]
use std::sync::LazyLock;
use std::time::Duration;

use aws_batch_delivery::spool::{Spool, SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use serde_json::{Value, json};

use crate::program::Folder;
#[cfg(target_os = "linux")]
use crate::program::Run;

/// Refuses the entries whose number is odd, and has no queue for the others.
struct Nowhere;

impl BatchTarget for Nowhere {
    type Entry = Value;

    fn limits(&self) -> Limits {
        Limits::new(1, 1_000)
    }

    fn check(&self, entry: &Value) -> Result<usize, InvalidEntry> {
        Ok(entry.to_string().len())
    }

    async fn send(&self, entries: &[Value]) -> Answer {
        match entries[0]["id"].as_u64() {
            Some(odd) if odd % 2 == 1 => Answer::Each(vec![Verdict::Refused(Fault::new("odd"))]),
            _ => Answer::Stop(Fault::new("no such queue")),
        }
    }
}

/// A spool with so many entries, of which the odd ones are refused.
async fn spooled(folder: &Path, entries: u64) -> Spool<Value> {
    let options = SpoolOptions::at(folder).sync(SyncPolicy::Never);
    let spool = Delivery::new(Nowhere).spooled(options).await.unwrap();
    for id in (0..entries)
        .filter(|id| id % 2 == 1)
        .chain((0..entries).filter(|id| id % 2 == 0))
    {
        spool.enqueue(&json!({ "id": id, "name": "secret" })).await.unwrap();
    }
    while spool.figures().await.unwrap().refused < entries / 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    spool
}

/// The entries of a spool that is copied, of which every second one waits.
#[cfg(unix)]
pub(crate) const COPIED: u64 = 5_000;

/// A spool in this folder, as all others of it: to make one takes longer than to copy it.
#[cfg(unix)]
pub(crate) fn copy_spooled(folder: &Path) {
    static MADE: LazyLock<Folder> = LazyLock::new(|| {
        let made = Folder::new();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async { spooled(&made.path("orders"), COPIED).await.close().await.unwrap() });
        made
    });
    std::fs::create_dir(folder).unwrap();
    for file in std::fs::read_dir(MADE.path("orders")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
}

fn ids(lines: &str) -> Vec<u64> {
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap();
    lines.lines().map(id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spool_is_looked_into_and_emptied_into_files_that_can_be_loaded() {
    let folder = Folder::new();
    let spool = spooled(&folder.path("orders"), 5_000).await;
    // It is in use.
    let shown = folder.run("spool orders");
    shown.expect(0, "2,500 entries to deliver, the oldest of ");
    shown.expect(0, "2,500 refused");
    folder.run("spool orders --to left.jsonl").expect(2, "is in use");
    spool.close().await.unwrap();

    folder
        .run("spool orders --to left.jsonl")
        .expect(0, "2,500 entries moved from orders to left.jsonl");
    assert_eq!(
        ids(&folder.read("left.jsonl")),
        (0..5_000).step_by(2).collect::<Vec<_>>()
    );
    let refused = folder.run("spool orders --refused --to refused.jsonl");
    refused.expect(0, "2,500 × refused: odd");
    assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    assert_eq!(
        ids(&folder.read("refused.jsonl")),
        (1..5_000).step_by(2).collect::<Vec<_>>()
    );
    let shown = folder.run("spool --json orders");
    let report: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&report["entries"], &report["refused"]), (&json!(0), &json!(0)));
    folder.load("left.jsonl").expect(0, "2,500 delivered");
    // The file is continued.
    folder.run("spool orders --to left.jsonl").expect(0, "0 entries moved");
    assert_eq!(ids(&folder.read("left.jsonl")).len(), 2_500);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_stay_in_the_spool_if_their_file_cannot_be_written() {
    let folder = Folder::new();
    spooled(&folder.path("orders"), 10).await.close().await.unwrap();
    folder
        .run("spool orders --to missing/file")
        .expect(2, "missing/file cannot be written");
    #[cfg(target_os = "linux")]
    folder
        .run("spool orders --to /dev/full")
        .expect(1, "/dev/full cannot be written");
    folder.run("spool orders").expect(0, "5 entries to deliver");
    let written = folder.run("spool orders --to -");
    written.expect(0, "5 entries moved");
    assert_eq!(ids(&written.stdout), [0, 2, 4, 6, 8]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_of_a_damaged_spool_is_moved_to_files() {
    let folder = Folder::new();
    spooled(&folder.path("orders"), 5_000).await.close().await.unwrap();
    let file = folder.path("orders/spool.sqlite3");
    let mut bytes = std::fs::read(&file).unwrap();
    // One entry of those that wait is another one.
    let place = bytes.windows(10).position(|text| text == b"\"id\":1000,").unwrap();
    bytes[place + 5] = b'7';
    std::fs::write(&file, bytes).unwrap();

    folder
        .run("spool orders --to left.jsonl")
        .expect(1, "--salvage --to FILE");
    let begun = ids(&folder.read("left.jsonl"));
    assert!(begun.iter().all(|id| *id < 1_000), "{begun:?}");
    folder.run("spool orders --salvage --to -").expect(2, "name a file");
    let salvaged = folder.run("spool orders --salvage --to left.jsonl");
    salvaged.expect(1, "1 entry could not be read");
    salvaged.expect(1, "2,500 entries refused moved to left.jsonl.refused");
    let left: Vec<_> = (0..5_000).step_by(2).filter(|id| *id != 1_000).collect();
    assert_eq!(ids(&folder.read("left.jsonl")), left);
    assert_eq!(
        ids(&folder.read("left.jsonl.refused")),
        (1..5_000).step_by(2).collect::<Vec<_>>()
    );
    assert!(folder.path("orders/spool.sqlite3.damaged").exists());
    folder.run("spool orders").expect(2, "has no spool");
}

/// A limit for files stands for a disk that becomes full in the middle of a line.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_found_no_space_is_taken_back_and_moved_later() {
    // Larger than the files of the spool, which have the same limit.
    let earlier = "\"earlier\"\n".repeat(400_000);
    let kilobytes = earlier.len() / 1_024 + 8;
    let folder = Folder::new();
    folder.write("left.jsonl", &earlier);
    spooled(&folder.path("orders"), 1_000).await.close().await.unwrap();
    let program = env!("CARGO_BIN_EXE_batch-deliver");
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec {program} spool orders --to left.jsonl");
    let limited = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path(""))
        .output();
    Run::from(limited.unwrap()).expect(1, "left.jsonl cannot be written");
    assert!(
        folder.read("left.jsonl") == earlier,
        "what the spool still has is in the file"
    );
    folder
        .run("spool orders --to left.jsonl")
        .expect(0, "500 entries moved");
    let moved = folder.read("left.jsonl");
    assert_eq!(
        ids(moved.strip_prefix(&earlier).unwrap()),
        (0..1_000).step_by(2).collect::<Vec<_>>()
    );
}

#[test]
fn a_folder_without_a_spool_is_named_and_not_changed() {
    let folder = Folder::new();
    folder.run("spool nowhere").expect(2, "nowhere has no spool");
    folder.run("spool nowhere --to file").expect(2, "nowhere has no spool");
    assert!(!folder.path("nowhere").exists());
    folder.run("spool nowhere --refused").expect(2, "--to");
}
