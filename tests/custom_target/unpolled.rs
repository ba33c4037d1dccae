//! A delivery that is not polled does not block others.

use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use futures::FutureExt;
use tokio::time::{Instant, timeout};

use crate::custom_target::numbers::{accept, numbers, throttle};
use aws_batch_delivery::targets::Answer;

/// A delivery that was polled until it waits for the shared strategy.
async fn time_of_others_beside_an_unpolled_one(first_polls: Duration) -> Duration {
    let options = DeliveryOptions::default();
    let (target, _) = numbers(|number, chunk| {
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
    let (target, _) = numbers(|_, chunk| accept(chunk));
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
async fn an_unpolled_delivery_does_not_block_others_with_the_same_strategy() {
    for millis in [1, 20, 100] {
        let took = time_of_others_beside_an_unpolled_one(Duration::from_millis(millis)).await;
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_was_polled_once_and_dropped_does_not_block_others() {
    let options = DeliveryOptions::default();
    let (target, _) = numbers(|_, _| Answer::Whole(throttle()));
    let delivery = Delivery::new(target).options(options.clone());
    assert!(delivery.deliver(vec![1; 1_000]).now_or_never().is_none());

    let (target, _) = numbers(|_, chunk| accept(chunk));
    let started = Instant::now();
    Delivery::new(target)
        .options(options)
        .deliver(vec![1; 100])
        .await
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
}
