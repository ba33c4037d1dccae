//! The peak memory of a process.

use std::process::Command;

/// The limit, above a process that delivers nothing.
const MOST_KIB: u64 = 96 * 1024;

/// The limit for ten times the entries, as a multiple.
const GROWTH: f64 = 1.10;

/// Prints a line for each work. Returns the targets that were missed.
pub(crate) fn measure() -> Vec<String> {
    let mut missed = Vec::new();
    let bare = run("stream", 0);
    let million = run("stream", 1_000_000);
    let ten_million = run("stream", 10_000_000);
    let producers = run("producers", 1_000_000);
    for (work, peak) in [
        ("10,000,000 of a stream", ten_million),
        ("1,000,000 of 1,000 producers", producers),
    ] {
        let over = peak.saturating_sub(bare);
        if over > MOST_KIB {
            missed.push(format!("{work}: {over} KiB over the bare process, of {MOST_KIB}"));
        }
    }
    let growth = ten_million as f64 / million as f64;
    println!("ten times the entries need {growth:.3} of the memory");
    if growth > GROWTH {
        missed.push(format!(
            "ten times the entries need {growth:.3} of the memory, of {GROWTH}"
        ));
    }
    missed
}

/// The limit of a delivery that reads ahead, above a process that delivers nothing: 64 MiB of entries plus 16 MiB.
const MOST_KIB_AHEAD: u64 = (64 + 16) * 1024;

/// As [`measure`], of streams one of whose keys is hot at first: small items, of which 30,000 are read ahead, and large
/// ones, of which 64 MiB are.
pub(crate) fn measure_ahead(entries: usize) -> Vec<String> {
    let bare = run("ahead", 0);
    let mut missed = Vec::new();
    for (work, entries) in [("ahead", entries), ("ahead-large", entries / 10)] {
        let over = run(work, entries).saturating_sub(bare);
        println!("{work}: {over} KiB over the bare process, of {MOST_KIB_AHEAD}");
        if over > MOST_KIB_AHEAD {
            missed.push(format!("{work}: {over} KiB over the bare process, of {MOST_KIB_AHEAD}"));
        }
    }
    missed
}

/// The peak of a process that does this work, in KiB.
fn run(work: &str, entries: usize) -> u64 {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--once", work, &entries.to_string()])
        .output()
        .expect("this program runs");
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = words.split_whitespace();
    let (Some(peak), Some(seconds)) = (words.next().and_then(|peak| peak.parse().ok()), words.next()) else {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    };
    let ahead: Vec<&str> = words.collect();
    println!(
        "{work:12} {entries:>10} entries: peak {peak} KiB, {seconds} s {}",
        ahead.join(" ")
    );
    peak
}
