//! How long entries wait for a retry, and how long they are tried.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use aws_batch_delivery::backoff::{Adaptive, Admission, BackoffStrategy, Pace, Retry, Waiter};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, InvalidEntry, Progress};
use tokio::time::Instant;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, throttle};
use crate::support::scripted::Scripted;

#[tokio::test(start_paused = true)]
async fn an_entry_is_given_up_when_its_time_is_used_up() {
    let (target, _) = numbers(|_, _| Answer::Whole(throttle()));
    let started = Instant::now();
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_secs(3))
        .give_up_after(Duration::from_secs(10));
    let error = Delivery::new(target).options(options).deliver([1]).await.unwrap_err();
    // Attempts at 0, 3.008, 6.016 and 9.024 s; the next would be at 12 s.
    assert_eq!(error.undelivered()[0].attempts, 4);
    assert!(matches!(error.undelivered()[0].cause, Cause::Outage { .. }));
    assert_eq!(started.elapsed(), Duration::from_millis(9_032));
}

/// Throttles all calls. All its entries are one lane.
struct OneLane;

impl BatchTarget for OneLane {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    fn lane(&self, _: &usize) -> Option<Lane> {
        Some(Lane::ordered("all"))
    }

    async fn send(&self, _: &[usize]) -> Answer {
        Answer::Whole(throttle())
    }
}

/// Permits no call between two moments, and returns the second one as the time to wait for.
struct Closed {
    between: Range<Instant>,
    named: Instant,
}

impl BackoffStrategy for Closed {
    fn delay(&self, _: Retry) -> Duration {
        Duration::from_secs(1)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Closed {
    fn admit(&self, now: std::time::Instant, waiter: &Waiter) -> Admission {
        if self.between.contains(&now.into()) {
            Admission::WaitUntil(self.named.into_std())
        } else {
            Admission::Go(waiter.entries)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn entries_behind_one_whose_time_is_used_up_are_not_sent_once_more() {
    let start = Instant::now();
    let opens = start + Duration::from_secs(20);
    let options = DeliveryOptions::default()
        .backoff(Closed {
            between: start + Duration::from_millis(1)..opens,
            named: opens,
        })
        .give_up_after(Duration::from_secs(10));
    let error = Delivery::new(OneLane)
        .options(options)
        .deliver([0, 1, 2])
        .await
        .unwrap_err();
    let attempts: Vec<_> = error.undelivered().iter().map(|one| one.attempts).collect();
    assert_eq!((attempts, error.report.calls), (vec![1; 3], 1));
    assert_eq!(start.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_moment_that_has_passed_is_not_waited_for_without_end() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let start = Instant::now();
    let options = DeliveryOptions::default().backoff(Closed {
        between: start..start + Duration::from_secs(1),
        named: start,
    });
    Delivery::new(target).options(options).deliver([1]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn fresh_entries_do_not_hammer_while_leftovers_rest() {
    let (target, calls) = numbers(|_, _| Answer::Whole(throttle()));
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_secs(1))
        .retries(4)
        .concurrency(2);
    let started = Instant::now();
    let delivery = Delivery::new(target).options(options.deadline(started + Duration::from_millis(3_500)));
    delivery.deliver(vec![1; 100]).await.unwrap_err();
    // Two slots, each with a call about every second: at 0, 1, 2 and 3 s.
    assert_eq!(calls.lock().unwrap().len(), 8);
}

/// Each of them is in doubt, so each further one may become a duplicate.
#[tokio::test(start_paused = true)]
async fn an_outage_of_failures_takes_no_more_entries_into_doubt_than_are_in_flight() {
    let (target, calls) = Scripted::new(
        LIMITS,
        |_| 1,
        |_, _| Answer::Whole(Verdict::Rejected(Rejection::Transient, Fault::new("HTTP 500"))),
    );
    let options = DeliveryOptions::default()
        .backoff(Adaptive::default().initial_rate(10_000.0).seed(1))
        .concurrency(16)
        .deadline(Instant::now() + Duration::from_mins(5));
    Delivery::new(target)
        .options(options)
        .deliver(0..1_000)
        .await
        .unwrap_err();
    let calls = calls.lock().unwrap();
    let tried: HashSet<usize> = calls.iter().flatten().copied().collect();
    assert_eq!(tried.len(), 16 * LIMITS.entries, "in {} calls", calls.len());
}

#[tokio::test(start_paused = true)]
async fn a_reset_wakes_what_rests() {
    let (target, calls) = numbers(|number, chunk| {
        if number < 3 {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    });
    let options = DeliveryOptions::default().backoff(|retry: u32| Duration::from_secs(u64::from(retry) * 100));
    let started = Instant::now();
    let delivery = Delivery::new(target).options(options.clone());
    let delivering = tokio::spawn(async move { delivery.deliver([1]).await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    options.reset_backoff();
    delivering.await.unwrap().unwrap();
    // The first retry leaves at the reset instead of at 100 s. The delays start over, so the second retry waits for 100 s.
    assert_eq!(calls.lock().unwrap().len(), 3);
    assert_eq!(started.elapsed(), Duration::from_millis(105_016));
}

#[tokio::test(start_paused = true)]
async fn progress_counts_waiting_entries_and_forgets_a_dropped_delivery() {
    let (target, _) = numbers(|number, chunk| {
        if number == 1 {
            accept(chunk)
        } else {
            Answer::Whole(throttle())
        }
    });
    let progress = Progress::default();
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_mins(1))
        .concurrency(1)
        .progress(&progress);
    let delivery = Delivery::new(target).options(options);
    let delivering = tokio::spawn(async move { delivery.deliver(vec![1; 8]).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let figures = progress.snapshot();
    assert_eq!(figures.waiting, 4);
    assert_eq!((figures.read_ahead, figures.read_ahead_bytes), (4, 4));
    delivering.abort();
    assert!(delivering.await.unwrap_err().is_cancelled());
    let figures = progress.snapshot();
    assert_eq!((figures.delivered, figures.calls, figures.throttled), (4, 2, 4));
    assert_eq!((figures.waiting, figures.in_flight), (0, 0));
    assert_eq!((figures.read_ahead, figures.read_ahead_bytes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn twenty_thousand_rounds_of_one_entry_cost_no_stack() {
    let (target, calls) = numbers(|number, chunk| {
        if number <= 20_000 {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    });
    let options = no_delay().give_up_after(Duration::MAX);
    let report = Delivery::new(target).options(options).deliver([1]).await.unwrap();
    assert_eq!(report.resubmitted, 20_000);
    assert_eq!(calls.lock().unwrap().len(), 20_001);
}
