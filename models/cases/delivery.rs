//! Whole deliveries: the loop, the calls in flight, and the pace that deliveries share.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::future::{join, join_all, select};
use tokio::task::{spawn, yield_now};
use tokio::time::clock;

use super::strategies::{Limited, Paced};
use super::target::Slow;
use crate::{Delivery, DeliveryOptions};

fn once(entries: impl IntoIterator<Item = u32>) -> BTreeMap<u32, usize> {
    entries.into_iter().map(|entry| (entry, 1)).collect()
}

fn options(most: usize) -> DeliveryOptions {
    DeliveryOptions::default().backoff(Limited::to(most))
}

/// Calls of one entry each: more than may wait for a task, and more than may be in flight.
pub async fn every_call_is_made_and_settled() {
    let target = Slow::with_calls_of(1);
    let delivery = Delivery::new(target.clone()).options(options(100).concurrency(3));
    let report = delivery.deliver(0..8).await.expect("all is taken");
    assert_eq!((report.delivered, report.calls), (8, 8));
    assert_eq!(target.taken(), once(0..8));
}

/// Calls that end only when the limit of calls in flight is reached: two, and more than may wait for a task.
pub async fn as_many_calls_are_in_flight_as_may_be() {
    for together in [2, 5] {
        let target = Slow::with_calls_of(1).waiting_for(together);
        let delivery = Delivery::new(target.clone()).options(options(100).concurrency(together));
        let report = delivery.deliver(0..10).await.expect("all is taken");
        assert_eq!(report.delivered, 10);
        assert_eq!(target.taken(), once(0..10));
    }
}

/// Two deliveries share a pace that allows one call in flight: the end of one delivery's call lets the other continue.
pub async fn deliveries_that_share_a_pace_wake_each_other() {
    let target = Slow::with_calls_of(1);
    let options = options(1);
    let delivery = Delivery::new(target.clone()).options(options);
    let one = spawn({
        let delivery = delivery.clone();
        async move { delivery.deliver(0..2).await.expect("all is taken").delivered }
    });
    let other = delivery.deliver(10..12).await.expect("all is taken");
    assert_eq!((one.await.expect("it is not aborted"), other.delivered), (2, 2));
    assert_eq!(target.taken(), once((0..2).chain(10..12)));
}

/// One of them is dropped, with a call in flight or while it waits: the other continues.
pub async fn a_delivery_that_is_dropped_frees_the_pace() {
    let target = Slow::with_calls_of(1);
    let delivery = Delivery::new(target.clone()).options(options(1));
    let dropped = spawn({
        let delivery = delivery.clone();
        async move {
            let some_steps = async {
                for _ in 0..4 {
                    yield_now().await;
                }
            };
            let _ = select(pin!(delivery.deliver(0..3)), pin!(some_steps)).await;
        }
    });
    let report = delivery.deliver(10..12).await.expect("all is taken");
    dropped.await.expect("it is not aborted");
    assert_eq!(report.delivered, 2);
    let taken = target.taken();
    assert!(taken.values().all(|times| *times == 1), "sent twice: {taken:?}");
}

/// Each entry is throttled twice, in two deliveries: all arrive once, after the delays of the strategy.
pub async fn throttled_entries_are_sent_again() {
    let interval = Duration::from_millis(10);
    let target = Slow::with_calls_of(2).throttling(2);
    let delivery = Delivery::new(target.clone()).options(DeliveryOptions::default().backoff(Paced::by(interval)));
    let both = [0..3, 10..13].map(|entries| {
        let delivery = delivery.clone();
        spawn(async move { delivery.deliver(entries).await.expect("all is taken").delivered })
    });
    for delivered in join_all(both).await {
        assert_eq!(delivered.expect("it is not aborted"), 3);
    }
    assert_eq!(target.taken(), once((0..3).chain(10..13)));
}

/// A reset by the caller reaches deliveries whose entries are delayed.
pub async fn a_reset_ends_all_delays() {
    let target = Slow::with_calls_of(1).throttling(1);
    let an_hour = |_: u32| Duration::from_hours(1);
    let options = DeliveryOptions::default().backoff(an_hour).give_up_after(Duration::MAX);
    let delivery = Delivery::new(target.clone()).options(options.clone());
    let resets = async {
        // Until each was throttled once. A delay that begins after the last reset would last an hour.
        while target.throttled() < 2 {
            yield_now().await;
        }
        while target.taken().len() < 2 {
            options.reset_backoff();
            yield_now().await;
        }
    };
    let (report, ()) = join(delivery.deliver(0..2), resets).await;
    assert_eq!(report.expect("all is taken").delivered, 2);
    assert!(clock::elapsed() < Duration::from_secs(1), "a reset was missed");
}
