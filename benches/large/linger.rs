//! The size and the latency of a producer's calls, in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

/// Entries that all tasks together send per second.
const RATE: u32 = 5_000;
const TASKS: u32 = 200;
const LINGER: Duration = Duration::from_millis(10);
const ROUND_TRIP: Duration = Duration::from_millis(20);
const RUN: Duration = Duration::from_secs(20);

/// The target for the mean entries of a call, which has room for ten.
const FILLED: f64 = 9.0;

/// A queue with a round trip.
struct Distant(Arc<AtomicUsize>);

impl BatchTarget for Distant {
    type Entry = u32;

    fn limits(&self) -> Limits {
        Limits::new(10, usize::MAX)
    }

    fn check(&self, _: &u32) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[u32]) -> Answer {
        self.0.fetch_add(1, Relaxed);
        sleep(ROUND_TRIP).await;
        Answer::Each(vec![Verdict::Accepted; chunk.len()])
    }
}

/// Prints the figures. Returns the targets that were missed.
pub(crate) async fn measure() -> Vec<String> {
    let calls = Arc::new(AtomicUsize::new(0));
    let options = DeliveryOptions::default().linger(LINGER);
    let producer = Delivery::new(Distant(Arc::clone(&calls))).options(options).producer();
    let period = Duration::from_secs(1) * TASKS / RATE;
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let producer = producer.clone();
        tasks.spawn(async move {
            // Each starts at its own time, as independent tasks do.
            let mut ticks = interval_at(started + period * task / TASKS, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let mut receipts = JoinSet::new();
            while started.elapsed() < RUN {
                let due = ticks.tick().await;
                let receipt = producer.enqueue(task).await.expect("the producer is open");
                receipts.spawn(async move {
                    receipt.await.expect("the queue takes everything");
                    due.elapsed()
                });
            }
            receipts.join_all().await
        });
    }
    let mut times: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    times.sort_unstable();
    let filled = times.len() as f64 / calls.load(Relaxed) as f64;
    let p99 = times[times.len() * 99 / 100];
    let target = LINGER + 3 * ROUND_TRIP;
    println!(
        "{TASKS} tasks, {RATE}/s, linger {LINGER:?}, round trip {ROUND_TRIP:?}: {} entries, {filled:.2} of 10 a call, p50 {:?}, p99 {p99:?}",
        times.len(),
        times[times.len() / 2],
    );
    let mut missed = Vec::new();
    if filled <= FILLED {
        missed.push(format!("{filled:.2} entries a call, of more than {FILLED}"));
    }
    if p99 > target {
        missed.push(format!("p99 of {p99:?}, of {target:?}"));
    }
    missed
}
