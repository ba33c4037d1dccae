//! Panics of code outside the crate: nothing is lost, and the panic is reported.

use std::error::Error;
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};
use aws_batch_delivery::targets::{Answer, BatchTarget, Lane, Limits};
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions, InvalidEntry};
use futures::{StreamExt, stream};
use tokio::time::timeout;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, one_at_a_time, throttle};

/// Where a target or a strategy panics.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Limits,
    Check,
    Complete,
    Lane,
    Supersedes,
    Delay,
    Admit,
    Depart,
    Observe,
    Cooldown,
}

impl Place {
    fn panic_if(self, here: Self) {
        assert!(self != here, "out of ink");
    }
}

/// Panics in one place, for the entry 7.
struct Clumsy(Place);

impl BatchTarget for Clumsy {
    type Entry = usize;

    fn limits(&self) -> Limits {
        self.0.panic_if(Place::Limits);
        LIMITS
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        if *entry == 7 {
            self.0.panic_if(Place::Check);
        }
        Ok(1)
    }

    fn complete(&self, entry: &mut usize) {
        if *entry == 7 {
            self.0.panic_if(Place::Complete);
        }
    }

    fn lane(&self, entry: &usize) -> Option<Lane> {
        if *entry == 7 {
            self.0.panic_if(Place::Lane);
        }
        Some(Lane::exclusive(&(entry % 5)))
    }

    fn supersedes(&self, _: &usize, _: &usize) -> bool {
        self.0.panic_if(Place::Supersedes);
        true
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        accept(chunk)
    }
}

/// Panics in some place.
struct Nervous(Place);

impl BackoffStrategy for Nervous {
    fn delay(&self, _: Retry) -> Duration {
        self.0.panic_if(Place::Delay);
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Nervous {
    fn admit(&self, _: Instant, waiter: &Waiter) -> Admission {
        self.0.panic_if(Place::Admit);
        Admission::Go(waiter.entries)
    }

    fn depart(&self, _: Instant, _: usize) {
        self.0.panic_if(Place::Depart);
    }

    fn observe(&self, _: &Outcome) {
        self.0.panic_if(Place::Observe);
    }

    fn cooldown(&self) -> Duration {
        self.0.panic_if(Place::Cooldown);
        Duration::ZERO
    }
}

/// Checks that all of 0..100 is accounted for, and that the error has the reason of the stop.
fn assert_nothing_is_lost(error: &DeliveryError<usize>, whose: &str) {
    let handed_back = error.undelivered().len() as u64;
    assert_eq!(error.report.undelivered, handed_back);
    assert_eq!(error.report.delivered + error.report.superseded + handed_back, 100);
    let stopped = error.stopped().unwrap();
    assert_eq!(stopped.code(), format!("{whose} panicked"));
    assert_eq!(stopped.source().unwrap().to_string(), "out of ink");
    for undelivered in error.undelivered() {
        assert!(matches!(undelivered.cause, Cause::Stopped(_)), "{undelivered:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_may_panic_anywhere() {
    for place in [
        Place::Limits,
        Place::Check,
        Place::Complete,
        Place::Lane,
        Place::Supersedes,
    ] {
        let delivery = Delivery::new(Clumsy(place)).options(no_delay().last_write_wins());
        let error = delivery.deliver(0..100).await.unwrap_err();
        let method = match place {
            Place::Limits => "the target's `limits`",
            Place::Supersedes => "the target's `supersedes`",
            _ => "the target's look at an entry",
        };
        assert_nothing_is_lost(&error, method);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_the_only_entry_ends_the_delivery_too() {
    for place in [Place::Check, Place::Complete, Place::Lane] {
        let delivery = Delivery::new(Clumsy(place)).options(no_delay());
        let delivered = timeout(Duration::from_mins(1), delivery.deliver([7])).await;
        assert_eq!(*delivered.unwrap().unwrap_err().undelivered()[0].entry, 7);

        let producer = delivery.producer();
        let undelivered = producer.send(7).await.unwrap_err();
        assert!(matches!(undelivered.cause, Cause::Stopped(_)));
        producer.send(1).await.unwrap();
        assert_eq!(producer.close().await.unwrap().delivered, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_producer_whose_strategy_panicked_can_be_closed() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let options = DeliveryOptions::default().backoff(Nervous(Place::Admit));
    let producer = Delivery::new(target).options(options).producer();
    producer.send(1).await.unwrap_err();
    let report = timeout(Duration::from_mins(1), producer.close()).await.unwrap();
    assert_eq!(report.unwrap().undelivered, 1);
}

#[tokio::test(start_paused = true)]
async fn a_strategy_may_panic_anywhere() {
    for place in [
        Place::Delay,
        Place::Admit,
        Place::Depart,
        Place::Observe,
        Place::Cooldown,
    ] {
        let (target, _) = numbers(|number, chunk| {
            if number == 1 {
                Answer::Whole(throttle())
            } else {
                accept(chunk)
            }
        });
        let options = DeliveryOptions::default().backoff(Nervous(place));
        let delivery = Delivery::new(target).options(options);
        let error = delivery.deliver(0..100).await.unwrap_err();
        assert_nothing_is_lost(&error, "the backoff strategy");
    }
}

#[tokio::test(start_paused = true)]
async fn a_strategy_that_panicked_ends_every_delivery_that_shares_it() {
    let options = DeliveryOptions::default().backoff(Nervous(Place::Delay));
    let (patient, _) = numbers(|_, chunk| accept(chunk));
    let others = Delivery::new(patient).options(options.clone());
    let waiting = tokio::spawn(async move { others.deliver_stream(stream::iter(0..5).chain(stream::pending())).await });
    let (target, _) = numbers(|_, _| Answer::Whole(throttle()));
    Delivery::new(target).options(options).deliver(0..10).await.unwrap_err();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.stopped().unwrap().code(), "the backoff strategy panicked");
}

#[tokio::test(start_paused = true)]
async fn entries_before_a_panic_of_the_input_are_delivered() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let input = (0..).inspect(|number| assert!(*number < 100, "out of ink"));
    let delivery = Delivery::new(target).options(one_at_a_time());
    let error = delivery.deliver(input).await.unwrap_err();
    assert_nothing_is_lost(&error, "the input");
    assert_eq!(error.report.delivered, 100);
}
