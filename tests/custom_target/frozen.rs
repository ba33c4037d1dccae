//! A process that is frozen for a while: a Lambda function between invocations, a laptop that is closed, a `SIGSTOP`. The
//! service goes on meanwhile, and its answers wait in the socket.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::events::STALLED;
use aws_batch_delivery::targets::{Answer, BatchTarget, Limits};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use futures::future::join_all;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep};
use tokio_util::sync::CancellationToken;

use crate::custom_target::numbers::{accept, no_delay, numbers, throttle};
use crate::support::log::Log;

/// How long the service takes for a call.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// How often the service has stored each entry.
type Stored = Arc<Mutex<HashMap<usize, u32>>>;

/// Stores a chunk when it arrives. Its answer comes by a connection, that is: a task that reads it and passes it on takes
/// some turns of the runtime after the answer has arrived.
struct Service(Stored);

impl BatchTarget for Service {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(10, 1_000)
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        for entry in chunk {
            *self.0.lock().unwrap().entry(*entry).or_default() += 1;
        }
        let (answer, answered) = oneshot::channel();
        let answer_of = accept(chunk);
        tokio::spawn(async move {
            sleep(ROUND_TRIP).await;
            for _ in 0..3 {
                yield_now().await;
            }
            let _ = answer.send(answer_of);
        });
        answered.await.unwrap()
    }
}

fn twice(stored: &Stored) -> usize {
    stored.lock().unwrap().values().filter(|times| **times > 1).count()
}

/// Freezes the process for this long while calls are in flight: timers of all kinds are due at once, and nothing runs.
async fn freeze(stored: &Stored, once: usize, time: Duration) {
    while stored.lock().unwrap().len() < once {
        sleep(Duration::from_millis(1)).await;
    }
    advance(time).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_before_a_freeze_is_not_sent_again() {
    for seconds in [29, 30, 31, 33, 100, 1_000, 100_000] {
        let stored = Stored::default();
        let delivery = Delivery::new(Service(Arc::clone(&stored)));
        let delivering = tokio::spawn(async move { delivery.deliver(0..4_000).await });
        freeze(&stored, 500, Duration::from_secs(seconds)).await;
        let report = delivering.await.unwrap().unwrap();
        assert_eq!((report.delivered, report.resubmitted), (4_000, 0), "{seconds} s");
        assert_eq!(twice(&stored), 0, "{seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn no_sender_gets_an_entry_back_that_was_stored_before_a_freeze() {
    for seconds in [33, 61, 100_000] {
        let stored = Stored::default();
        let producer = Delivery::new(Service(Arc::clone(&stored))).producer();
        let sending = join_all((0..200).map(|entry| producer.send(entry)));
        let (fates, ()) = tokio::join!(sending, freeze(&stored, 100, Duration::from_secs(seconds)));
        let handed_back = fates.iter().filter(|fate| fate.is_err()).count();
        assert_eq!((handed_back, twice(&stored)), (0, 0), "{seconds} s");
        producer.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_whose_time_ran_out_in_a_freeze_is_tried_once_more() {
    let freeze = Duration::from_mins(20);
    let goes_on = Instant::now() + freeze;
    let (target, calls) = numbers(move |_, chunk| {
        if Instant::now() < goes_on {
            Answer::Each(vec![throttle(); chunk.len()])
        } else {
            accept(chunk)
        }
    });
    let options = DeliveryOptions::default().backoff(|_: u32| Duration::from_secs(1));
    let delivering = tokio::spawn(async move { Delivery::new(target).options(options).deliver(vec![1; 40]).await });
    while calls.lock().unwrap().len() < 10 {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(100)).await;
    advance(freeze).await;
    let report = delivering.await.unwrap().unwrap();
    assert_eq!((report.delivered, report.undelivered), (40, 0));
}

#[tokio::test(start_paused = true)]
async fn a_freeze_is_no_stall() {
    let log = Log::start();
    let stored = Stored::default();
    let delivery = Delivery::new(Service(Arc::clone(&stored)));
    let delivering = delivery.deliver(0..4_000);
    let (report, ()) = tokio::join!(delivering, freeze(&stored, 500, Duration::from_secs(33)));
    assert_eq!(report.unwrap().delivered, 4_000);
    assert!(log.of(STALLED).is_empty(), "{:?}", log.of(STALLED));
}

#[tokio::test(start_paused = true)]
async fn the_grace_of_an_end_is_not_used_up_in_a_freeze() {
    for seconds in [2, 33, 1_000] {
        let stored = Stored::default();
        let cancellation = CancellationToken::new();
        let options = no_delay().cancellation(cancellation.clone());
        let delivery = Delivery::new(Service(Arc::clone(&stored))).options(options);
        let delivering = tokio::spawn(async move { delivery.deliver(0..4_000).await });
        while stored.lock().unwrap().len() < 100 {
            sleep(Duration::from_millis(1)).await;
        }
        cancellation.cancel();
        sleep(Duration::from_millis(1)).await;
        advance(Duration::from_secs(seconds)).await;
        let error = delivering.await.unwrap().unwrap_err();
        let in_doubt = error
            .undelivered()
            .iter()
            .filter(|one| one.may_have_been_delivered)
            .count();
        assert_eq!(
            (in_doubt, error.report.delivered),
            (0, stored.lock().unwrap().len() as u64),
            "{seconds} s"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn closing_within_a_time_delivers_what_a_freeze_left_no_time_for() {
    let stored = Stored::default();
    let producer = Delivery::new(Service(Arc::clone(&stored)))
        .options(no_delay().concurrency(1))
        .producer();
    for entry in 0..100 {
        drop(producer.enqueue(entry).await.unwrap());
    }
    let closing = producer.close_within(Duration::from_secs(5));
    let (report, ()) = tokio::join!(closing, freeze(&stored, 10, Duration::from_secs(33)));
    assert_eq!((report.unwrap().delivered, twice(&stored)), (100, 0));
}

#[tokio::test(start_paused = true)]
async fn entries_that_lingered_through_a_freeze_leave_together() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let options = no_delay().linger(Duration::from_secs(1));
    let producer = Delivery::new(target).options(options).producer();
    let receipts = [producer.enqueue(1).await.unwrap(), producer.enqueue(2).await.unwrap()];
    sleep(Duration::from_millis(500)).await;
    advance(Duration::from_secs(33)).await;
    for receipt in receipts {
        receipt.await.unwrap();
    }
    assert_eq!(*calls.lock().unwrap(), [[1, 2]]);
}
