//! Calls that wait for each other.

use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits};
use aws_batch_delivery::{Delivery, InvalidEntry};
use tokio::sync::Barrier;
use tokio::time::timeout;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers};

const CONCURRENCY: usize = 16;

/// Answers as soon as all calls that may be in flight are.
struct AllAtOnce(Barrier);

impl BatchTarget for AllAtOnce {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        Ok(*entry)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        self.0.wait().await;
        accept(chunk)
    }
}

/// A delivery has few moments at which the threads could get out of step, so there are many deliveries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_waits_until_another_one_is_answered_as_long_as_more_may_be_in_flight() {
    let options = no_delay().concurrency(CONCURRENCY);
    // Calls that wait for each other would wait for ever, and a busy machine makes none of them wait so long.
    let options = options.attempt_timeout(Duration::from_mins(1));
    let delivery = Delivery::new(AllAtOnce(Barrier::new(CONCURRENCY))).options(options);
    for _ in 0..2_000 {
        let entries = vec![1; LIMITS.entries * CONCURRENCY];
        let report = delivery.deliver(entries).await.unwrap();
        assert_eq!((report.calls, report.resubmitted), (CONCURRENCY as u64, 0));
    }
}

/// The delivery runs as a task next to those that make its calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_delivery_and_its_calls_share_a_single_thread() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(no_delay().concurrency(CONCURRENCY));
    let entries = vec![1; LIMITS.entries * 1_000];
    let delivered = tokio::spawn(async move { delivery.deliver(entries).await.unwrap().delivered });
    let in_time = timeout(Duration::from_mins(1), delivered).await;
    assert_eq!(in_time.expect("they wait for each other").unwrap(), 4_000);
}
