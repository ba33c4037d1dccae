//! A service that says when to ask again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, InvalidEntry};
use tokio::time::{Instant, sleep, sleep_until};

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers};
use crate::support::scripted::ROUND_TRIP;

const SECOND: Duration = Duration::from_secs(1);

fn rejected(wait: Duration) -> Verdict {
    let fault = Fault::new("HTTP 503").retry_after(wait);
    Verdict::Rejected(Rejection::Transient, fault)
}

#[tokio::test(start_paused = true)]
async fn no_call_of_the_deliveries_that_share_a_strategy_leaves_before_the_wait_is_over() {
    let options = no_delay();
    let (closed, _) = numbers(|number, chunk| match number {
        1 => Answer::Whole(rejected(3 * SECOND)),
        _ => accept(chunk),
    });
    let (open, calls) = numbers(|_, chunk| accept(chunk));
    let started = Instant::now();
    let first = Delivery::new(closed).options(options.clone());
    let second = Delivery::new(open).options(options);
    let later = async {
        sleep(SECOND).await;
        second.deliver([1]).await
    };
    let (first, second) = tokio::join!(first.deliver([1]), later);
    assert_eq!((first.unwrap().calls, second.unwrap().calls), (2, 1));
    assert_eq!(started.elapsed(), 3 * SECOND + 2 * ROUND_TRIP);
    assert_eq!(calls.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_calls_in_flight_are_in_vain_when_a_service_closes() {
    let started = Instant::now();
    let in_vain = Arc::new(AtomicU64::new(0));
    let rejections = Arc::clone(&in_vain);
    let (target, _) = numbers(move |_, chunk| {
        let opens_in = (4 * SECOND).saturating_sub(started.elapsed());
        if started.elapsed() < SECOND || opens_in.is_zero() {
            return accept(chunk);
        }
        rejections.fetch_add(1, Relaxed);
        Answer::Whole(rejected(opens_in))
    });
    let entries = (0..20_000).map(|_| 1);
    let report = Delivery::new(target)
        .options(no_delay())
        .deliver(entries)
        .await
        .unwrap();
    assert_eq!(report.delivered, 20_000);
    assert_eq!(in_vain.load(Relaxed), 16, "the calls that were in flight");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_may_not_be_tried_for_so_long_is_handed_back() {
    let (target, _) = numbers(|_, _| Answer::Whole(rejected(3 * SECOND)));
    let started = Instant::now();
    let options = no_delay().give_up_after(2 * SECOND);
    let error = Delivery::new(target).options(options).deliver([1]).await.unwrap_err();
    assert!(matches!(error.undelivered()[0].cause, Cause::Outage { .. }));
    assert_eq!(started.elapsed(), ROUND_TRIP);
}

#[tokio::test(start_paused = true)]
async fn a_wait_lasts_a_minute_at_most() {
    let (target, _) = numbers(|number, chunk| match number {
        1 => Answer::Whole(rejected(Duration::MAX)),
        _ => accept(chunk),
    });
    let started = Instant::now();
    Delivery::new(target).options(no_delay()).deliver([1]).await.unwrap();
    assert_eq!(started.elapsed(), 60 * SECOND + 2 * ROUND_TRIP);
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_wait() {
    let (target, _) = numbers(|number, chunk| match number {
        1 => Answer::Whole(rejected(30 * SECOND)),
        _ => accept(chunk),
    });
    let started = Instant::now();
    let options = no_delay();
    let delivery = Delivery::new(target).options(options.clone());
    let reset = async {
        sleep(SECOND).await;
        options.reset_backoff();
    };
    let (report, ()) = tokio::join!(delivery.deliver([1, 2, 3, 4, 5]), reset);
    assert_eq!(report.unwrap().delivered, 5);
    assert_eq!(started.elapsed(), SECOND + ROUND_TRIP);
}

/// Names a wait of a second in every fiftieth answer, and accepts all other calls. Calls take 8 to 14 ms.
struct Moody(AtomicU64);

impl BatchTarget for Moody {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let number = self.0.fetch_add(1, Relaxed);
        sleep(ROUND_TRIP + Duration::from_millis(number % 7)).await;
        if number % 50 == 49 {
            return Answer::Whole(rejected(SECOND));
        }
        accept(chunk)
    }
}

/// The waits of all of these calls would add up to 200 s.
#[tokio::test(start_paused = true)]
async fn a_service_that_names_a_wait_at_random_and_accepts_all_other_calls_is_not_waited_for() {
    let delivery = Delivery::new(Moody(AtomicU64::new(0))).options(no_delay());
    let report = delivery.deliver(0..40_000).await.unwrap();
    let at_best = ROUND_TRIP * (10_000 / 16);
    assert!(report.elapsed < 4 * at_best, "{:?}", report.elapsed);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_single_entry_delays_this_one_alone() {
    let (target, calls) = numbers(|number, chunk| match number {
        1 => Answer::Each(vec![rejected(3 * SECOND), Verdict::Accepted]),
        _ => accept(chunk),
    });
    let started = Instant::now();
    let options = DeliveryOptions::default().backoff(|_: u32| SECOND).concurrency(1);
    let report = Delivery::new(target)
        .options(options)
        .deliver([50, 49, 48, 47])
        .await
        .unwrap();
    assert_eq!(started.elapsed(), 3 * SECOND + 2 * ROUND_TRIP);
    assert_eq!(report.calls, 3);
    assert_eq!(*calls.lock().unwrap(), [vec![50, 49], vec![48, 47], vec![50]]);
}

#[tokio::test(start_paused = true)]
async fn each_entry_that_a_named_wait_holds_back_names_the_answer_that_named_it() {
    for (patience, gap) in [(5, 6), (2, 3), (1, 9)] {
        let (target, calls) = numbers(|_, _| Answer::Whole(rejected(60 * SECOND)));
        let options = no_delay().give_up_after(patience * SECOND);
        let producer = Delivery::new(target).options(options).producer();
        let started = Instant::now();
        for number in 0..54 / gap {
            sleep_until(started + number * gap * SECOND).await;
            let cause = producer.send(1).await.unwrap_err().cause;
            assert!(
                matches!(&cause, Cause::Outage { fault, .. } if fault.code() == "HTTP 503"),
                "entry {number}, one every {gap} s: {cause}"
            );
        }
        assert_eq!(calls.lock().unwrap().len(), 1);
        producer.close().await.unwrap();
    }
}
