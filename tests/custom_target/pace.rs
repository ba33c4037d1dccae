//! What a delivery reports about its pace.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::backoff::details::{KeyOutcome, KeyPace, PaceDetails};
use aws_batch_delivery::backoff::{
    Adaptive, Admission, BackoffStrategy, Outcome, Pace, PaceReason, PaceSnapshot, PaceState, Retry, Waiter,
};
use aws_batch_delivery::events::{PACE, STALLED, SUMMARY};
use aws_batch_delivery::targets::Answer;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use futures::stream;
use tokio::time::Instant;
use tracing::Level;

use crate::custom_target::numbers::{accept, numbers, throttle};
use crate::support::log::{Log, Logged};

#[tokio::test(start_paused = true)]
async fn progress_shows_the_pace_as_long_as_the_options_are_kept() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let progress = Progress::default();
    let strategy = Arc::new(Adaptive::default());
    let options = DeliveryOptions::default()
        .backoff(Arc::clone(&strategy))
        .progress(&progress);
    assert_eq!(progress.snapshot().pace, None, "no delivery has begun");

    let delivery = Delivery::new(target).options(options);
    delivery.deliver(vec![1; 8]).await.unwrap();
    let pace = progress.snapshot().pace.unwrap();
    assert_eq!((pace.state, pace.reason), (PaceState::Searching, PaceReason::Start));
    assert_eq!(pace, strategy.snapshot());

    drop(delivery);
    assert_eq!(progress.snapshot().pace, None);
}

/// A strategy that reports its state.
struct Halting;

impl BackoffStrategy for Halting {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Halting {
    fn snapshot(&self) -> Option<PaceSnapshot> {
        let mut pace = PaceSnapshot::new(PaceState::Steady, PaceReason::InitialRate);
        pace.rate = Some(100.0);
        Some(pace)
    }
}

#[tokio::test(start_paused = true)]
async fn the_pace_of_a_custom_strategy_is_reported_if_it_has_a_snapshot() {
    let shared: Arc<dyn BackoffStrategy> = Arc::new(Halting);
    let rate = |options: DeliveryOptions| async move {
        let progress = Progress::default();
        let (target, _) = numbers(|_, chunk| accept(chunk));
        let delivery = Delivery::new(target).options(options.progress(&progress));
        delivery.deliver([1]).await.unwrap();
        progress.snapshot().pace.map(|pace| pace.rate)
    };
    assert_eq!(
        rate(DeliveryOptions::default().backoff(shared)).await,
        Some(Some(100.0))
    );
    assert_eq!(rate(DeliveryOptions::default().backoff(|_| Duration::ZERO)).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stall_and_the_summary_tell_the_state_of_the_pace_and_its_reason() {
    let log = Log::start();
    let started = Instant::now();
    let (target, _) = numbers(move |_, chunk| {
        if started.elapsed() < Duration::from_secs(6) {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    });
    Delivery::new(target).deliver(vec![1; 100]).await.unwrap();
    let [stalled, _] = &log.of(STALLED)[..] else {
        panic!("{:?}", log.events())
    };
    assert_eq!(
        (stalled.field("state"), stalled.field("reason")),
        ("outage", "nothing is accepted")
    );
    let [summary] = &log.of(SUMMARY)[..] else {
        panic!("{:?}", log.events())
    };
    assert_eq!(
        (summary.field("state"), summary.field("reason")),
        ("steady", "the service accepts entries again")
    );
}

#[tokio::test(start_paused = true)]
async fn a_strategy_without_states_leaves_them_out_of_the_log() {
    let log = Log::start();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let options = DeliveryOptions::default().backoff(|_| Duration::ZERO);
    Delivery::new(target).options(options).deliver([1]).await.unwrap();
    let [summary] = &log.of(SUMMARY)[..] else {
        panic!("{:?}", log.events())
    };
    assert!(!summary.fields.contains_key("state") && !summary.fields.contains_key("reason"));
}

/// Records what it is asked, and lets a worker rest for a second after each call.
#[derive(Default)]
struct Resting {
    asked: Mutex<Vec<Waiter>>,
}

impl BackoffStrategy for Resting {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Resting {
    fn admit(&self, _: std::time::Instant, waiter: &Waiter) -> Admission {
        self.asked.lock().unwrap().push(*waiter);
        Admission::Go(waiter.entries)
    }

    fn cooldown(&self) -> Duration {
        Duration::from_secs(1)
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_rests_for_the_cooldown_after_each_of_its_calls() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let (log, started) = (Arc::clone(&times), Instant::now());
    let (target, _) = numbers(move |_, chunk| {
        log.lock().unwrap().push(started.elapsed().as_millis());
        accept(chunk)
    });
    let options = DeliveryOptions::default().backoff(Resting::default()).concurrency(2);
    Delivery::new(target)
        .options(options)
        .deliver(vec![1; 20])
        .await
        .unwrap();
    assert_eq!(*times.lock().unwrap(), [8, 8, 1016, 1016, 2024]);
}

#[tokio::test(start_paused = true)]
async fn the_strategy_is_told_when_ten_calls_of_entries_are_known_to_wait() {
    for (entries, more) in [(39, false), (40, true)] {
        let (batch, streamed) = (Arc::new(Resting::default()), Arc::new(Resting::default()));
        let delivery = |strategy: &Arc<Resting>| {
            let (target, _) = numbers(|_, chunk| accept(chunk));
            let options = DeliveryOptions::default().backoff(Arc::clone(strategy)).concurrency(1);
            Delivery::new(target).options(options)
        };
        delivery(&batch).deliver(vec![1; entries]).await.unwrap();
        let stream = stream::iter(vec![1; entries]);
        delivery(&streamed).deliver_stream(stream).await.unwrap();
        for strategy in [batch, streamed] {
            let asked = strategy.asked.lock().unwrap();
            let mut first = Waiter::new(4);
            first.more = more;
            assert_eq!(asked[..2], [first, Waiter::new(4)], "{entries} entries");
        }
    }
}

fn number(event: &Logged, name: &str) -> f64 {
    let field = event.field(name);
    field
        .parse()
        .unwrap_or_else(|_| panic!("{name} is {field:?} in {event:?}"))
}

#[track_caller]
fn assert_about(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} instead of {expected}");
}

/// A call of ten entries that leaves at that moment is answered 10 ms later; so many of them are rejected.
fn call(strategy: &Adaptive, at: std::time::Instant, rejected: usize) {
    Pace::admit(strategy, at, &Waiter::new(10));
    Pace::depart(strategy, at, 10);
    let mut outcome = Outcome::new(at, at + Duration::from_millis(10));
    (outcome.sent, outcome.accepted, outcome.throttled) = (10, 10 - rejected, rejected);
    (outcome.fresh, outcome.fresh_throttled) = (10, rejected);
    Pace::observe(strategy, &outcome);
}

#[test]
fn each_change_of_state_is_logged_with_its_reason_and_with_what_is_measured() {
    let log = Log::start();
    let strategy = Adaptive::default().initial_rate(100.0).seed(1);
    let start = std::time::Instant::now();
    for number in 0..4 {
        call(&strategy, start + Duration::from_millis(20 * number), 10);
    }
    call(&strategy, start + Duration::from_secs(1), 0);
    // Long after the last signal the pace is above the capacity, so that a rejection is one.
    call(&strategy, start + Duration::from_secs(9), 2);

    let [outage, steady, signal] = &log.of(PACE)[..] else {
        panic!("{:?}", log.events())
    };
    for (event, state, from, reason) in [
        (outage, "outage", "steady", "nothing is accepted"),
        (steady, "steady", "outage", "the service accepts entries again"),
    ] {
        assert_eq!(event.level, Level::INFO);
        assert_eq!(
            (event.field("state"), event.field("from"), event.field("reason")),
            (state, from, reason)
        );
        assert_about(number(event, "capacity"), 100.0);
        assert_about(number(event, "in_flight"), 0.0);
        assert_eq!(event.field("hot_key"), "", "it is the pace of all entries");
    }
    assert_eq!(signal.level, Level::DEBUG);
    assert_about(number(signal, "rejected"), 2.0);
    assert_about(number(signal, "capacity"), 100.0);
}

#[test]
fn a_hot_key_has_a_number_in_the_log_from_its_beginning_to_its_end() {
    let log = Log::start();
    let strategy = Adaptive::default().seed(1);
    let keys: &dyn KeyPace = Pace::details(&strategy).and_then(PaceDetails::key_pace).unwrap();
    let start = std::time::Instant::now();
    let mut outcomes = [(40, 20), (50, 0)].map(|(key, throttled)| {
        let mut outcome = KeyOutcome::new(key);
        (outcome.sent, outcome.fresh, outcome.first_attempts) = (25, 25, (25, throttled));
        (outcome.throttled, outcome.fresh_throttled) = (throttled, throttled);
        outcome.accepted = 25 - throttled;
        outcome
    });
    keys.observe(start, start + Duration::from_millis(100), &mut outcomes);
    assert!(keys.is_hot(40) && !keys.is_hot(50));
    keys.admit(start + Duration::from_secs(11), 40, 25);
    assert!(!keys.is_hot(40));

    let events = log.of(PACE);
    let [hot, cold] = &events[..] else { panic!("{events:?}") };
    // Five were accepted in a tenth of a second, and the schedule begins close to that.
    let rate = number(hot, "rate");
    assert!((49.0..51.0).contains(&rate), "{rate}");
    for (event, hot_keys) in [(hot, 1.0), (cold, 0.0)] {
        assert_eq!(event.level, Level::INFO);
        assert_about(number(event, "hot_key"), 1.0);
        assert_about(number(event, "hot_keys"), hot_keys);
        assert!(event.fields.values().all(|text| !text.contains("40")), "{event:?}");
    }
}
