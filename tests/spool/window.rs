//! How far the delivery goes ahead of what is removed from the disk, and in which order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::spool::{SpoolFolder, SpoolOptions};
use aws_batch_delivery::targets::{Answer, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use futures::future::join_all;
use tempfile::tempdir;
use tokio::time::sleep;

use crate::numbers::{accept, numbers, sent, spooled};
use crate::options::no_delay;
use crate::scripted::throttle;

/// Rejects one number as long as this says so.
fn reject(number: usize, rejects: &AtomicUsize, chunk: &[usize]) -> Answer {
    let rejects = rejects.load(Relaxed) > 0;
    let verdict = |entry: &usize| {
        if rejects && *entry == number {
            throttle()
        } else {
            Verdict::Accepted
        }
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}

#[tokio::test(start_paused = true)]
async fn no_more_than_a_window_is_sent_before_the_first_is_settled() {
    const WINDOW: usize = 50;
    let folder = tempdir().unwrap();
    let rejects = Arc::new(AtomicUsize::new(1));
    let rejecting = Arc::clone(&rejects);
    let (target, calls) = numbers(move |_, chunk| reject(3, &rejecting, chunk));
    let delivery = Delivery::new(target).options(DeliveryOptions::default().backoff(|_: u32| Duration::from_secs(1)));
    let spool = delivery
        .spooled(SpoolOptions::at(folder.path()).window(WINDOW))
        .await
        .unwrap();
    for number in 0..200 {
        spool.enqueue(&number).await.unwrap();
    }
    sleep(Duration::from_mins(1)).await;
    let furthest = sent(&calls).into_iter().max().unwrap();
    assert!((WINDOW - 10..WINDOW + 3).contains(&furthest), "{furthest}");
    let left = SpoolFolder::inspect(folder.path()).unwrap();
    assert_eq!(left.entries, 197, "those before it are removed");
    rejects.store(0, Relaxed);
    spool.flush().await.unwrap();
    assert_eq!(spool.close().await.unwrap().left, 0);
    let mut sent = sent(&calls);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_close_leaves_nothing_that_was_delivered_behind_an_entry_that_was_not() {
    let folder = tempdir().unwrap();
    let rejects = AtomicUsize::new(1);
    let (target, _) = numbers(move |_, chunk| reject(3, &rejects, chunk));
    let delivery = Delivery::new(target).options(DeliveryOptions::default().backoff(|_: u32| Duration::from_secs(1)));
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    for number in 0..20 {
        spool.enqueue(&number).await.unwrap();
    }
    sleep(Duration::from_secs(10)).await;
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.left), (19, 1));
    let left = SpoolFolder::open(folder.path()).unwrap().entries(100).unwrap();
    assert_eq!(left.iter().map(|entry| entry.number).collect::<Vec<_>>(), [3]);
}

#[tokio::test(start_paused = true)]
async fn what_is_settled_is_removed_within_a_second_or_two() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let spool = spooled(target, no_delay(), folder.path()).await;
    for number in 0..10 {
        spool.enqueue(&number).await.unwrap();
    }
    spool.flush().await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(SpoolFolder::inspect(folder.path()).unwrap().entries, 0);
    assert_eq!(spool.figures().await.unwrap().oldest, None);
}

#[tokio::test]
async fn entries_of_many_tasks_are_all_delivered_and_those_of_one_in_order() {
    const TASKS: usize = 40;
    const EACH: usize = 250;
    let folder = tempdir().unwrap();
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let spool = spooled(target, no_delay().concurrency(1), folder.path()).await;
    let tasks = (0..TASKS).map(|task| {
        let spool = spool.clone();
        async move {
            for number in 0..EACH {
                spool.enqueue(&(task * EACH + number)).await.unwrap();
            }
        }
    });
    join_all(tasks).await;
    spool.flush().await.unwrap();
    assert_eq!(spool.close().await.unwrap().report.delivered, (TASKS * EACH) as u64);
    let sent = sent(&calls);
    for task in 0..TASKS {
        let of_task: Vec<_> = sent.iter().filter(|number| **number / EACH == task).copied().collect();
        assert_eq!(of_task, (task * EACH..(task + 1) * EACH).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_leaves_the_entry_in_the_folder() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(|_, chunk| crate::numbers::refuse_odd(chunk));
    let delivery = Delivery::new(target)
        .options(no_delay())
        .on_undelivered(|_| async { Err::<(), _>("the other store is gone") });
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    for number in 0..10 {
        spool.enqueue(&number).await.unwrap();
    }
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.refused, report.left), (5, 5, 0));
}
