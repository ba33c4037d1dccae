//! Which entries a call carries, and how many calls there are.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Pace, Retry, Waiter};
use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use tokio::time::Instant;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, one_at_a_time, throttle};

#[tokio::test(start_paused = true)]
async fn chunks_keep_the_count_and_the_bytes() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let report = Delivery::new(target)
        .options(one_at_a_time())
        .deliver([50, 50, 1, 99, 1, 1, 1, 1, 1, 1])
        .await
        .unwrap();
    assert_eq!(report.delivered, 10);
    assert_eq!(
        *calls.lock().unwrap(),
        [vec![50, 50], vec![1, 99], vec![1, 1, 1, 1], vec![1, 1]]
    );
}

#[tokio::test(start_paused = true)]
async fn leftovers_go_first_and_are_topped_up_with_fresh_entries() {
    let (target, calls) = numbers(|number, chunk| {
        let mut verdicts = vec![Verdict::Accepted; chunk.len()];
        if number == 1 {
            verdicts[1] = throttle();
            verdicts[3] = throttle();
        }
        Answer::Each(verdicts)
    });
    let report = Delivery::new(target)
        .options(one_at_a_time())
        .deliver(1..=8)
        .await
        .unwrap();
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2, 3, 4], vec![2, 4, 5, 6], vec![7, 8]]);
    assert_eq!((report.calls, report.resubmitted, report.throttled), (3, 2, 2));
}

/// Permits two calls at once, and then one a second.
struct OneCallPerSecond(Mutex<Vec<std::time::Instant>>);

impl BackoffStrategy for OneCallPerSecond {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for OneCallPerSecond {
    fn admit(&self, now: std::time::Instant, waiter: &Waiter) -> Admission {
        match &self.0.lock().unwrap()[..] {
            [] | [_] => Admission::Go(waiter.entries),
            [.., last] if *last + Duration::from_secs(1) <= now => Admission::Go(waiter.entries),
            [.., last] => Admission::WaitUntil(*last + Duration::from_secs(1)),
        }
    }

    fn depart(&self, now: std::time::Instant, _: usize) {
        self.0.lock().unwrap().push(now);
    }
}

#[tokio::test(start_paused = true)]
async fn what_becomes_ready_while_a_call_waits_for_its_turn_leaves_with_it() {
    let (target, calls) = numbers(|number, chunk| match number {
        1 => Answer::Each([throttle()].into_iter().chain(vec![Verdict::Accepted; 3]).collect()),
        2 => Answer::Each([Verdict::Accepted].into_iter().chain(vec![throttle(); 3]).collect()),
        _ => accept(chunk),
    });
    let options = DeliveryOptions::default()
        .backoff(OneCallPerSecond(Mutex::default()))
        .concurrency(2);
    Delivery::new(target).options(options).deliver(1..=8).await.unwrap();
    assert_eq!(calls.lock().unwrap()[2..], [[1, 6, 7, 8]]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_without_a_verdict_is_sent_again() {
    let (target, calls) = numbers(|number, chunk| {
        if number == 1 {
            Answer::Each(vec![Verdict::Accepted])
        } else {
            accept(chunk)
        }
    });
    Delivery::new(target)
        .options(one_at_a_time())
        .deliver([1, 2, 3])
        .await
        .unwrap();
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2, 3], vec![2, 3]]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_larger_than_a_call_is_handed_back_unsent() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let error = Delivery::new(target).deliver([1, 101, 2]).await.unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (2, 1));
    let undelivered = &error.undelivered()[0];
    assert_eq!(
        (*undelivered.entry, undelivered.position, undelivered.attempts),
        (101, 1, 0)
    );
    assert_eq!(
        undelivered.cause.to_string(),
        "not sent: the entry has 101 bytes, the limit is 100"
    );
}

#[tokio::test(start_paused = true)]
async fn at_most_as_many_calls_are_in_flight_as_the_options_say() {
    #[derive(Clone, Default)]
    struct InFlight {
        now: Arc<AtomicUsize>,
        most: Arc<AtomicUsize>,
    }
    impl BatchTarget for InFlight {
        type Entry = usize;
        fn limits(&self) -> Limits {
            Limits::new(1, LIMITS.bytes)
        }
        fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
            Ok(1)
        }
        async fn send(&self, chunk: &[usize]) -> Answer {
            let now = self.now.fetch_add(1, Relaxed) + 1;
            self.most.fetch_max(now, Relaxed);
            tokio::time::sleep(Duration::from_millis(8)).await;
            self.now.fetch_sub(1, Relaxed);
            accept(chunk)
        }
    }

    let in_flight = InFlight::default();
    let started = Instant::now();
    Delivery::new(in_flight.clone())
        .options(no_delay().concurrency(5))
        .deliver(0..100)
        .await
        .unwrap();
    assert_eq!(in_flight.most.load(Relaxed), 5);
    assert_eq!(started.elapsed(), Duration::from_millis(8 * 20));
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_than_the_next_call_carries() {
    let read = Arc::new(AtomicUsize::new(0));
    let (counter, most) = (Arc::clone(&read), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&most);
    let (target, _) = numbers(move |_, chunk| {
        log.lock().unwrap().push(counter.load(Relaxed));
        accept(chunk)
    });
    let input = (0..16).map(move |_| {
        read.fetch_add(1, Relaxed);
        1
    });
    Delivery::new(target)
        .options(one_at_a_time())
        .deliver(input)
        .await
        .unwrap();
    assert_eq!(*most.lock().unwrap(), [8, 12, 16, 16]);
}
