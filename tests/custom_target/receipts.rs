//! Receipts that are dropped before they are asked: an undelivered entry is then the producer's again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::events::UNCLAIMED;
use aws_batch_delivery::targets::{Answer, Fault, Verdict};
use aws_batch_delivery::{Delivery, DeliveryError, Undelivered};
use tokio::time::sleep;

use crate::custom_target::numbers::{no_delay, numbers};
use crate::support::log::Log;

fn refuse(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Refused(Fault::new("no")); chunk.len()])
}

fn entries(error: &DeliveryError<usize>) -> Vec<usize> {
    error
        .undelivered()
        .iter()
        .map(|undelivered| *undelivered.entry)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_is_dropped_after_its_fate_is_known_leaves_its_entry_to_the_close() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let producer = Delivery::new(target).options(no_delay()).producer();
    let early = producer.enqueue(1).await.unwrap();
    let late = producer.enqueue(2).await.unwrap();
    let asked = producer.enqueue(3).await.unwrap();
    drop(early);
    producer.flush().await;
    drop(late);
    assert_eq!(*asked.await.unwrap_err().entry, 3);
    let error = producer.close().await.unwrap_err();
    assert_eq!(entries(&error), [1, 2]);
    assert_eq!(error.report.undelivered, 3);
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_is_dropped_after_its_fate_is_known_leaves_its_entry_to_the_close() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let producer = Delivery::new(target).options(no_delay()).producer();
    {
        let mut sending = Box::pin(producer.send(1));
        assert!(futures::poll!(&mut sending).is_pending());
        producer.flush().await;
    }
    assert_eq!(entries(&producer.close().await.unwrap_err()), [1]);
}

#[tokio::test(start_paused = true)]
async fn the_handler_gets_what_such_a_receipt_leaves() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let given: Arc<Mutex<Vec<usize>>> = Arc::default();
    let handler = {
        let given = Arc::clone(&given);
        move |one: &Undelivered<usize>| {
            given.lock().unwrap().push(*one.entry);
            std::future::ready(())
        }
    };
    let delivery = Delivery::new(target).options(no_delay()).on_undelivered(handler);
    let producer = delivery.producer();
    let receipt = producer.enqueue(1).await.unwrap();
    producer.flush().await;
    drop(receipt);
    assert!(producer.close().await.unwrap_err().undelivered().is_empty());
    assert_eq!(*given.lock().unwrap(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_is_dropped_after_the_close_leaves_its_entry_to_the_next_close() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let producer = Delivery::new(target).options(no_delay()).producer();
    let receipt = producer.enqueue(1).await.unwrap();
    let report = producer.close().await.unwrap();
    assert_eq!(report.undelivered, 1);
    drop(receipt);
    let error = producer.close().await.unwrap_err();
    assert_eq!((entries(&error), &error.report), (vec![1], &report));
    assert_eq!(producer.close().await.unwrap(), report);
}

#[tokio::test(start_paused = true)]
async fn a_producer_whose_receipts_are_dropped_warns_when_entries_are_refused_and_keeps_the_first_of_them() {
    const BUFFER: usize = 100;
    let log = Log::start();
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let producer = Delivery::new(target).options(no_delay().buffer(BUFFER)).producer();
    let seconds = 150;
    for _ in 0..seconds {
        for entry in 0..10 {
            drop(producer.enqueue(entry).await.unwrap());
        }
        sleep(Duration::from_secs(1)).await;
    }
    let warnings = log.of(UNCLAIMED);
    let counted: Vec<_> = warnings.iter().map(|warning| warning.field("entries")).collect();
    assert_eq!(counted.len(), 3, "{counted:?}");
    for warning in &warnings {
        assert_eq!(
            (warning.field("cause"), warning.field("destination")),
            ("refused: no", "custom")
        );
    }
    let error = producer.close().await.unwrap_err();
    assert_eq!(
        (error.undelivered().len(), error.report.undelivered),
        (BUFFER, 10 * seconds)
    );
    assert_eq!(
        error.to_string(),
        "1500 of 1500 entries were not delivered: 1500 × refused: no"
    );
    assert_eq!(log.of(UNCLAIMED).last().unwrap().field("entries"), "1500");
}

#[tokio::test(start_paused = true)]
async fn a_handler_gets_all_entries_whose_receipts_were_dropped() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let given = Arc::new(Mutex::new(0));
    let count = Arc::clone(&given);
    let delivery = Delivery::new(target)
        .options(no_delay().buffer(10))
        .on_undelivered(move |_| {
            *count.lock().unwrap() += 1;
            std::future::ready(())
        });
    let producer = delivery.producer();
    for _ in 0..500 {
        drop(producer.enqueue(1).await.unwrap());
    }
    assert_eq!(producer.close().await.unwrap_err().report.undelivered, 500);
    assert_eq!(*given.lock().unwrap(), 500);
}
