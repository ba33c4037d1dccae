//! A disk without space.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use aws_batch_simulator::{Faults, InjectedFault};
use tempfile::tempdir;

use crate::child::{Numbered, Running, Sync, Task};
use crate::served::Served;

/// The bytes of a message.
const PADDING: usize = 30_000;

/// The largest size of a file of the process, in the blocks of a shell: 17 MB or 35 MB, more than the reserve.
const BLOCKS: u32 = 34_000;

/// Failures that are waited for before the queue takes messages.
const FAILURES: usize = 20;

/// Messages that are waited for after that.
const LATER: usize = 300;

/// Runs this binary with files that cannot grow further. Without a limit if there is a small disk, which `SPOOL_SMALL_DISK` names: for
/// example one of 64 MiB, by `mount -t tmpfs -o size=64m tmpfs /mnt/small`.
fn limited(is_small: bool) -> Command {
    let this = env::current_exe().unwrap();
    if is_small {
        return Command::new(this);
    }
    let mut command = Command::new("sh");
    // A write beyond the limit is an error then, and no signal.
    let script = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(this);
    command
}

#[test]
fn a_spool_without_space_acknowledges_nothing_and_goes_on_when_the_queue_has_made_some() {
    let small = env::var_os("SPOOL_SMALL_DISK").map(PathBuf::from);
    let temporary = tempdir().unwrap();
    let folder = small
        .clone()
        .unwrap_or_else(|| temporary.path().to_owned())
        .join("spool");
    let served = Served::start(100_000.0, Faults::none().calls(1.0, InjectedFault::Throttle));
    let mut task = Task {
        folder: folder.clone(),
        endpoint: served.endpoint.clone(),
        queue_url: served.queue.url(),
        sync: Sync::EachGroup,
        window: 100,
        max_bytes: 1 << 30,
        padding: PADDING,
        first: Some(0),
    };
    let mut acknowledged = BTreeSet::new();
    let mut running = Running::start_by(limited(small.is_some()), &task);
    let (mut failures, mut words) = (0, String::new());
    while failures < FAILURES {
        let line = running.next("").unwrap();
        if let Some(number) = line.strip_prefix("spooled ") {
            acknowledged.insert(number.parse::<u64>().unwrap());
        } else if let Some(failure) = line.strip_prefix("failed ") {
            failures += 1;
            failure.clone_into(&mut words);
        }
    }
    assert!(
        words.contains(folder.to_str().unwrap()) && !words.contains("xxx"),
        "{words}"
    );
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
    served.queue.set_faults(Faults::none());
    // A file that may not grow stays so, while a disk has space again.
    for _ in 0..if small.is_some() { LATER } else { 0 } {
        acknowledged.insert(running.next("spooled").unwrap().parse().unwrap());
    }
    acknowledged.extend(
        running
            .kill("spooled")
            .iter()
            .filter_map(|number| number.parse::<u64>().ok()),
    );
    task.first = None;
    let mut running = Running::start(&task);
    assert_eq!(running.next("left").as_deref(), Some("0"));
    running.wait();
    let messages = served.queue.messages();
    let arrived: BTreeSet<u64> = messages
        .iter()
        .map(|message| serde_json::from_str::<Numbered>(&message.body).unwrap().number)
        .collect();
    let lost: Vec<_> = acknowledged.difference(&arrived).collect();
    assert!(lost.is_empty(), "of {} were lost: {lost:?}", acknowledged.len());
    println!(
        "{words}: {} acknowledged, {} arrived",
        acknowledged.len(),
        arrived.len()
    );
    fs::remove_dir_all(folder).unwrap();
}
