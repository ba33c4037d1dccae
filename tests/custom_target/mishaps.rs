//! Calls that end without an answer.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::target::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, InvalidEntry};
use tokio::time::Instant;

use crate::numbers::{LIMITS, Numbers, accept, no_rest, one_at_a_time};

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_target_loses_no_entry_and_is_reported() {
    let (target, _) = Numbers::answering(|number, chunk| {
        if number == 2 {
            panic!("out of ink")
        } else {
            accept(chunk)
        }
    });
    let error = Delivery::new(target)
        .options(one_at_a_time())
        .deliver(1..=10)
        .await
        .unwrap_err();
    assert_eq!(error.report.delivered, 4);
    let entries: Vec<_> = error
        .undelivered()
        .iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    assert_eq!(entries, [5, 6, 7, 8, 9, 10]);
    let Cause::Stopped(fault) = &error.undelivered()[0].cause else {
        panic!("{:?}", error.undelivered()[0].cause)
    };
    assert_eq!(std::error::Error::source(fault).unwrap().to_string(), "out of ink");
    assert!(error.undelivered()[0].may_have_been_delivered);
    assert!(!error.undelivered()[5].may_have_been_delivered);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_made_again() {
    struct Stuck(AtomicUsize);
    impl BatchTarget for Stuck {
        type Entry = usize;
        fn limits(&self) -> Limits {
            LIMITS
        }
        fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
            Ok(1)
        }
        async fn send(&self, chunk: &[usize]) -> Answer {
            if self.0.fetch_add(1, Relaxed) == 0 {
                std::future::pending::<()>().await;
            }
            accept(chunk)
        }
    }
    let started = Instant::now();
    let report = Delivery::new(Stuck(AtomicUsize::new(0)))
        .options(no_rest().attempt_timeout(Duration::from_secs(3)))
        .deliver(0..4)
        .await
        .unwrap();
    assert_eq!((report.calls, report.resubmitted), (2, 4));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_made_is_tried_again_only_three_times() {
    let (target, calls) =
        Numbers::answering(|_, _| Answer::Whole(Verdict::Rejected(Rejection::Setup, Fault::new("no credentials"))));
    let error = Delivery::new(target)
        .options(no_rest())
        .deliver(vec![1; 40])
        .await
        .unwrap_err();
    // Ten calls are in flight together, and fail together; each time they rest for a second.
    assert_eq!(calls.lock().unwrap().len(), 40);
    assert_eq!(error.undelivered().len(), 40);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(&undelivered.cause, Cause::Stopped(fault) if fault.code() == "no credentials"))
    );
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_be_made_rest_for_a_second_also_when_there_are_fresh_entries() {
    let (target, calls) =
        Numbers::answering(|_, _| Answer::Whole(Verdict::Rejected(Rejection::Setup, Fault::new("no credentials"))));
    let started = Instant::now();
    let delivery = Delivery::new(target).options(one_at_a_time());
    delivery.deliver(vec![1; 10_000]).await.unwrap_err();
    assert_eq!(calls.lock().unwrap().len(), 4);
    assert_eq!(started.elapsed(), Duration::from_millis(3 * 1_000 + 4 * 8));
}
