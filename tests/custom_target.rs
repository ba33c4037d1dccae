//! A target made outside the crate, and what the loop does with its answers.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Retry, Waiter};
use aws_batch_delivery::target::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, InvalidEntry, Progress};
use tokio::time::Instant;

/// Takes numbers, four a call and at most 100 bytes; a number's size is its value.
struct Numbers<A> {
    calls: Arc<Mutex<Vec<Vec<usize>>>>,
    answer: A,
}

impl<A> Numbers<A>
where
    A: Fn(usize, &[usize]) -> Answer,
{
    fn answering(answer: A) -> (Self, Arc<Mutex<Vec<Vec<usize>>>>) {
        let calls = Arc::default();
        let target = Self {
            calls: Arc::clone(&calls),
            answer,
        };
        (target, calls)
    }
}

impl<A> BatchTarget for Numbers<A>
where
    A: Fn(usize, &[usize]) -> Answer + Send + Sync + 'static,
{
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits {
            entries: 4,
            bytes: 100,
            entry_bytes: 100,
        }
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        Ok(*entry)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(chunk.to_vec());
            calls.len()
        };
        tokio::time::sleep(Duration::from_millis(8)).await;
        (self.answer)(number, chunk)
    }
}

fn accept(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Accepted; chunk.len()])
}

fn throttle() -> Verdict {
    Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
}

fn no_rest() -> DeliveryOptions {
    DeliveryOptions::default().backoff(|_: u32| Duration::ZERO)
}

fn one_at_a_time() -> DeliveryOptions {
    no_rest().concurrency(1).unwrap()
}

#[tokio::test(start_paused = true)]
async fn chunks_keep_the_count_and_the_bytes() {
    let (target, calls) = Numbers::answering(|_, chunk| accept(chunk));
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
    let (target, calls) = Numbers::answering(|number, chunk| {
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

/// Lets two calls go at once, and then one a second.
struct OneCallPerSecond(Mutex<Vec<std::time::Instant>>);

impl BackoffStrategy for OneCallPerSecond {
    fn rest(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

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
    let (target, calls) = Numbers::answering(|number, chunk| match number {
        1 => Answer::Each([throttle()].into_iter().chain(vec![Verdict::Accepted; 3]).collect()),
        2 => Answer::Each([Verdict::Accepted].into_iter().chain(vec![throttle(); 3]).collect()),
        _ => accept(chunk),
    });
    let options = DeliveryOptions::default()
        .backoff(OneCallPerSecond(Mutex::default()))
        .concurrency(2)
        .unwrap();
    Delivery::new(target).options(options).deliver(1..=8).await.unwrap();
    assert_eq!(calls.lock().unwrap()[2..], [[1, 6, 7, 8]]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_without_a_verdict_is_sent_again() {
    let (target, calls) = Numbers::answering(|number, chunk| {
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
    let (target, _) = Numbers::answering(|_, chunk| accept(chunk));
    let error = Delivery::new(target).deliver([1, 101, 2]).await.unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (2, 1));
    let undelivered = &error.undelivered[0];
    assert_eq!(
        (undelivered.entry, undelivered.position, undelivered.attempts),
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
            Limits {
                entries: 1,
                bytes: 100,
                entry_bytes: 100,
            }
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
        .options(no_rest().concurrency(5).unwrap())
        .deliver(0..100)
        .await
        .unwrap();
    assert_eq!(in_flight.most.load(Relaxed), 5);
    assert_eq!(started.elapsed(), Duration::from_millis(8 * 20));
}

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
    let entries: Vec<_> = error.undelivered.iter().map(|undelivered| undelivered.entry).collect();
    assert_eq!(entries, [5, 6, 7, 8, 9, 10]);
    let Cause::Stopped(fault) = &error.undelivered[0].cause else {
        panic!("{:?}", error.undelivered[0].cause)
    };
    assert_eq!(std::error::Error::source(fault).unwrap().to_string(), "out of ink");
    assert!(error.undelivered[0].may_have_been_delivered);
    assert!(!error.undelivered[5].may_have_been_delivered);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_made_again() {
    struct Stuck(AtomicUsize);
    impl BatchTarget for Stuck {
        type Entry = usize;
        fn limits(&self) -> Limits {
            Limits {
                entries: 4,
                bytes: 100,
                entry_bytes: 100,
            }
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
        .options(no_rest().attempt_timeout(Duration::from_secs(3)).unwrap())
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
    assert_eq!(error.undelivered.len(), 40);
    assert!(
        error
            .undelivered
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

#[tokio::test(start_paused = true)]
async fn an_entry_is_given_up_when_its_time_is_used_up() {
    let (target, _) = Numbers::answering(|_, _| Answer::Whole(throttle()));
    let started = Instant::now();
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_secs(3))
        .give_up_after(Duration::from_secs(10));
    let error = Delivery::new(target).options(options).deliver([1]).await.unwrap_err();
    // Attempts at 0, 3.008, 6.016 and 9.024 s; the next would be at 12 s.
    assert_eq!(error.undelivered[0].attempts, 4);
    assert!(matches!(error.undelivered[0].cause, Cause::TimeUsedUp(_)));
    assert_eq!(started.elapsed(), Duration::from_millis(9_032));
}

#[tokio::test(start_paused = true)]
async fn fresh_entries_do_not_hammer_while_leftovers_rest() {
    let (target, calls) = Numbers::answering(|_, _| Answer::Whole(throttle()));
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_secs(1))
        .retries(4)
        .concurrency(2)
        .unwrap();
    let started = Instant::now();
    let delivery = Delivery::new(target).options(options.deadline(started + Duration::from_millis(3_500)));
    delivery.deliver(vec![1; 100]).await.unwrap_err();
    // Two slots, each with a call about every second: at 0, 1, 2 and 3 s.
    assert_eq!(calls.lock().unwrap().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_reset_wakes_what_rests() {
    let (target, calls) = Numbers::answering(|number, chunk| {
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
    // The first retry leaves at the reset instead of at 100 s; the delays start over, so that the second rests 100 s.
    assert_eq!(calls.lock().unwrap().len(), 3);
    assert_eq!(started.elapsed(), Duration::from_millis(105_016));
}

#[tokio::test(start_paused = true)]
async fn progress_tells_what_waits_and_forgets_a_dropped_delivery() {
    let (target, _) = Numbers::answering(|number, chunk| {
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
        .unwrap()
        .progress(&progress);
    let delivery = Delivery::new(target).options(options);
    let delivering = tokio::spawn(async move { delivery.deliver(vec![1; 8]).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(progress.snapshot().waiting, 4);
    delivering.abort();
    assert!(delivering.await.unwrap_err().is_cancelled());
    let figures = progress.snapshot();
    assert_eq!((figures.delivered, figures.calls, figures.throttled), (4, 2, 4));
    assert_eq!((figures.waiting, figures.in_flight), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_rounds_of_one_entry_cost_no_stack() {
    let (target, calls) = Numbers::answering(|number, chunk| {
        if number <= 100_000 {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    });
    let options = no_rest().give_up_after(Duration::MAX);
    let report = Delivery::new(target).options(options).deliver([1]).await.unwrap();
    assert_eq!(report.resubmitted, 100_000);
    assert_eq!(calls.lock().unwrap().len(), 100_001);
}

/// Is prepared in a second, and does with the entries what it is told.
#[derive(Clone)]
struct Prepared {
    preparations: Arc<AtomicUsize>,
    panics: bool,
    sent: Arc<Mutex<Vec<usize>>>,
}

impl Prepared {
    fn new(panics: bool) -> Self {
        Self {
            preparations: Arc::default(),
            panics,
            sent: Arc::default(),
        }
    }
}

impl BatchTarget for Prepared {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits {
            entries: 4,
            bytes: 100,
            entry_bytes: 100,
        }
    }

    async fn prepare(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!self.panics, "not ready");
        self.preparations.fetch_add(1, Relaxed);
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        assert!(self.preparations.load(Relaxed) > 0, "checked before it was prepared");
        Ok(*entry)
    }

    fn complete(&self, entry: &mut usize) {
        *entry += 1_000;
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        self.sent.lock().unwrap().extend_from_slice(chunk);
        if chunk.contains(&1_003) {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_is_prepared_once_a_delivery_if_there_is_an_entry() {
    let target = Prepared::new(false);
    let delivery = Delivery::new(target.clone()).options(no_rest());
    delivery.deliver([]).await.unwrap();
    assert_eq!(target.preparations.load(Relaxed), 0);
    let started = Instant::now();
    delivery.deliver(vec![1; 100]).await.unwrap();
    assert_eq!(target.preparations.load(Relaxed), 1);
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_ends_while_its_target_is_prepared_hands_everything_back() {
    let target = Prepared::new(false);
    let started = Instant::now();
    let options = no_rest().deadline(started + Duration::from_millis(500));
    let error = Delivery::new(target.clone())
        .options(options)
        .deliver(0..10)
        .await
        .unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_millis(500));
    assert_eq!((error.undelivered.len(), target.preparations.load(Relaxed)), (10, 0));
    assert!(matches!(error.undelivered[0].cause, Cause::DeadlineReached(None)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_preparation_loses_no_entry() {
    let error = Delivery::new(Prepared::new(true)).deliver(0..10).await.unwrap_err();
    assert_eq!(error.undelivered.len(), 10);
    assert!(
        error
            .undelivered
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Stopped(_)) && undelivered.attempts == 0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_entry_is_completed_once_and_stays_so() {
    let target = Prepared::new(false);
    let error = Delivery::new(target.clone())
        .options(one_at_a_time().retries(2))
        .deliver(1..=5)
        .await
        .unwrap_err();
    assert!(
        target
            .sent
            .lock()
            .unwrap()
            .iter()
            .all(|entry| (1_001..=1_005).contains(entry))
    );
    assert!(error.undelivered.iter().all(|undelivered| undelivered.entry > 1_000));
}
