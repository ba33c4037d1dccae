//! Calls that end without an answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, InvalidEntry};
use tokio::time::{Instant, sleep};

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, one_at_a_time};

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_target_loses_no_entry_and_is_reported() {
    let (target, _) = numbers(|number, chunk| {
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
        .options(no_delay().attempt_timeout(Duration::from_secs(3)))
        .deliver(0..4)
        .await
        .unwrap();
    assert_eq!((report.calls, report.resubmitted), (2, 4));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}

/// Answers that no call can be made, until a certain moment.
fn unmade_until(moment: Instant) -> impl Fn(usize, &[usize]) -> Answer {
    move |_, chunk| {
        if Instant::now() < moment {
            Answer::Whole(Verdict::Rejected(Rejection::Setup, Fault::new("no credentials")))
        } else {
            accept(chunk)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn single_calls_with_one_entry_test_whether_calls_can_be_made_again() {
    let hiccup = Duration::from_mins(1);
    let started = Instant::now();
    let (target, calls) = numbers(unmade_until(started + hiccup));
    let report = Delivery::new(target)
        .options(no_delay().retries(0))
        .deliver(vec![1; 10_000])
        .await
        .unwrap();
    assert_eq!(report.delivered, 10_000);
    let took = started.elapsed();
    assert!(took < hiccup + Duration::from_secs(20), "{took:?}");
    let calls = calls.lock().unwrap();
    let alone = calls.iter().take_while(|call| call.len() == 4).count();
    assert_eq!(alone, 16, "those in flight together fail together");
    let probes = calls[alone..].iter().take_while(|call| call.len() == 1).count();
    assert!((20..60).contains(&probes), "{probes} probes");
    // The calls of that time are probes; then all other entries follow.
    assert_eq!(calls.len(), alone + probes + (10_000 - 1usize).div_ceil(4));
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_be_made_for_as_long_as_an_entry_has_hand_all_entries_back() {
    let (target, calls) = numbers(unmade_until(Instant::now() + Duration::from_hours(1)));
    let patience = Duration::from_secs(20);
    let started = Instant::now();
    let delivery = Delivery::new(target).options(one_at_a_time().give_up_after(patience));
    let error = delivery.deliver(vec![1; 10_000]).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 10_000);
    assert!(error.undelivered().iter().all(|undelivered| {
        matches!(&undelivered.cause, Cause::Outage { fault, .. } if fault.code() == "no credentials")
            && !undelivered.may_have_been_delivered
    }));
    assert!(error.stopped().is_some());
    let took = started.elapsed();
    assert!(took >= patience && took < patience + Duration::from_secs(1), "{took:?}");
    assert!(calls.lock().unwrap().len() < 30);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_holds_while_calls_cannot_be_made() {
    let (target, _) = numbers(unmade_until(Instant::now() + Duration::from_hours(1)));
    let deadline = Instant::now() + Duration::from_secs(7);
    let delivery = Delivery::new(target).options(no_delay().deadline(deadline));
    let error = delivery.deliver(vec![1; 100]).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 100);
    assert!(Instant::now() <= deadline + Duration::from_secs(1));
    assert!(
        matches!(&error.undelivered()[0].cause, Cause::DeadlineReached(Some(fault)) if fault.code() == "no credentials")
    );
}

#[tokio::test(start_paused = true)]
async fn what_no_call_can_be_made_with_stops_a_delivery_that_has_delivered_nothing() {
    let unconfigured = || Answer::Whole(Verdict::Rejected(Rejection::Unconfigured, Fault::new("no region")));
    let (target, calls) = numbers(move |_, _| unconfigured());
    let error = Delivery::new(target)
        .options(one_at_a_time())
        .deliver(vec![1; 100])
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), calls.lock().unwrap().len()), (100, 1));
    assert!(matches!(&error.undelivered()[99].cause, Cause::Stopped(fault) if fault.code() == "no region"));

    let (target, _) = numbers(move |number, chunk| {
        if (2..10).contains(&number) {
            unconfigured()
        } else {
            accept(chunk)
        }
    });
    let report = Delivery::new(target)
        .options(one_at_a_time())
        .deliver(vec![1; 100])
        .await;
    assert_eq!(report.unwrap().delivered, 100);
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_counted_when_a_call_that_failed_may_have_arrived() {
    let doubtful = |_: usize, _: &[usize]| {
        let fault = Fault::new("HTTP 404").ambiguous();
        Answer::Whole(Verdict::Rejected(Rejection::Setup, fault))
    };
    let (target, _) = numbers(doubtful);
    let error = Delivery::new(target)
        .options(one_at_a_time().retries(0))
        .deliver(vec![1; 8])
        .await
        .unwrap_err();
    assert!(error.undelivered().iter().all(|undelivered| {
        matches!(undelivered.cause, Cause::RetriesUsedUp(_))
            && undelivered.attempts == 1
            && undelivered.may_have_been_delivered
    }));
}

/// Stores each call when it arrives, and answers `delay` later. Counts how often it has stored each entry.
struct Slow {
    delay: Duration,
    stored: Arc<Mutex<HashMap<usize, u32>>>,
}

impl BatchTarget for Slow {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        for entry in chunk {
            *self.stored.lock().unwrap().entry(*entry).or_default() += 1;
        }
        sleep(self.delay).await;
        accept(chunk)
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_slower_than_the_attempt_timeout_stores_each_entry_three_times_at_most() {
    for seconds in [31, 45, 100, 200] {
        let stored = Arc::default();
        let slow = Slow {
            delay: Duration::from_secs(seconds),
            stored: Arc::clone(&stored),
        };
        let report = Delivery::new(slow).deliver(0..200).await.unwrap();
        let most = stored.lock().unwrap().values().max().copied();
        assert!(
            report.delivered == 200 && most <= Some(3),
            "{seconds} s: {most:?} times"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_of_a_slow_service_is_tried_no_longer_than_its_time_and_one_attempt() {
    let patience = Duration::from_secs(100);
    let slow = Slow {
        delay: Duration::MAX,
        stored: Arc::default(),
    };
    let started = Instant::now();
    let delivery = Delivery::new(slow).options(no_delay().give_up_after(patience));
    assert_eq!(delivery.deliver(0..4).await.unwrap_err().report.undelivered, 4);
    assert!(started.elapsed() <= patience + Duration::from_secs(30));
}

/// The timeout doubles with each call, so the fifth one alone would last from 450 s to 930 s.
#[tokio::test(start_paused = true)]
async fn the_last_calls_to_a_silent_service_end_with_the_outage() {
    let patience = Duration::from_mins(10);
    let slow = Slow {
        delay: Duration::MAX,
        stored: Arc::default(),
    };
    let started = Instant::now();
    let delivery = Delivery::new(slow).options(one_at_a_time().retries(0).give_up_after(patience));
    let error = delivery.deliver(0..20).await.unwrap_err();
    assert_eq!((error.report.undelivered, error.report.calls), (20, 5));
    let took = started.elapsed();
    assert!(took <= patience + Duration::from_secs(31), "{took:?}");
    let last = &error.undelivered()[19];
    assert!(matches!(last.cause, Cause::Outage { .. }) && last.may_have_been_delivered);
}
