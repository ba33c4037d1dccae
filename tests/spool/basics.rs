//! Entries go to disk, from there to the service, and are gone then.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::events::SPOOL;
use aws_batch_delivery::spool::{SpoolError, SpoolFolder, SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::{Answer, Fault};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use tempfile::tempdir;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::log::Log;
use crate::numbers::{accept, numbers, refuse_odd, sent, spooled};
use crate::options::{no_delay, one_at_a_time};

/// A service that cannot be used at all.
fn stopped(_: usize, _: &[usize]) -> Answer {
    Answer::Stop(Fault::new("no such queue"))
}

#[tokio::test(start_paused = true)]
async fn entries_are_delivered_in_order_and_removed_from_the_disk() {
    for policy in [
        SyncPolicy::EachGroup,
        SyncPolicy::Every(Duration::from_millis(10)),
        SyncPolicy::Never,
    ] {
        let folder = tempdir().unwrap();
        let (target, calls) = numbers(|_, chunk| accept(chunk));
        let delivery = Delivery::new(target).options(one_at_a_time());
        let options = SpoolOptions::at(folder.path()).sync(policy);
        let spool = delivery.spooled(options).await.unwrap();
        for number in 0..100 {
            spool.enqueue(&number).await.unwrap();
        }
        spool.flush().await.unwrap();
        assert_eq!(sent(&calls), (0..100).collect::<Vec<_>>(), "{policy:?}");
        let report = spool.close().await.unwrap();
        assert_eq!((report.report.delivered, report.left), (100, 0));
        assert_eq!(SpoolFolder::inspect(folder.path()).unwrap().entries, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_close_leaves_goes_first_after_the_next_start() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(stopped);
    let spool = spooled(target, no_delay(), folder.path()).await;
    for number in 0..25 {
        spool.enqueue(&number).await.unwrap();
    }
    assert_eq!(spool.figures().await.unwrap().entries, 25);
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.left), (0, 25));

    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let spool = spooled(target, one_at_a_time(), folder.path()).await;
    spool.enqueue(&25).await.unwrap();
    let report = spool.close_within(Duration::from_secs(10)).await.unwrap();
    assert_eq!((report.report.delivered, report.left), (26, 0));
    assert_eq!(sent(&calls), (0..26).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_stops_is_tried_again_and_nothing_overtakes() {
    let folder = tempdir().unwrap();
    let (target, calls) = numbers(|call, chunk| if call <= 3 { stopped(call, chunk) } else { accept(chunk) });
    let spool = spooled(target, one_at_a_time(), folder.path()).await;
    for number in 0..30 {
        spool.enqueue(&number).await.unwrap();
    }
    spool.flush().await.unwrap();
    let calls = calls.lock().unwrap().clone();
    assert_eq!(calls[3..].concat(), (0..30).collect::<Vec<_>>());
    assert_eq!(spool.close().await.unwrap().report.undelivered, 0);
}

#[tokio::test(start_paused = true)]
async fn entries_that_are_refused_for_good_are_kept_apart() {
    let log = Log::start();
    let folder = tempdir().unwrap();
    let (target, _) = numbers(|_, chunk| refuse_odd(chunk));
    let spool = spooled(target, no_delay(), folder.path()).await;
    for number in 0..20 {
        spool.enqueue(&number).await.unwrap();
    }
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.report.undelivered), (10, 10));
    assert_eq!((report.left, report.refused), (0, 10));
    let mut opened = SpoolFolder::open(folder.path()).unwrap();
    let refused = opened.refused(100).unwrap();
    let kept: Vec<_> = refused
        .iter()
        .map(|entry| String::from_utf8_lossy(&entry.json))
        .collect();
    assert_eq!(kept, ["1", "3", "5", "7", "9", "11", "13", "15", "17", "19"]);
    assert_eq!(refused[0].cause.as_deref(), Some("refused: odd"));
    opened.remove_until(&refused[4]).unwrap();
    assert_eq!(opened.refused(100).unwrap().len(), 5);
    // One for all of them.
    let mut logged = log.of(SPOOL);
    logged.retain(|event| event.field("cause") == "refused: odd");
    assert_eq!((logged.len(), logged[0].field("number")), (1, "1"));
}

#[tokio::test(start_paused = true)]
async fn a_handler_takes_entries_that_are_refused_for_good_and_those_alone() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(|call, chunk| {
        if call == 1 {
            stopped(call, chunk)
        } else {
            refuse_odd(chunk)
        }
    });
    let taken = Arc::new(Mutex::new(Vec::new()));
    let handler_takes = Arc::clone(&taken);
    let delivery = Delivery::new(target)
        .options(no_delay())
        .on_undelivered(move |undelivered| {
            handler_takes.lock().unwrap().push(*undelivered.entry);
            async {}
        });
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    for number in 0..6 {
        spool.enqueue(&number).await.unwrap();
    }
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.undelivered, report.refused, report.left), (3, 0, 0));
    let mut taken = taken.lock().unwrap().clone();
    taken.sort_unstable();
    assert_eq!(taken, [1, 3, 5]);
}

#[tokio::test(start_paused = true)]
async fn entries_of_another_type_are_kept_and_hold_nothing_up() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(stopped);
    let texts = Delivery::new(target).map_entries(|text: &String| text.len());
    let spool = texts.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    spool.enqueue(&"secret".to_owned()).await.unwrap();
    spool.close().await.unwrap();

    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let spool = spooled(target, no_delay(), folder.path()).await;
    spool.enqueue(&7).await.unwrap();
    let report = spool.close_within(Duration::from_secs(10)).await.unwrap();
    assert_eq!((report.refused, report.left), (1, 0));
    assert_eq!(sent(&calls), [7]);
    let opened = SpoolFolder::open(folder.path()).unwrap();
    let refused = opened.refused(10).unwrap();
    let cause = refused[0].cause.clone().unwrap();
    assert!(cause.contains("usize") && !cause.contains("secret"), "{cause}");
    assert_eq!(refused[0].json, b"\"secret\"");
}

#[tokio::test(start_paused = true)]
async fn a_closed_spool_takes_nothing_and_closes_again() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let spool = spooled(target, no_delay(), folder.path()).await;
    let other = spool.clone();
    let report = spool.close().await.unwrap();
    assert_eq!(other.close().await.unwrap(), report);
    assert!(matches!(other.enqueue(&1).await, Err(SpoolError::Closed)));
    other.flush().await.unwrap();
    assert!(matches!(other.figures().await, Err(SpoolError::Closed)));
    // The folder is free.
    SpoolFolder::open(folder.path()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_folder_is_free_soon_after_the_last_handle_is_dropped() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(stopped);
    let spool = spooled(target, no_delay(), folder.path()).await;
    let error = Delivery::new(numbers(stopped).0)
        .spooled(SpoolOptions::at(folder.path()))
        .await
        .unwrap_err();
    assert!(matches!(error, SpoolError::InUse { .. }), "{error}");
    spool.enqueue(&1).await.unwrap();
    drop(spool);
    while SpoolFolder::open(folder.path()).is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(SpoolFolder::inspect(folder.path()).unwrap().entries, 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_closes_the_spool_and_leaves_the_rest() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(stopped);
    let deadline = Instant::now() + Duration::from_mins(1);
    let options = DeliveryOptions::default().deadline(deadline);
    let spool = spooled(target, options, folder.path()).await;
    spool.enqueue(&1).await.unwrap();
    let begun_before = tokio::spawn({
        let spool = spool.clone();
        async move { spool.flush().await }
    });
    sleep_until(deadline + Duration::from_secs(5)).await;
    assert!(begun_before.is_finished());
    let flushed = timeout(Duration::from_mins(1), spool.flush()).await.unwrap();
    assert!(matches!(flushed, Err(SpoolError::Closed)));
    assert!(matches!(spool.enqueue(&2).await, Err(SpoolError::Closed)));
    assert_eq!(spool.close().await.unwrap().left, 1);
}

#[test]
fn the_end_of_the_runtime_that_started_the_spool_closes_it() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    };
    let folder = tempdir().unwrap();
    let (target, _) = numbers(stopped);
    let first = runtime();
    let spool = first.block_on(async {
        let spool = spooled(target, no_delay(), folder.path()).await;
        spool.enqueue(&1).await.unwrap();
        spool
    });
    drop(first);
    runtime().block_on(async {
        let flushed = timeout(Duration::from_mins(1), spool.flush()).await.unwrap();
        assert!(matches!(flushed, Err(SpoolError::Closed)));
        assert!(matches!(spool.enqueue(&2).await, Err(SpoolError::Closed)));
        assert!(matches!(spool.close().await, Err(SpoolError::Closed)));
        assert!(matches!(spool.close().await, Err(SpoolError::Closed)));
        // What was acknowledged is there, and the folder is free.
        let left = SpoolFolder::open(folder.path()).unwrap().entries(10).unwrap();
        assert_eq!(left.len(), 1);
    });
}

#[tokio::test(start_paused = true)]
async fn a_flush_ends_the_linger() {
    let folder = tempdir().unwrap();
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let options = no_delay().linger(Duration::from_secs(30));
    let spool = spooled(target, options, folder.path()).await;
    let began = Instant::now();
    spool.enqueue(&1).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert!(sent(&calls).is_empty(), "it lingers");
    spool.flush().await.unwrap();
    assert_eq!(sent(&calls), [1]);
    // Later ones linger again.
    spool.enqueue(&2).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(sent(&calls), [1]);
    let report = spool.close_within(Duration::from_secs(10)).await.unwrap();
    assert_eq!(report.left, 0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_flush_ends_the_pause_after_a_stop() {
    let folder = tempdir().unwrap();
    let is_there = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&is_there);
    let (target, _) = numbers(move |call, chunk| {
        if answers.load(Relaxed) {
            accept(chunk)
        } else {
            stopped(call, chunk)
        }
    });
    let spool = spooled(target, no_delay(), folder.path()).await;
    spool.enqueue(&1).await.unwrap();
    // The pauses become a minute.
    sleep(Duration::from_mins(10)).await;
    is_there.store(true, Relaxed);
    let began = Instant::now();
    spool.flush().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(spool.close().await.unwrap().left, 0);
}
