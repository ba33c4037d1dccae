//! Entries that arrive over time.

use std::error::Error;
use std::io;
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions};
use futures::{FutureExt, Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::custom_target::numbers::{accept, no_delay, numbers, one_at_a_time, throttle};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn lingering(linger: Duration) -> DeliveryOptions {
    no_delay().linger(linger)
}

/// A number after each of the delays.
fn numbers_after(delays: impl IntoIterator<Item = u64>) -> impl Stream<Item = usize> {
    stream::iter(delays).enumerate().then(|(number, delay)| async move {
        sleep(ms(delay)).await;
        number + 1
    })
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_delivered_like_a_batch() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let report = Delivery::new(target)
        .deliver_stream(stream::iter(vec![1; 101]))
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (101, 26));
    assert_eq!(calls.lock().unwrap().len(), 26);
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_entries_makes_no_call() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let report = Delivery::new(target).deliver_stream(stream::empty()).await.unwrap();
    assert_eq!((report.delivered, calls.lock().unwrap().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_partly_filled_chunk_leaves_after_the_linger_time() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(lingering(ms(100)));
    // Three at once, and then nothing for an hour.
    let stream = numbers_after([0, 0, 0, 3_600_000]);
    let mut delivering = Box::pin(delivery.deliver_stream(stream));
    tokio::select! {
        _ = &mut delivering => panic!("the stream goes on"),
        () = sleep(ms(99)) => {}
    }
    assert_eq!(calls.lock().unwrap().len(), 0);
    tokio::select! {
        _ = &mut delivering => panic!("the stream goes on"),
        // The timer's own granularity.
        () = sleep(ms(1) + ms(1)) => {}
    }
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2, 3]]);
}

#[tokio::test(start_paused = true)]
async fn a_full_chunk_does_not_linger() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(lingering(ms(100)));
    let mut delivering = Box::pin(delivery.deliver_stream(stream::iter([1; 4]).chain(stream::pending())));
    tokio::select! {
        _ = &mut delivering => panic!("the stream goes on"),
        () = sleep(ms(20)) => {}
    }
    assert_eq!(calls.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_chunk_that_is_full_by_its_bytes_does_not_linger() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(lingering(ms(100)));
    // Each number is as many bytes, and a call has room for 100.
    let mut delivering = Box::pin(delivery.deliver_stream(stream::iter([50, 50]).chain(stream::pending())));
    tokio::select! {
        _ = &mut delivering => panic!("the stream goes on"),
        () = sleep(ms(20)) => {}
    }
    assert_eq!(*calls.lock().unwrap(), [vec![50, 50]]);
}

#[tokio::test(start_paused = true)]
async fn neither_retries_nor_halves_wait_for_entries_that_linger() {
    let refused = Verdict::Refused(Fault::new("malformed"));
    for (first, later) in [(throttle(), vec![vec![1, 2, 3]]), (refused, vec![vec![1], vec![2]])] {
        let (target, calls) = numbers(move |number, chunk| match number {
            1 => Answer::Whole(first.clone()),
            _ => accept(chunk),
        });
        let options = DeliveryOptions::default().backoff(|_: u32| ms(30));
        let delivery = Delivery::new(target).options(options.linger(ms(1_000)).concurrency(1));
        // Two leave after a second. While their call is in flight the third one arrives, and may linger for another second.
        let stream = numbers_after([0, 0, 1_004]).chain(stream::pending());
        let mut delivering = Box::pin(delivery.deliver_stream(stream));
        tokio::select! {
            _ = &mut delivering => panic!("the stream goes on"),
            () = sleep(ms(1_100)) => {}
        }
        assert_eq!(calls.lock().unwrap()[1..], later);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_at_the_end_of_the_stream_leaves_at_once() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let started = Instant::now();
    let delivery = Delivery::new(target).options(lingering(ms(100)));
    delivery.deliver_stream(numbers_after([0, 10, 10])).await.unwrap();
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2, 3]]);
    assert!(started.elapsed() < ms(30), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_time_to_linger_begins_with_the_first_of_a_chunk() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(lingering(ms(100)));
    // The second one comes when the first has waited for 60 ms, the third is too late.
    delivery.deliver_stream(numbers_after([0, 60, 60])).await.unwrap();
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2], vec![3]]);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_before_the_stream_failed_is_delivered_and_reported() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let stream = stream::iter([Ok(1), Ok(2), Ok(3), Err("torn"), Ok(4)]);
    let error = Delivery::new(target).try_deliver_stream(stream).await.unwrap_err();
    assert_eq!(error.to_string(), "the stream failed after 3 entries");
    assert_eq!(error.stream_error.as_ref().unwrap().to_string(), "torn");
    assert_eq!((error.report.delivered, error.undelivered().len()), (3, 0));
    assert_eq!(*calls.lock().unwrap(), [vec![1, 2, 3]]);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_delivered_is_handed_back_also_when_the_stream_fails() {
    let (target, _) = numbers(|_, chunk| {
        let verdict = |number: &usize| match number {
            2 => Verdict::Refused(Fault::new("never")),
            _ => Verdict::Accepted,
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    });
    let stream = stream::iter([Ok(1), Ok(2), Ok(3), Err("torn")]);
    let mut error = Delivery::new(target).try_deliver_stream(stream).await.unwrap_err();
    let told = "the stream failed after 3 entries; 1 of 3 entries was not delivered: 1 × refused: never";
    assert_eq!(error.to_string(), told);
    let handed_back: Vec<_> = error.take_undelivered().into_iter().map(|one| *one.entry).collect();
    assert_eq!((handed_back, error.to_string()), (vec![2], told.to_owned()));
}

/// A stream of lines whose error is what most programs use for errors.
fn torn<X>(error: X) -> impl Stream<Item = Result<usize, X>> {
    stream::iter([Ok(1), Err(error)])
}

#[tokio::test(start_paused = true)]
async fn a_streams_error_of_any_kind_goes_through_the_question_mark() {
    async fn with_anyhow(delivery: &Delivery<impl BatchTarget<Entry = usize>>) -> anyhow::Result<()> {
        let context = anyhow::anyhow!("torn").context("line 2");
        delivery.try_deliver_stream(torn(context)).await?;
        Ok(())
    }
    async fn with_boxes(
        delivery: &Delivery<impl BatchTarget<Entry = usize>>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        delivery
            .try_deliver_stream(torn(Box::<dyn Error + Send + Sync>::from("torn")))
            .await?;
        Ok(())
    }
    async fn with_its_own(delivery: &Delivery<impl BatchTarget<Entry = usize>>) -> Result<(), DeliveryError<usize>> {
        delivery
            .try_deliver_stream(torn(io::Error::from(io::ErrorKind::UnexpectedEof)))
            .await?;
        Ok(())
    }
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target);
    let error = with_anyhow(&delivery).await.unwrap_err();
    assert_eq!(format!("{error:#}"), "the stream failed after 1 entry: line 2: torn");
    let error = with_boxes(&delivery).await.unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "torn");
    let error = with_its_own(&delivery).await.unwrap_err().stream_error.unwrap();
    assert_eq!(
        error.downcast::<io::Error>().unwrap().kind(),
        io::ErrorKind::UnexpectedEof
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_delivery_leaves_the_rest_to_the_stream() {
    let cancellation = CancellationToken::new();
    let token = cancellation.clone();
    let (target, _) = numbers(move |number, chunk| {
        if number == 1 {
            token.cancel();
        }
        accept(chunk)
    });
    let mut stream = stream::iter(1..=1_000);
    let options = one_at_a_time().cancellation(cancellation);
    let error = Delivery::new(target)
        .options(options)
        .deliver_stream(&mut stream)
        .await
        .unwrap_err();
    let delivered = usize::try_from(error.report.delivered).unwrap();
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Cancelled(_)))
    );
    let left = stream.count().await;
    assert_eq!(delivered + error.undelivered().len() + left, 1_000);
    assert!(left > 900, "{left}");
}

#[tokio::test(start_paused = true)]
async fn a_delivery_can_be_cancelled_while_it_waits_for_the_first_entry() {
    let cancellation = CancellationToken::new();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(no_delay().cancellation(cancellation.clone()));
    let mut delivering = Box::pin(delivery.deliver_stream(stream::pending()));
    assert!(delivering.as_mut().now_or_never().is_none());
    cancellation.cancel();
    let error = delivering.await.unwrap_err();
    assert!(matches!(error.interruption(), Some(Cause::Cancelled(_))), "{error}");
    assert_eq!(error.report.delivered, 0);
}

#[tokio::test(start_paused = true)]
async fn a_source_is_read_no_faster_than_the_service_takes() {
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let (sender, mut receiver) = mpsc::channel(1);
    let stream = stream::poll_fn(move |context| receiver.poll_recv(context));
    let delivery = Delivery::new(target).options(one_at_a_time());
    let feed = async {
        let mut most_ahead = 0;
        for number in 0..1_000 {
            sender.send(1).await.unwrap();
            let sent: usize = calls.lock().unwrap().iter().map(Vec::len).sum();
            most_ahead = most_ahead.max(number + 1 - sent);
        }
        drop(sender);
        most_ahead
    };
    let (report, most_ahead) = tokio::join!(delivery.deliver_stream(stream), feed);
    assert_eq!(report.unwrap().delivered, 1_000);
    // A chunk that is ready, one entry in the channel, and one held by each end.
    assert!(most_ahead <= 7, "{most_ahead}");
}
