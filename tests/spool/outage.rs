//! An outage of an hour.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{env, fs};

use aws_batch_delivery::spool::SpoolOptions;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use futures::future::join_all;
use tempfile::tempdir;
use tokio::time::{Instant, sleep};

/// How many entries are handed over during the outage, unless `SPOOL_ENTRIES` says otherwise.
const ENTRIES: usize = 20_000;

/// All of them take more than the memory that is allowed.
const LENGTH: usize = 4_000;

/// The memory that the whole process may take more than before.
const MEMORY: u64 = 64 << 20;

/// Fails while there is an outage, and otherwise takes 16 calls of 25 texts each 25 ms, 16,000 texts a second.
struct Service {
    fails: Arc<AtomicBool>,
}

impl BatchTarget for Service {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(25, 1 << 20)
    }

    fn check(&self, text: &String) -> Result<usize, InvalidEntry> {
        Ok(text.len())
    }

    async fn send(&self, texts: &[String]) -> Answer {
        sleep(Duration::from_millis(25)).await;
        if self.fails.load(Relaxed) {
            let failed = Verdict::Rejected(Rejection::Transient, Fault::new("InternalFailure"));
            return Answer::Whole(failed);
        }
        Answer::Each(vec![Verdict::Accepted; texts.len()])
    }
}

/// What the process has in memory now, and had at most.
fn memory() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes << 10)
    };
    Some((of("VmRSS:")?, of("VmHWM:")?))
}

/// In a process of its own, whose memory no other test takes.
#[test]
fn an_outage_of_an_hour_takes_no_memory_and_loses_nothing() {
    let arguments = ["--exact", "outage::passes", "--nocapture", "--ignored"];
    let ended = Command::new(env::current_exe().unwrap())
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    print!("{said}");
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("delivered in"), "{said}");
}

#[tokio::test(start_paused = true)]
#[ignore = "a process of its own runs it"]
async fn passes() {
    const TASKS: usize = 100;
    let entries = env::var("SPOOL_ENTRIES").map_or(ENTRIES, |entries| entries.parse().unwrap());
    let folder = tempdir().unwrap();
    let fails = Arc::new(AtomicBool::new(true));
    let service = Service {
        fails: Arc::clone(&fails),
    };
    let before = memory();
    let options = SpoolOptions::at(folder.path()).max_bytes(8 << 30);
    let delivery = Delivery::new(service).options(DeliveryOptions::default().read_ahead_bytes(8 << 20));
    let spool = delivery.spooled(options).await.unwrap();
    let began = Instant::now();
    // Many tasks, so that groups are large.
    let tasks = (0..TASKS).map(|task| {
        let spool = spool.clone();
        async move {
            for number in (task..entries).step_by(TASKS) {
                spool.enqueue(&format!("{number:0LENGTH$}")).await.unwrap();
            }
        }
    });
    join_all(tasks).await;
    let outage = Duration::from_hours(1).saturating_sub(began.elapsed());
    sleep(outage).await;
    assert_eq!(spool.figures().await.unwrap().entries, entries as u64);
    fails.store(false, Relaxed);
    let back = Instant::now();
    spool.flush().await.unwrap();
    let took = back.elapsed();
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.left), (entries as u64, 0));
    println!(
        "{entries} entries: delivered in {} s of the clock of the test",
        took.as_secs()
    );
    assert!((ENTRIES * LENGTH) as u64 > MEMORY);
    if let (Some((before, _)), Some((_, most))) = (before, memory()) {
        let more = most.saturating_sub(before);
        println!("{} MiB more memory at most", more >> 20);
        assert!(more < MEMORY, "{more} bytes more");
    }
}
