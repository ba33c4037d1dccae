//! What a delivery reports about its pace.

use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::backoff::{Adaptive, BackoffStrategy, Pace, PaceReason, PaceSnapshot, PaceState, Retry};
use aws_batch_delivery::events::{STALLED, SUMMARY};
use aws_batch_delivery::targets::Answer;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use tokio::time::Instant;

use crate::log::Log;
use crate::numbers::{accept, numbers, throttle};

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
        ("searching", "the service accepts entries again")
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
