//! Counts instructions, which do not depend on other load on the machine.

use std::io;
use std::process::Command;

use crate::SIDES;
use crate::side::{Load, Senders, Service, Side};
use crate::turns::failed;

/// Entries of two runs. Only their difference counts, so that the start of the process does not.
const ENTRIES: [usize; 2] = [2_500, 7_500];

/// What a process does with the entries.
const MADE: &str = "made";
const SENT: &str = "sent";

/// Creates the entries, and sends them on one thread, so that no thread spins while another one works.
pub(crate) fn once(service: Service, side: Side, what: &str, entries: usize) {
    let load = Load::new(service, side, entries);
    if what == MADE {
        // Sent entries are dropped as well, which is part of sending.
        return std::mem::forget(load);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(load.send(Senders::new()));
}

/// Prints a table. Returns the crate's instructions as a multiple of the bare SDK's.
pub(crate) fn compare(service: Service) -> io::Result<f64> {
    println!("{service:?}: instructions for each entry, without creating the entries");
    let mut counted = [0.0; SIDES.len()];
    for (count, side) in counted.iter_mut().zip(SIDES) {
        *count = per_entry(service, side, SENT)? - per_entry(service, side, MADE)?;
        println!("  {:5}  {count:>9.0}", format!("{side:?}"));
    }
    let ratio = counted[1] / counted[0];
    println!("  instructions of the crate: {ratio:.3} of the bare SDK's");
    Ok(ratio)
}

fn per_entry(service: Service, side: Side, what: &str) -> io::Result<f64> {
    let [few, many] = ENTRIES.map(|entries| run(service, side, what, entries));
    Ok((many? - few?) / (ENTRIES[1] - ENTRIES[0]) as f64)
}

/// The instructions of a process.
fn run(service: Service, side: Side, what: &str, entries: usize) -> io::Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--entries", &entries.to_string()])
        .args(["--once", &format!("{service:?}"), &format!("{side:?}"), what])
        .output()?;
    if !output.status.success() {
        return Err(failed(&output));
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = words.lines().find_map(|line| line.split_once("Collected :"));
    collected
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| io::Error::other(words))
}
