//! How fast entries are handed over: to a spool with each policy, and to a producer beside it.
//!
//! ```text
//! cargo bench --features spool --bench spool                  # 200,000 entries
//! cargo bench --features spool --bench spool -- --entries 1000000 --tasks 1000
//! ```
//!
//! The target takes everything at once, so that only the hand-over counts. `delivered` is the pace from the first entry to the end of
//! the last one, after the flush.

use std::time::{Duration, Instant};

use aws_batch_delivery::spool::{SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use clap::Parser;
use futures::future::join_all;

/// The bytes of an entry.
const LENGTH: usize = 200;

#[derive(Parser)]
struct Arguments {
    /// Entries in all
    #[arg(long, default_value_t = 200_000)]
    entries: usize,
    /// Tasks that hand them over, each one entry after another
    #[arg(long, default_value_t = 500)]
    tasks: usize,
    /// Where the folders are: a device that syncs as that of the service does
    #[arg(long, default_value = "target")]
    folder: String,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// Takes 500 entries in a call.
struct Sink;

impl BatchTarget for Sink {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(500, 1 << 20)
    }

    fn check(&self, entry: &String) -> Result<usize, InvalidEntry> {
        Ok(entry.len())
    }

    async fn send(&self, entries: &[String]) -> Answer {
        Answer::Each(vec![Verdict::Accepted; entries.len()])
    }
}

/// Runs so many tasks that hand over so many entries together, and then waits for the end of all. Returns both times.
async fn timed<F, E>(arguments: &Arguments, enqueue: impl Fn(String) -> F, flush: E) -> (Duration, Duration)
where
    F: Future<Output = ()>,
    E: Future<Output = ()>,
{
    let began = Instant::now();
    let enqueue = &enqueue;
    let tasks = (0..arguments.tasks).map(|task| async move {
        for number in (task..arguments.entries).step_by(arguments.tasks) {
            enqueue(format!("{number:0LENGTH$}")).await;
        }
    });
    join_all(tasks).await;
    let handed_over = began.elapsed();
    flush.await;
    (handed_over, began.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
fn print(name: &str, entries: usize, (handed_over, delivered): (Duration, Duration)) {
    let rate = |time: Duration| entries as f64 / time.as_secs_f64();
    println!(
        "{name:<22} {:>10.0} entries/s handed over   {:>10.0} entries/s delivered",
        rate(handed_over),
        rate(delivered)
    );
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments = Arguments::parse();
    let entries = arguments.entries;
    println!("{entries} entries of {LENGTH} bytes, {} tasks", arguments.tasks);
    let producer = Delivery::new(Sink).producer();
    let enqueue = |entry| {
        let producer = producer.clone();
        async move { drop(producer.enqueue(entry).await) }
    };
    print(
        "producer, in memory",
        entries,
        timed(&arguments, enqueue, producer.flush()).await,
    );
    producer.close().await?;
    let every = |milliseconds| SyncPolicy::Every(Duration::from_millis(milliseconds));
    for (name, policy) in [
        ("spool, never", SyncPolicy::Never),
        ("spool, each 10 ms", every(10)),
        ("spool, each group", SyncPolicy::EachGroup),
    ] {
        let folder = tempfile::tempdir_in(&arguments.folder)?;
        let options = SpoolOptions::at(folder.path()).sync(policy);
        let spool = Delivery::new(Sink).spooled(options).await?;
        let enqueue = |entry| {
            let spool = spool.clone();
            async move {
                if let Err(error) = spool.enqueue(&entry).await {
                    eprintln!("{error}");
                }
            }
        };
        let times = timed(&arguments, enqueue, async { spool.flush().await.unwrap() }).await;
        let report = spool.close().await?;
        assert_eq!(report.report.delivered, entries as u64, "{report}");
        print(name, entries, times);
    }
    Ok(())
}
