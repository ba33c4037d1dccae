//! What a delivery logs: stalls, the end of a stall, and the result.

use std::future::pending;
use std::time::Duration;

use aws_batch_delivery::events::{CALL, DELIVERY, STALLED, STOPPED, SUMMARY, UNCLAIMED};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use futures::future::join_all;
use futures::{StreamExt, stream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::Level;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, throttle};
use crate::support::log::{Log, Logged};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The service is not reached.
fn unreachable() -> Answer {
    Answer::Whole(Verdict::Rejected(
        Rejection::Connection,
        Fault::new("connection failed"),
    ))
}

/// Tries once a second.
fn patient() -> DeliveryOptions {
    DeliveryOptions::default().backoff(|_: u32| seconds(1))
}

/// The seconds in each warning of a stall.
fn warned_at(log: &Log) -> Vec<u64> {
    let warnings = log.of(STALLED).into_iter().filter(|event| event.level == Level::WARN);
    warnings.map(|event| event.field("seconds").parse().unwrap()).collect()
}

fn only(events: Vec<Logged>) -> Logged {
    let [event] = events.try_into().unwrap();
    event
}

/// Takes long to prepare, and never answers a call.
struct Slow(Duration);

impl BatchTarget for Slow {
    type Entry = usize;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "slow/numbers".into()
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    async fn prepare(&self) {
        sleep(self.0).await;
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, _: &[usize]) -> Answer {
        pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_reached_is_warned_of_ever_more_rarely_down_to_once_a_minute() {
    let log = Log::start();
    let (target, _) = numbers(|_, _| unreachable());
    let options = patient().deadline(Instant::now() + seconds(300));
    let error = Delivery::new(target)
        .options(options)
        .deliver(vec![1; 100])
        .await
        .unwrap_err();
    assert_eq!(warned_at(&log), [5, 10, 20, 40, 80, 140, 200, 260]);
    let first = &log.of(STALLED)[0];
    assert_eq!(
        (first.field("destination"), first.field("code")),
        ("custom", "connection failed")
    );
    assert_eq!(
        first.field("until"),
        "nothing was accepted for 900 s, or the deadline in 295 s"
    );
    assert_eq!((first.field("waiting"), first.field("in_flight")), ("64", "0"));

    let summary = only(log.of(SUMMARY));
    assert_eq!(
        (summary.level, summary.field("cause")),
        (Level::WARN, "the deadline was reached")
    );
    assert_eq!((summary.field("delivered"), summary.field("undelivered")), ("0", "100"));
    assert_eq!(summary.field("calls"), error.report.calls.to_string());
    assert_eq!((summary.field("seconds"), summary.field("finished")), ("300.0", "true"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_throttles_everything_and_then_nothing_is_warned_of_until_it_answers() {
    let log = Log::start();
    let started = Instant::now();
    let (target, _) = numbers(move |_, chunk| {
        if started.elapsed() < seconds(12) {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    });
    Delivery::new(target)
        .options(patient())
        .deliver(vec![1; 100])
        .await
        .unwrap();
    assert_eq!(warned_at(&log), [5, 10]);
    let [.., warning, again] = &log.of(STALLED)[..] else {
        panic!("{:?}", log.events())
    };
    assert_eq!((warning.field("code"), warning.level), ("Throttled", Level::WARN));
    assert_eq!((again.field("seconds"), again.level), ("12", Level::INFO));
    let summary = only(log.of(SUMMARY));
    assert_eq!((summary.level, summary.field("delivered")), (Level::INFO, "100"));
    assert!(!summary.fields.contains_key("cause"), "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_and_a_preparation_without_an_answer_are_warned_of() {
    let log = Log::start();
    let options = no_delay().retries(0).give_up_after(Duration::MAX);
    let delivery = Delivery::new(Slow(seconds(12))).options(options);
    delivery.deliver([1]).await.unwrap_err();
    // The call has its 30 s after the preparation.
    assert_eq!(warned_at(&log), [5, 10, 5, 10, 20]);
    for warning in log.of(STALLED) {
        assert_eq!(
            (warning.field("destination"), warning.field("code")),
            ("slow/numbers", "no answer yet")
        );
        assert_eq!(warning.field("until"), "each entry was sent again 0 times");
    }
    let in_flight: Vec<_> = log
        .of(STALLED)
        .iter()
        .map(|warning| warning.field("in_flight").to_owned())
        .collect();
    assert_eq!(in_flight, ["0", "0", "1", "1", "1"]);
}

#[tokio::test(start_paused = true)]
async fn entries_that_are_handed_back_at_once_are_no_progress() {
    let log = Log::start();
    let (target, _) = numbers(|_, _| unreachable());
    let entries = stream::unfold((), |()| async {
        sleep(Duration::from_millis(50)).await;
        Some((1, ()))
    });
    let options = no_delay().retries(0).linger(Duration::ZERO);
    let delivery = Delivery::new(target).options(options);
    delivery.deliver_stream(entries.take(220)).await.unwrap_err();
    assert_eq!(warned_at(&log), [5, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_waits_for_its_input_or_for_its_pace_or_goes_on_slowly_is_not_stalled() {
    let log = Log::start();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let entries = stream::iter([0, 3_600, 20, 4]).then(|pause| async move {
        sleep(seconds(pause)).await;
        1
    });
    let options = no_delay().linger(seconds(60));
    let report = Delivery::new(target)
        .options(options)
        .deliver_stream(entries)
        .await
        .unwrap();
    assert_eq!((report.delivered, report.finished), (4, true));

    // One of two calls is rejected, and each is made ten seconds after the one before.
    let (target, _) = numbers(|number, chunk| {
        let verdict = |place: usize| {
            if place < number % 4 {
                Verdict::Accepted
            } else {
                throttle()
            }
        };
        Answer::Each((0..chunk.len()).map(verdict).collect())
    });
    let options = DeliveryOptions::default().backoff(|_: u32| seconds(4)).concurrency(1);
    Delivery::new(target)
        .options(options)
        .deliver(vec![1; 40])
        .await
        .unwrap();
    assert_eq!(warned_at(&log), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_old_failure_does_not_make_a_fresh_start_a_stall() {
    let log = Log::start();
    let (target, _) = numbers(|number, chunk| if number == 1 { unreachable() } else { accept(chunk) });
    let entries = stream::iter([0, 600]).then(|pause| async move {
        sleep(seconds(pause)).await;
        1
    });
    let options = no_delay().retries(0).linger(Duration::ZERO);
    Delivery::new(target)
        .options(options)
        .deliver_stream(entries)
        .await
        .unwrap_err();
    assert_eq!(log.of(STALLED).len(), 0, "{:?}", log.of(STALLED));
}

#[tokio::test(start_paused = true)]
async fn deliveries_that_share_a_pace_warn_as_one() {
    let log = Log::start();
    let options = patient().deadline(Instant::now() + seconds(30));
    let deliver = |_| {
        let (target, _) = numbers(|_, _| unreachable());
        let delivery = Delivery::new(target).options(options.clone());
        async move { delivery.deliver(vec![1; 10]).await.unwrap_err().report.undelivered }
    };
    assert_eq!(join_all((0..64).map(deliver)).await, [10; 64]);
    assert_eq!(warned_at(&log), [5, 10, 20]);
    assert_eq!(log.of(SUMMARY).len(), 64);
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_is_stopped_again_and_again_says_so_once_a_minute() {
    let log = Log::start();
    let (target, _) = numbers(|_, _| Answer::Stop(Fault::new("AccessDenied")));
    let producer = Delivery::new(target)
        .options(no_delay().linger(Duration::ZERO))
        .producer();
    for _ in 0..100 {
        producer.send(1).await.unwrap_err();
        sleep(seconds(1)).await;
    }
    drop(producer.enqueue(2).await.unwrap());
    producer.close().await.unwrap_err();
    let stopped = log.of(STOPPED);
    assert_eq!(stopped.len(), 2);
    assert_eq!(
        (stopped[0].field("code"), stopped[0].field("destination")),
        ("AccessDenied", "custom")
    );
    let unclaimed = log.of(UNCLAIMED);
    assert!(unclaimed.len() == 2 && unclaimed.iter().all(|event| event.field("entries") == "1"));
    let summary = only(log.of(SUMMARY));
    assert_eq!((summary.level, summary.field("undelivered")), (Level::WARN, "101"));
}

#[tokio::test(start_paused = true)]
async fn a_delivery_without_an_entry_logs_nothing() {
    let log = Log::start();
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let delivery = Delivery::new(target).options(no_delay().cancellation(cancellation));
    delivery.deliver([]).await.unwrap();
    delivery.deliver_stream(stream::pending()).await.unwrap_err();
    assert_eq!(log.events().len(), 0, "{:?}", log.events());
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_any_target_are_spans_in_the_delivery() {
    let log = Log::start();
    let (numbers, _) = numbers(|_, chunk| accept(chunk));
    Delivery::new(numbers).options(patient()).deliver(0..3).await.unwrap();
    let spans = log.spans();
    assert_eq!(spans[0].target, DELIVERY);
    assert_eq!(spans[0].field("delivered"), "3");
    assert_eq!((spans[1].target, spans[1].parent), (CALL, Some(0)));
}
