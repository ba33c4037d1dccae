//! Values that cannot be converted into entries.

use std::any::type_name;
use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use aws_batch_delivery::targets::Acknowledgement;
use aws_batch_delivery::{Cause, DeliveryError, DeliveryOptions, Disposition, InvalidEntry, Progress, Undelivered};
use aws_batch_simulator::InjectedFault;
use futures::{StreamExt, stream};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::typed::shop;

/// Serializes unless its number is odd.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Picky(u32);

impl Serialize for Picky {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            13 => panic!("13 is said to bring bad luck"),
            odd if odd % 2 == 1 => Err(S::Error::custom(format!("{odd} is odd"))),
            even => BTreeMap::from([("id", even.to_string())]).serialize(serializer),
        }
    }
}

/// The even ones are delivered, the odd ones handed back in their positions, with a message that does not quote them.
fn assert_picked(error: &DeliveryError<Picky>, count: u64) {
    let handed_back: Vec<_> = error
        .undelivered()
        .iter()
        .map(|one| (u64::from(one.entry.0), one.position))
        .collect();
    let odd: Vec<_> = (0..count)
        .filter(|number| number % 2 == 1)
        .map(|number| (number, number))
        .collect();
    assert_eq!(handed_back, odd);
    assert_eq!(
        (error.report.delivered, error.report.undelivered),
        (count - odd.len() as u64, odd.len() as u64)
    );
    assert_eq!(
        error.to_string(),
        format!(
            "{} of {count} entries were not delivered: {} × not sent: {} could not be converted into an entry",
            odd.len(),
            odd.len(),
            type_name::<Picky>()
        )
    );
    let Cause::Invalid(invalid @ InvalidEntry::Unconvertible { .. }) = &error.undelivered()[0].cause else {
        panic!("{error}")
    };
    assert_eq!(invalid.source().unwrap().to_string(), "1 is odd");
    assert!(!format!("{error:?} {:?}", error.undelivered()).contains("is odd"));
    assert!(error.undelivered()[0].cause.is_permanent());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_serialized_is_handed_back_alone() {
    let (_, table, delivery) = shop();
    let progress = Progress::default();
    let options = DeliveryOptions::default().progress(&progress);
    let orders = delivery.options(options).put_items();
    assert_picked(&orders.deliver((0..12).map(Picky)).await.unwrap_err(), 12);
    assert_picked(
        &orders
            .deliver_stream(stream::iter((0..12).map(Picky)))
            .await
            .unwrap_err(),
        12,
    );
    assert_eq!((table.len(), progress.snapshot().undelivered), (6, 12));
    // No value of a long input can be converted.
    let odd = std::iter::repeat_n(Picky(1), 1_000);
    let error = orders.deliver_stream(stream::iter(odd)).await.unwrap_err();
    assert_eq!((error.report.calls, error.undelivered().len()), (0, 1_000));
}

/// The handler of the first value waits with the lock, which that of the second one waits for.
#[tokio::test(start_paused = true)]
async fn a_handler_with_a_lock_ends_although_a_value_that_became_no_entry_waits_in_it() {
    let (_, table, delivery) = shop();
    table.poison(|_| true);
    let lock = Arc::new(Mutex::new(0));
    let locked = Arc::clone(&lock);
    let orders = delivery.put_items().on_undelivered(move |_: &Undelivered<Picky>| {
        let lock = Arc::clone(&locked);
        async move {
            let mut handled = lock.lock().await;
            sleep(Duration::from_secs(1)).await;
            *handled += 1;
        }
    });
    let delivering = orders.deliver([1, 2].map(Picky));
    let ended = timeout(Duration::from_mins(1), delivering).await;
    assert_eq!(ended.unwrap().unwrap_err().report.undelivered, 2);
    assert_eq!(*lock.lock().await, 2);
}

#[tokio::test(start_paused = true)]
async fn progress_counts_a_value_that_became_no_entry_at_once() {
    let (_, _, delivery) = shop();
    let progress = Progress::default();
    let orders = delivery
        .options(DeliveryOptions::default().progress(&progress))
        .put_items();
    let values = stream::iter([1, 2].map(Picky)).chain(stream::pending());
    let delivering = timeout(Duration::from_secs(1), orders.deliver_stream(values)).await;
    assert!(delivering.is_err(), "the stream has no end");
    assert_eq!(progress.snapshot().undelivered, 1);
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_batch_is_handed_back_when_a_conversion_panics() {
    let (_, _, delivery) = shop();
    let error = delivery.put_items().deliver([2, 13, 4].map(Picky)).await.unwrap_err();
    let handed_back: Vec<_> = error
        .undelivered()
        .iter()
        .map(|one| (one.entry.0, one.position))
        .collect();
    assert!(handed_back.contains(&(13, 1)), "{handed_back:?}");
    assert!(handed_back.contains(&(4, 2)), "{handed_back:?}");
    assert_eq!(error.report.delivered + error.report.undelivered, 3, "{error}");
    assert!(error.report.finished);
    assert_eq!(error.stopped().unwrap().code(), "the input panicked");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_after_a_conversion_panicked_has_three_graces() {
    let (_, _, delivery) = shop();
    let orders = delivery.put_items().on_undelivered(|undelivered: &Undelivered<Picky>| {
        let hangs = undelivered.entry.0 == 4;
        async move {
            if hangs {
                pending::<()>().await;
            }
        }
    });
    let delivering = orders.deliver([2, 13, 4].map(Picky));
    let error = timeout(Duration::from_mins(10), delivering).await.unwrap().unwrap_err();
    assert_eq!(error.report.delivered + error.report.undelivered, 3);
    assert_eq!(error.undelivered()[0].entry.0, 4);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_for_one_entry_does_not_keep_the_unread_values_from_theirs() {
    let (_, table, delivery) = shop();
    table.poison(|item| item["id"]["S"] == "0");
    let cancellation = CancellationToken::new();
    let options = DeliveryOptions::default().cancellation(cancellation.clone());
    let handled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&handled);
    let orders = delivery
        .options(options)
        .put_items()
        .on_undelivered(move |undelivered: &Undelivered<Picky>| {
            let is_first = undelivered.entry.0 == 0;
            if is_first {
                cancellation.cancel();
            } else {
                count.fetch_add(1, Relaxed);
            }
            async move {
                if is_first {
                    pending::<()>().await;
                }
            }
        });
    let values = (0..100_000).map(|number| Picky(number * 2));
    let error = orders.deliver(values).await.unwrap_err();
    let left = error.undelivered();
    assert!(left.len() == 1 && left[0].entry.0 == 0, "{}", left.len());
    assert_eq!(error.report.delivered + handled.load(Relaxed) + 1, 100_000);
    assert!(handled.load(Relaxed) > 1_000, "{handled:?}");
}

#[tokio::test(start_paused = true)]
async fn after_a_cancellation_no_value_is_converted_any_more() {
    let (_, _, delivery) = shop();
    let cancellation = CancellationToken::new();
    let options = DeliveryOptions::default().cancellation(cancellation.clone());
    let converted = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&converted);
    let orders = delivery.options(options).try_map_entries(move |_: &u32| {
        if count.fetch_add(1, Relaxed) == 1_000 {
            cancellation.cancel();
        }
        Err("no entry")
    });
    let error = orders.deliver(0..100_000).await.unwrap_err();
    assert!(converted.load(Relaxed) < 2_000, "{converted:?}");
    assert_eq!((error.report.undelivered, error.report.finished), (100_000, true));
    let last = error.undelivered().last().unwrap();
    assert!(last.position == 99_999 && matches!(last.cause, Cause::Cancelled(None)));
}

#[tokio::test(start_paused = true)]
async fn a_failed_stream_hands_back_values() {
    let (_, table, delivery) = shop();
    table.script([InjectedFault::Throttle]);
    let values = stream::iter([Ok(Picky(0)), Ok(Picky(1)), Err("torn")]);
    let error = delivery.put_items().try_deliver_stream(values).await.unwrap_err();
    let handed_back: Vec<_> = error.undelivered().iter().map(|one| one.entry.0).collect();
    assert_eq!(
        (handed_back, error.stream_error.unwrap().to_string()),
        (vec![0, 1], "torn".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn each_task_of_a_producer_gets_the_result_of_its_own_value() {
    let (_, table, delivery) = shop();
    let producer = delivery.put_items().producer();
    let sent = (0..12).map(|number| producer.send(Picky(number)));
    for (number, ended) in (0..).zip(futures::future::join_all(sent).await) {
        match ended {
            Ok(fate) => assert!(number % 2 == 0 && matches!(fate, Disposition::Delivered(_))),
            Err(undelivered) => {
                assert_eq!(
                    (*undelivered.entry, undelivered.position),
                    (Picky(number), u64::from(number))
                );
            }
        }
    }
    // The value whose receipt was dropped is returned by `close`.
    drop(producer.enqueue(Picky(15)).await.unwrap());
    producer.flush().await;
    let error = producer.close().await.unwrap_err();
    assert_eq!(
        (*error.undelivered()[0].entry, error.undelivered()[0].position),
        (Picky(15), 12)
    );
    assert_eq!(
        (error.report.delivered, error.report.undelivered, table.len()),
        (6, 7, 6)
    );
}

#[tokio::test(start_paused = true)]
async fn a_flush_hurries_what_was_sent_before_it_also_when_some_values_became_no_entries() {
    let (_, _, delivery) = shop();
    let options = DeliveryOptions::default()
        .linger(Duration::from_hours(1))
        .give_up_after(Duration::from_hours(3));
    let producer = delivery.options(options).put_items().producer();
    let started = tokio::time::Instant::now();
    for number in 0..7 {
        let receipt = producer.enqueue(Picky(number)).await.unwrap();
        tokio::spawn(receipt);
    }
    producer.flush().await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    // Entries after the flush linger again.
    assert_eq!(
        producer.send(Picky(20)).await.unwrap(),
        Disposition::Delivered(Acknowledgement::default())
    );
    assert!(started.elapsed() >= Duration::from_hours(1), "{:?}", started.elapsed());
    assert_eq!(producer.close().await.unwrap().delivered, 5);
}
