//! Single entries of many tasks.

use std::future::{Ready, pending};
use std::pin::pin;
use std::time::Duration;

use aws_batch_delivery::targets::{Acknowledgement, Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, Disposition, InvalidEntry, Progress};
use futures::FutureExt;
use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, throttle};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn lingering() -> DeliveryOptions {
    no_delay().linger(ms(100))
}

/// Refuses odd numbers.
fn refuse_odd(chunk: &[usize]) -> Answer {
    let verdict = |number: &usize| {
        if number.is_multiple_of(2) {
            Verdict::Accepted
        } else {
            Verdict::Refused(Fault::new("odd"))
        }
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}

fn refuse(chunk: &[usize]) -> Answer {
    Answer::Each(chunk.iter().map(|_| Verdict::Refused(Fault::new("refused"))).collect())
}

#[tokio::test(start_paused = true)]
async fn closing_sends_what_is_buffered_in_as_few_calls_as_possible() {
    for (buffered, calls) in [(0, 0), (3, 1), (4, 1), (6, 2)] {
        let (target, made) = numbers(|_, chunk| accept(chunk));
        let producer = Delivery::new(target).options(lingering()).producer();
        let started = Instant::now();
        for _ in 0..buffered {
            drop(producer.enqueue(1).await.unwrap());
        }
        let report = producer.close().await.unwrap();
        assert_eq!((report.delivered, report.calls), (buffered, calls));
        assert_eq!(made.lock().unwrap().len() as u64, calls);
        assert!(started.elapsed() < ms(20), "no entry lingers: {:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn closing_again_does_nothing_and_returns_the_same_report() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let producer = Delivery::new(target).options(lingering()).producer();
    producer.send(1).await.unwrap();
    let (first, second) = tokio::join!(producer.close(), producer.close());
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(producer.clone().close().await.unwrap().delivered, 1);
}

#[tokio::test(start_paused = true)]
async fn sending_after_the_close_hands_the_entry_back() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let producer = Delivery::new(target).producer();
    let other = producer.clone();
    producer.close().await.unwrap();
    let undelivered = other.send(7).await.unwrap_err();
    assert!(matches!(undelivered.cause, Cause::Closed));
    assert_eq!((*undelivered.entry, undelivered.attempts), (7, 0));
    assert_eq!(
        undelivered.to_string(),
        "the entry was not delivered: not sent: the producer is closed"
    );
    assert!(matches!(other.try_enqueue(8).unwrap_err().cause, Cause::Closed));
    assert_eq!(calls.lock().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_caller_learns_the_fate_of_its_own_entry() {
    let (target, _) = numbers(|_, chunk| refuse_odd(chunk));
    let producer = Delivery::new(target).options(lingering()).producer();
    let send = |number| {
        let producer = producer.clone();
        tokio::spawn(async move { producer.send(number).await })
    };
    for (number, fate) in join_all((0..20).map(send)).await.into_iter().enumerate() {
        match fate.unwrap() {
            Ok(fate) => assert!(number % 2 == 0 && matches!(fate, Disposition::Delivered(_))),
            Err(undelivered) => {
                assert_eq!(*undelivered.entry, number);
                assert!(number % 2 == 1 && matches!(undelivered.cause, Cause::Refused(_)));
            }
        }
    }
    // Each sender was told.
    let report = producer.close().await.unwrap();
    assert_eq!((report.delivered, report.undelivered, report.calls), (10, 10, 5));
}

#[tokio::test(start_paused = true)]
async fn entries_without_receipts_are_handed_back_at_the_close() {
    let (target, _) = numbers(|_, chunk| refuse_odd(chunk));
    let producer = Delivery::new(target).producer();
    for number in 0..10 {
        drop(producer.enqueue(number).await.unwrap());
    }
    let error = producer.close().await.unwrap_err();
    let mut entries: Vec<_> = error
        .undelivered()
        .iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    entries.sort_unstable();
    assert_eq!(entries, [1, 3, 5, 7, 9]);
    assert_eq!(error.report.delivered, 5);
    assert_eq!(producer.close().await.unwrap(), error.report);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_cancels_nothing() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let producer = Delivery::new(target).options(lingering()).producer();
    let patient = producer.send(2);
    {
        let impatient = producer.send(1);
        assert!(tokio::time::timeout(ms(1), impatient).await.is_err());
    }
    assert_eq!(
        patient.await.unwrap(),
        Disposition::Delivered(Acknowledgement::default())
    );
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2]]);
}

#[tokio::test(start_paused = true)]
async fn a_flush_does_not_linger_and_waits_for_all_entries_before_it() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let producer = Delivery::new(target)
        .options(no_delay().linger(Duration::from_hours(1)))
        .producer();
    let started = Instant::now();
    let receipts = [producer.enqueue(1).await.unwrap(), producer.enqueue(2).await.unwrap()];
    sleep(ms(5)).await;
    producer.flush().await;
    assert_eq!(started.elapsed(), ms(5 + 8));
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2]]);
    for receipt in receipts {
        assert_eq!(
            receipt.now_or_never().unwrap().unwrap(),
            Disposition::Delivered(Acknowledgement::default())
        );
    }
    // Nothing is left to flush, and what comes later lingers.
    producer.flush().await;
    let mut late = producer.enqueue(3).await.unwrap();
    assert!(tokio::time::timeout(ms(1_000), &mut late).await.is_err());
    producer.close().await.unwrap();
    assert_eq!(late.await.unwrap(), Disposition::Delivered(Acknowledgement::default()));
}

#[tokio::test(start_paused = true)]
async fn whoever_sends_more_than_there_is_room_for_waits() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let options = no_delay().concurrency(1).buffer(5);
    let producer = Delivery::new(target).options(options).producer();
    let mut taken = 0;
    let refused = loop {
        match producer.try_enqueue(1) {
            Ok(receipt) => drop(receipt),
            Err(undelivered) => break undelivered,
        }
        taken += 1;
    };
    assert_eq!(taken, 5, "the delivery has read nothing yet");
    assert!(matches!(refused.cause, Cause::BufferFull));
    // There is room again as soon as the delivery reads.
    producer.send(*refused.entry).await.unwrap();
    assert_eq!(producer.close().await.unwrap().delivered, 6);
}

#[tokio::test(start_paused = true)]
async fn a_producer_continues_after_a_fault_that_stopped_its_delivery() {
    let (target, _) = numbers(|number, chunk| {
        if number == 1 {
            Answer::Stop(Fault::new("AccessDenied"))
        } else {
            accept(chunk)
        }
    });
    let producer = Delivery::new(target).producer();
    let undelivered = producer.send(1).await.unwrap_err();
    assert!(matches!(&undelivered.cause, Cause::Stopped(fault) if fault.code() == "AccessDenied"));
    assert_eq!(
        producer.send(2).await.unwrap(),
        Disposition::Delivered(Acknowledgement::default())
    );
    let report = producer.close().await.unwrap();
    assert_eq!((report.delivered, report.undelivered, report.calls), (1, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_closes_the_producer_and_hands_everything_back() {
    let cancellation = CancellationToken::new();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let progress = Progress::default();
    let options = no_delay().concurrency(1).buffer(50).progress(&progress);
    let producer = Delivery::new(target)
        .options(options.cancellation(cancellation.clone()))
        .producer();
    let mut receipts = Vec::new();
    for number in 0..50 {
        receipts.push(producer.enqueue(number).await.unwrap());
    }
    sleep(ms(1)).await;
    cancellation.cancel();
    let mut cancelled = 0;
    for receipt in receipts {
        match receipt.await {
            Ok(_) => {}
            Err(undelivered) => {
                assert!(matches!(undelivered.cause, Cause::Cancelled(_)));
                cancelled += 1;
            }
        }
    }
    assert!(matches!(producer.send(1).await.unwrap_err().cause, Cause::Closed));
    let report = producer.close().await.unwrap();
    assert_eq!((report.undelivered, report.delivered), (cancelled, 50 - cancelled));
    assert_eq!(progress.snapshot().undelivered, cancelled);
    assert!(cancelled >= 40, "{cancelled}");
}

#[tokio::test(start_paused = true)]
async fn a_producer_without_handles_delivers_what_it_has() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let producer = Delivery::new(target).options(lingering()).producer();
    drop(producer.enqueue(1).await.unwrap());
    drop(producer);
    sleep(ms(1)).await;
    assert_eq!(*calls.lock().unwrap(), [vec![1]]);
}

/// Throttles everything.
fn throttled(_: usize, _: &[usize]) -> Answer {
    Answer::Whole(throttle())
}

#[tokio::test(start_paused = true)]
async fn an_entry_of_a_producer_is_tried_for_a_minute_unless_the_options_say_otherwise() {
    for (options, minutes) in [
        (DeliveryOptions::default(), 1),
        (DeliveryOptions::default().give_up_after(Duration::from_mins(3)), 3),
    ] {
        let (target, _) = numbers(throttled);
        let options = options.backoff(|_: u32| Duration::from_secs(1));
        let producer = Delivery::new(target).options(options).producer();
        let started = Instant::now();
        let undelivered = producer.send(1).await.unwrap_err();
        assert!(matches!(undelivered.cause, Cause::Outage { .. }));
        assert_eq!(started.elapsed().as_secs().div_ceil(60), minutes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_within_a_time_hands_back_what_is_not_delivered_by_then() {
    let (target, _) = numbers(throttled);
    let options = DeliveryOptions::default().backoff(|_: u32| ms(100)).buffer(50);
    let producer = Delivery::new(target).options(options).producer();
    let waited_for = producer.enqueue(0).await.unwrap();
    for number in 1..50 {
        drop(producer.enqueue(number).await.unwrap());
    }
    let started = Instant::now();
    let (closed, late) = tokio::join!(producer.close_within(Duration::from_secs(20)), async {
        sleep(Duration::from_secs(21)).await;
        producer.send(50).await
    });
    assert_eq!(started.elapsed(), Duration::from_secs(21));
    let error = closed.unwrap_err();
    let mut entries: Vec<_> = error
        .undelivered()
        .iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    entries.sort_unstable();
    assert_eq!(entries, (1..50).collect::<Vec<_>>());
    assert!(matches!(waited_for.await.unwrap_err().cause, Cause::Cancelled(_)));
    assert!(matches!(late.unwrap_err().cause, Cause::Closed));
    assert_eq!(producer.close().await.unwrap().undelivered, 50);
}

#[tokio::test(start_paused = true)]
async fn a_close_within_a_time_gives_a_call_that_hangs_no_more_than_the_grace() {
    let options = no_delay().grace(ms(500)).buffer(5);
    let producer = Delivery::new(Hung).options(options).producer();
    while let Ok(receipt) = producer.try_enqueue(1) {
        drop(receipt);
    }
    let started = Instant::now();
    let error = producer.close_within(Duration::from_secs(2)).await.unwrap_err();
    let took = started.elapsed();
    assert!((ms(2_500)..ms(2_510)).contains(&took), "{took:?}");
    assert_eq!(error.undelivered().len(), 5);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| undelivered.may_have_been_delivered)
    );
}

/// As in a `select!` whose other branch closes: the future that has room is kept, and is not polled.
#[tokio::test(start_paused = true)]
async fn a_close_within_a_time_ends_beside_a_send_that_has_room_and_is_not_polled() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let producer = Delivery::new(target).options(no_delay().buffer(1)).producer();
    drop(producer.try_enqueue(0).unwrap());
    let mut waits = pin!(producer.send(1));
    assert!(waits.as_mut().now_or_never().is_none());
    let started = Instant::now();
    let report = producer.close_within(Duration::from_secs(5)).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
    assert_eq!(report.delivered, 1);
    let undelivered = waits.await.unwrap_err();
    assert_eq!(*undelivered.entry, 1);
    assert!(matches!(undelivered.cause, Cause::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_was_cancelled_ends_beside_a_send_that_has_room_and_is_not_polled() {
    let cancellation = CancellationToken::new();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let options = no_delay().buffer(1).cancellation(cancellation.clone());
    let producer = Delivery::new(target).options(options).producer();
    drop(producer.try_enqueue(0).unwrap());
    let mut waits = pin!(producer.send(1));
    assert!(waits.as_mut().now_or_never().is_none());
    sleep(Duration::from_secs(1)).await;
    cancellation.cancel();
    sleep(Duration::from_secs(1)).await;
    let closed = timeout(Duration::from_secs(9), producer.close_within(Duration::from_secs(5))).await;
    assert!(closed.is_ok());
    assert!(matches!(waits.await.unwrap_err().cause, Cause::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panicked_leaves_a_producer_no_more_entries_than_one_without_a_handler() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let delivery = Delivery::new(target).options(no_delay().buffer(10));
    let producer = delivery
        .on_undelivered(|_| -> Ready<()> { panic!("a slip") })
        .producer();
    for number in 0..500 {
        drop(producer.enqueue(number).await.unwrap());
    }
    let error = producer.close().await.unwrap_err();
    assert_eq!(error.report.undelivered, 500);
    assert!(error.undelivered().len() <= 11, "{}", error.undelivered().len());
}

#[tokio::test(start_paused = true)]
async fn a_close_within_a_time_is_a_close_where_the_time_suffices() {
    let cancellation = CancellationToken::new();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let options = no_delay().cancellation(cancellation.clone());
    let producer = Delivery::new(target).options(options).producer();
    drop(producer.enqueue(1).await.unwrap());
    let report = producer.close_within(Duration::from_secs(20)).await.unwrap();
    assert_eq!((report.delivered, report.finished), (1, true));
    assert!(!cancellation.is_cancelled());
}

/// Never answers.
struct Hung;

impl BatchTarget for Hung {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, _: &[usize]) -> Answer {
        pending().await
    }
}
