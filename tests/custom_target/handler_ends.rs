//! Handlers of undelivered entries that hang or fail, and how a delivery ends with them.

use std::collections::BTreeSet;
use std::error::Error;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, Fault, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions, Report, Undelivered};
use futures::{StreamExt, stream};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::custom_target::numbers::{accept, no_delay, numbers, one_at_a_time, throttle};
use crate::support::cases::cases;
use crate::support::paused::paused;

const SECOND: Duration = Duration::from_secs(1);

/// The most that a delivery takes after its end when the clock stands still between events.
const AT_ONCE: Duration = Duration::from_millis(50);

fn refuse(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Refused(Fault::new("Refused")); chunk.len()])
}

/// Refuses even numbers.
fn refuse_even(chunk: &[usize]) -> Answer {
    let verdict = |number: &usize| match number % 2 {
        0 => Verdict::Refused(Fault::new("Refused")),
        _ => Verdict::Accepted,
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}

fn positions(undelivered: &[Undelivered<usize>]) -> Vec<u64> {
    undelivered.iter().map(|undelivered| undelivered.position).collect()
}

#[derive(Debug, thiserror::Error)]
#[error("no space left on device")]
struct DiskFull;

#[derive(Debug, Clone, Copy)]
enum Way {
    Batch,
    Stream,
    Producer,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Cancelled,
    Deadline,
    /// The target stops a stream; a producer is closed within a time.
    Stopped,
    HandlerFails,
}

/// What happens in a delivery.
#[derive(Clone, Default)]
struct Seen {
    /// The first moment at which it is told to end.
    told_to_end: Arc<Mutex<Option<Instant>>>,
    /// The positions of the entries that the handler has finished.
    finished: Arc<Mutex<Vec<u64>>>,
}

impl Seen {
    fn told_to_end(&self) {
        self.told_to_end.lock().unwrap().get_or_insert_with(Instant::now);
    }

    /// Checks that the delivery ends in time and that each entry has one outcome.
    fn check(&self, result: Result<Report, DeliveryError<usize>>, grace: Duration) {
        if let Some(told) = *self.told_to_end.lock().unwrap() {
            assert!(
                told.elapsed() <= 3 * grace + AT_ONCE,
                "{:?} after its end",
                told.elapsed()
            );
        }
        let (report, left) = match result {
            Ok(report) => (report, Vec::new()),
            Err(mut error) => (error.report.clone(), error.take_undelivered()),
        };
        let finished = self.finished.lock().unwrap();
        let kept = positions(&left);
        let of_all: BTreeSet<_> = finished.iter().chain(&kept).collect();
        assert_eq!(of_all.len(), finished.len() + kept.len(), "an entry has two outcomes");
        assert_eq!(of_all.len() as u64, report.undelivered);
    }
}

/// Delivers the numbers, and then one number every 50 ms without end, except in a batch. The end comes at `ends_at`; a delivery
/// that it does not reach is cancelled 10 s later.
macro_rules! deliver {
    ($delivery:expr, $numbers:expr, $way:expr, $end:expr, $ends_at:expr, $stop:expr, $seen:expr) => {{
        let (numbers, ends_at, seen) = ($numbers, $ends_at, $seen.clone());
        let delivery = $delivery;
        let endless = stream::unfold((), |()| async {
            sleep(Duration::from_millis(50)).await;
            Some((1, ()))
        });
        let cancelling = async {
            let late = if matches!($end, End::Cancelled) {
                Duration::ZERO
            } else {
                10 * SECOND
            };
            sleep_until(ends_at + late).await;
            seen.told_to_end();
            $stop.cancel();
            pending::<()>().await;
        };
        let delivering = async {
            match $way {
                Way::Batch => delivery.deliver(numbers).await,
                Way::Stream => delivery.deliver_stream(stream::iter(numbers).chain(endless)).await,
                Way::Producer => {
                    let producer = delivery.producer();
                    for number in numbers {
                        drop(producer.enqueue(number).await);
                    }
                    if matches!($end, End::Stopped) {
                        let closing = producer.close_within(ends_at - Instant::now());
                        let telling = async {
                            sleep_until(ends_at).await;
                            seen.told_to_end();
                        };
                        tokio::join!(closing, telling).0
                    } else {
                        producer.close().await
                    }
                }
            }
        };
        tokio::select! {
            result = delivering => result,
            () = cancelling => unreachable!("it has no end"),
        }
    }};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(120)))]

    #[test]
    fn whatever_ends_a_delivery_handlers_have_three_grace_periods_and_no_entry_is_lost(
        way in prop::sample::select(vec![Way::Batch, Way::Stream, Way::Producer]),
        end in prop::sample::select(vec![End::Cancelled, End::Deadline, End::Stopped, End::HandlerFails]),
        input in prop::collection::vec(1_usize..90, 1..300),
        typed: bool,
        grace in prop::sample::select(vec![0_u64, 300, 1_000]),
        hanging in 1_usize..6,
        slow in 0_u64..3_000,
    ) {
        paused(async {
            let (grace, seen) = (Duration::from_millis(grace), Seen::default());
            let ends_at = Instant::now() + 2 * SECOND;
            let stop = CancellationToken::new();
            let options = no_delay().grace(grace).cancellation(stop.clone());
            let options = if matches!(end, End::Deadline) { options.deadline(ends_at) } else { options };
            let stops = matches!((way, end), (Way::Stream, End::Stopped));
            let (target, _) = numbers({
                let seen = seen.clone();
                move |_, chunk| {
                    if stops && Instant::now() >= ends_at {
                        seen.told_to_end();
                        panic!("gone");
                    }
                    refuse_even(chunk)
                }
            });
            let handler = {
                let seen = seen.clone();
                move |undelivered: &Undelivered<usize>| {
                    let (seen, number, position) = (seen.clone(), *undelivered.entry, undelivered.position);
                    async move {
                        if number % hanging == 0 {
                            pending::<()>().await;
                        }
                        sleep(Duration::from_millis(slow)).await;
                        if matches!(end, End::HandlerFails) && slow % 2 == 0 {
                            seen.told_to_end();
                            return Err(DiskFull);
                        }
                        seen.finished.lock().unwrap().push(position);
                        Ok(())
                    }
                }
            };
            let told_at_deadline = {
                let seen = seen.clone();
                async move {
                    sleep_until(ends_at).await;
                    if matches!(end, End::Deadline) {
                        seen.told_to_end();
                    }
                    pending::<()>().await;
                }
            };
            let delivery = Delivery::new(target).options(options);
            let delivering = async {
                if typed {
                    // Multiples of eleven cannot be converted.
                    let typed = delivery.try_map_entries(|number: &usize| match number % 11 {
                        0 => Err("eleven"),
                        _ => Ok(*number),
                    });
                    deliver!(typed.on_undelivered(handler), input, way, end, ends_at, stop, seen)
                } else {
                    deliver!(delivery.on_undelivered(handler), input, way, end, ends_at, stop, seen)
                }
            };
            let result = tokio::select! {
                biased;
                result = delivering => result,
                () = told_at_deadline => unreachable!(),
            };
            seen.check(result, grace);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_within_a_time_hands_back_what_a_hung_handler_has() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let delivery = Delivery::new(target)
        .options(no_delay())
        .on_undelivered(|_| pending::<()>());
    let producer = delivery.producer();
    for _ in 0..100 {
        drop(producer.enqueue(1).await.unwrap());
    }
    let started = Instant::now();
    let error = producer.close_within(5 * SECOND).await.unwrap_err();
    assert_eq!(started.elapsed(), 8 * SECOND);
    assert_eq!(positions(error.undelivered()), (0..100).collect::<Vec<_>>());
}

/// The documented handler, whose dead-letter queue accepts nothing.
#[tokio::test(start_paused = true)]
async fn a_close_within_a_time_does_not_wait_for_a_dead_letter_queue_that_is_down() {
    let (target, _) = numbers(|_, _| Answer::Whole(throttle()));
    let options = DeliveryOptions::default().backoff(|_: u32| SECOND);
    let dead_letters = Delivery::new(target).options(options).producer();
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let delivery = Delivery::new(target)
        .options(no_delay())
        .on_undelivered(move |undelivered| {
            let (dead_letters, entry) = (dead_letters.clone(), *undelivered.entry);
            async move { dead_letters.send(entry).await }
        });
    let producer = delivery.producer();
    for _ in 0..100 {
        drop(producer.enqueue(1).await.unwrap());
    }
    let started = Instant::now();
    let error = producer.close_within(5 * SECOND).await.unwrap_err();
    assert_eq!(started.elapsed(), 8 * SECOND);
    assert_eq!(positions(error.undelivered()), (0..100).collect::<Vec<_>>());
}

/// The handler fails at the fifth number.
fn with_a_full_disk() -> Delivery<impl aws_batch_delivery::targets::BatchTarget<Entry = usize>> {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    Delivery::new(target)
        .options(one_at_a_time())
        .on_undelivered(|undelivered| {
            let position = undelivered.position;
            async move { if position < 4 { Ok(()) } else { Err(DiskFull) } }
        })
}

fn assert_stopped_by_the_handler(error: &DeliveryError<usize>) {
    let stopped = error.stopped().unwrap();
    assert_eq!(stopped.to_string(), "the handler of undelivered entries failed");
    assert_eq!(stopped.source().unwrap().to_string(), DiskFull.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_ends_the_stream_in_order() {
    let mut numbers = Box::pin(stream::iter(vec![1; 1_000]));
    let error = with_a_full_disk().deliver_stream(&mut numbers).await.unwrap_err();
    assert_stopped_by_the_handler(&error);
    let read = error.report.next_position();
    assert!(!error.report.finished && read < 50, "{error}");
    assert_eq!(positions(error.undelivered()), (4..read).collect::<Vec<_>>());
    assert_eq!(
        numbers.count().await as u64,
        1_000 - read,
        "the rest is still in the stream"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_hands_back_the_rest_of_a_batch_in_the_error() {
    let error = with_a_full_disk().deliver(vec![1; 1_000]).await.unwrap_err();
    assert_stopped_by_the_handler(&error);
    assert_eq!(positions(error.undelivered()), (4..1_000).collect::<Vec<_>>());
    let causes: Vec<_> = error
        .undelivered()
        .iter()
        .map(|undelivered| &undelivered.cause)
        .collect();
    assert!(matches!(causes[0], Cause::Refused(_)), "{:?}", causes[0]);
    assert!(matches!(causes[995], Cause::Stopped(_)), "{:?}", causes[995]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_at_the_last_entry_is_an_error_too() {
    let error = with_a_full_disk().deliver(vec![1; 5]).await.unwrap_err();
    assert_stopped_by_the_handler(&error);
    assert_eq!(positions(error.undelivered()), [4]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_closes_the_producer() {
    let producer = with_a_full_disk().producer();
    let mut enqueued = 0;
    let refused = loop {
        match producer.enqueue(1).await {
            Ok(receipt) => drop(receipt),
            Err(refused) => break refused,
        }
        enqueued += 1;
        assert!(enqueued < 100_000, "the producer stays open");
        sleep(Duration::from_millis(1)).await;
    };
    assert!(matches!(refused.cause, Cause::Closed));
    let error = producer.close().await.unwrap_err();
    assert_stopped_by_the_handler(&error);
    assert_eq!(positions(error.undelivered()), (4..enqueued).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_handler_leaves_calls_in_flight_their_grace() {
    let (target, _) = numbers(|call, chunk| if call == 1 { refuse(chunk) } else { accept(chunk) });
    let delivery = Delivery::new(target)
        .options(no_delay().concurrency(3))
        .on_undelivered(|_| async { Err::<(), _>(DiskFull) });
    let error = delivery.deliver(vec![1; 12]).await.unwrap_err();
    assert_eq!(
        (error.report.delivered, positions(error.undelivered())),
        (8, vec![0, 1, 2, 3])
    );
}
