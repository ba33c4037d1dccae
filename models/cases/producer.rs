//! Single entries of several tasks: the queue, a flush, and the end.

use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Either, join_all, select};
use tokio::task::{spawn, yield_now};
use tokio::time::clock;

use super::strategies::Limited;
use super::target::Slow;
use crate::{Delivery, DeliveryOptions, Producer};

const SENDERS: u32 = 3;

/// Its entries have no limit of time, because timers may run out at any moment.
fn producer(target: &Slow, options: DeliveryOptions) -> Producer<u32> {
    let options = options.backoff(Limited::to(2));
    Delivery::new(target.clone())
        .options(options.give_up_after(Duration::MAX))
        .producer()
}

/// Options with one place in the queue.
fn narrow() -> DeliveryOptions {
    DeliveryOptions::default().buffer(1)
}

/// Options with calls that only a flush or the end completes.
fn lingering() -> DeliveryOptions {
    DeliveryOptions::default().linger(Duration::from_hours(1))
}

/// There are more tasks than places in the queue: each entry is accepted once, and each task gets its fate.
pub async fn each_sender_gets_the_fate_of_its_entry() {
    let target = Slow::with_calls_of(1);
    let producer = producer(&target, narrow());
    let senders = (0..SENDERS).map(|entry| {
        let producer = producer.clone();
        spawn(async move { producer.send(entry).await.is_ok() })
    });
    let told: Vec<_> = join_all(senders.collect::<Vec<_>>()).await;
    assert!(told.into_iter().all(|told| told.expect("it is not aborted")));
    let report = producer.close().await.expect("all is taken");
    assert_eq!(report.delivered, u64::from(SENDERS));
    assert!(target.taken().values().all(|times| *times == 1));
}

/// A flush ends the wait for more entries, and ends itself when the fate of all entries before it is known.
pub async fn a_flush_ends_with_the_entries_before_it() {
    let target = Slow::with_calls_of(10);
    let producer = producer(&target, lingering().buffer(1));
    let flushing = (0..SENDERS).map(|entry| {
        let producer = producer.clone();
        spawn(async move {
            let receipt = producer.enqueue(entry).await.expect("it is open");
            producer.flush().await;
            let fate = receipt.now_or_never().expect("a flush ended before an earlier entry");
            assert!(fate.is_ok());
        })
    });
    for ended in join_all(flushing.collect::<Vec<_>>()).await {
        ended.expect("it is not aborted");
    }
    let report = producer.close().await.expect("all is taken");
    assert_eq!(report.delivered, u64::from(SENDERS));
}

/// An entry that is enqueued during a flush is before it or behind it: a flush does not wait for entries that linger.
pub async fn a_flush_does_not_wait_for_later_entries() {
    let target = Slow::with_calls_of(10);
    let producer = producer(&target, lingering());
    let others = (1..SENDERS).map(|entry| {
        let producer = producer.clone();
        spawn(async move { producer.enqueue(entry).await.expect("it is open") })
    });
    let others: Vec<_> = others.collect();
    let receipt = producer.enqueue(0).await.expect("it is open");
    producer.flush().await;
    assert!(receipt.await.is_ok());
    assert_eq!(
        clock::elapsed(),
        Duration::ZERO,
        "a flush waited for an entry behind it"
    );
    let receipts = join_all(others).await;
    let report = producer.close().await.expect("all is taken");
    assert_eq!(report.delivered, u64::from(SENDERS));
    drop(receipts);
}

/// Senders that are dropped, a flush and the end, all at once: enqueued entries are delivered, and others are handed back.
pub async fn nothing_is_lost_between_the_last_entry_and_the_end() {
    let target = Slow::with_calls_of(2);
    let producer = producer(&target, lingering().buffer(1));
    let receipts = (0..SENDERS).map(|entry| {
        let producer = producer.clone();
        spawn(async move {
            let enqueued = producer.enqueue(entry).await;
            match enqueued {
                Ok(receipt) => receipt.await.is_ok(),
                Err(handed_back) => {
                    assert_eq!(*handed_back.entry, entry);
                    false
                }
            }
        })
    });
    let receipts: Vec<_> = receipts.collect();
    let gone = spawn({
        let producer = producer.clone();
        async move {
            let _ = select(pin!(producer.send(SENDERS)), pin!(yield_now())).await;
        }
    });
    let flush = spawn({
        let producer = producer.clone();
        async move { producer.flush().await }
    });
    let report = producer.close().await.expect("all is taken");
    let told = join_all(receipts)
        .await
        .into_iter()
        .map(|told| told.expect("it is not aborted"));
    let delivered = told.filter(|is_delivered| *is_delivered).count();
    gone.await.expect("it is not aborted");
    flush.await.expect("it is not aborted");
    let taken = target.taken();
    assert!(taken.values().all(|times| *times == 1), "sent twice: {taken:?}");
    assert_eq!(report.delivered, taken.values().map(|times| *times as u64).sum::<u64>());
    assert_eq!(delivered, taken.keys().filter(|entry| **entry < SENDERS).count());
}

/// Receipts are polled, or dropped at any moment while the producer is closed: each refused entry is returned once.
pub async fn a_refused_entry_is_returned_once_whenever_its_receipt_is_dropped() {
    let target = Slow::with_calls_of(2).refusing();
    let producer = producer(&target, DeliveryOptions::default());
    let mut receipts = Vec::new();
    for entry in 0..SENDERS {
        receipts.push(producer.enqueue(entry).await.expect("it is open"));
    }
    let holders = receipts.into_iter().map(|receipt| {
        spawn(async move {
            // Dropped after two steps, if its fate is not known by then.
            let steps = pin!(async {
                yield_now().await;
                yield_now().await;
            });
            match select(receipt, steps).await {
                Either::Left((fate, _)) => Some(*fate.expect_err("it is refused").entry),
                Either::Right(((), receipt)) => {
                    drop(receipt);
                    None
                }
            }
        })
    });
    let holders: Vec<_> = holders.collect();
    let mut returned = undelivered(&producer).await;
    for holder in holders {
        returned.extend(holder.await.expect("it is not aborted"));
    }
    // Those whose receipts were dropped after the close.
    returned.extend(undelivered(&producer).await);
    returned.sort_unstable();
    assert_eq!(returned, Vec::from_iter(0..SENDERS));
}

/// The entries that a close returns.
async fn undelivered(producer: &Producer<u32>) -> Vec<u32> {
    match producer.close().await {
        Ok(_) => Vec::new(),
        Err(error) => error
            .undelivered()
            .iter()
            .map(|undelivered| *undelivered.entry)
            .collect(),
    }
}

/// All clones are dropped: enqueued entries are still delivered.
pub async fn queued_entries_are_delivered_when_all_senders_are_dropped() {
    let target = Slow::with_calls_of(2);
    let producer = producer(&target, lingering().buffer(1));
    let receipts = (0..SENDERS).map(|entry| {
        let producer = producer.clone();
        spawn(async move { producer.enqueue(entry).await.expect("it is open") })
    });
    let receipts: Vec<_> = receipts.collect();
    drop(producer);
    for receipt in receipts {
        assert!(receipt.await.expect("it is not aborted").await.is_ok());
    }
    assert_eq!(target.taken().len(), SENDERS as usize);
}
