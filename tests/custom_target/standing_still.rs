//! Deliveries that are not polled hold nothing up.

use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use futures::FutureExt;
use tokio::time::{Instant, timeout};

use crate::numbers::{Numbers, accept, throttle};
use aws_batch_delivery::targets::Answer;

/// A delivery that was polled until it waits for the shared strategy.
async fn others_finish_behind_one_that_stands_still(first_polls: Duration) -> Duration {
    let options = DeliveryOptions::default();
    let (target, _) = Numbers::answering(|number, chunk| {
        if number < 4 {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    });
    let delivery = Delivery::new(target).options(options.clone());
    let mut standing = Box::pin(delivery.deliver(vec![1; 1_000]));
    assert!(timeout(first_polls, &mut standing).await.is_err(), "it has only begun");

    let started = Instant::now();
    let (target, _) = Numbers::answering(|_, chunk| accept(chunk));
    Delivery::new(target)
        .options(options)
        .deliver(vec![1; 100])
        .await
        .unwrap();
    let took = started.elapsed();
    standing.await.unwrap();
    took
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_stands_still_holds_up_nobody_who_shares_its_strategy() {
    for millis in [1, 20, 100] {
        let took = others_finish_behind_one_that_stands_still(Duration::from_millis(millis)).await;
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_was_polled_once_and_dropped_holds_up_nobody() {
    let options = DeliveryOptions::default();
    let (target, _) = Numbers::answering(|_, _| Answer::Whole(throttle()));
    let delivery = Delivery::new(target).options(options.clone());
    assert!(delivery.deliver(vec![1; 1_000]).now_or_never().is_none());

    let (target, _) = Numbers::answering(|_, chunk| accept(chunk));
    let started = Instant::now();
    Delivery::new(target)
        .options(options)
        .deliver(vec![1; 100])
        .await
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
}
