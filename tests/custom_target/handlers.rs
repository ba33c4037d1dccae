//! Handlers, which are called with each entry when its fate is known.

use std::future::ready;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, Fault, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, Disposition, InvalidEntry, Undelivered, Values};
use futures::{StreamExt, stream};
use proptest::prelude::*;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::custom_target::numbers::{accept, no_delay, numbers, one_at_a_time};
use crate::support::cases::cases;
use crate::support::paused::paused;

/// Collects what a handler is given.
struct Collected<T>(Arc<Mutex<Vec<T>>>);

impl<T: Send + 'static> Collected<T> {
    fn new() -> (Self, Arc<Mutex<Vec<T>>>) {
        let all = Arc::default();
        (Self(Arc::clone(&all)), all)
    }

    fn push(&self, one: T) {
        self.0.lock().unwrap().push(one);
    }
}

fn refuse(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Refused(Fault::new("Refused")); chunk.len()])
}

/// Accepts odd numbers, refuses multiples of four, and throttles some of the others.
fn by_number(call: usize, chunk: &[usize]) -> Answer {
    let verdict = |number: &usize| match number % 4 {
        0 => Verdict::Refused(Fault::new("Refused")),
        2 if !call.is_multiple_of(3) => Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")),
        _ => Verdict::Accepted,
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn each_entry_is_given_to_one_handler_once(
        input in prop::collection::vec(1_usize..90, 0..120),
        retries in 0_u32..4,
        cancelled_after in prop::option::of(0_usize..120),
        typed: bool,
    ) {
        paused(async {
            let (delivered, of_delivered) = Collected::new();
            let (undelivered, of_undelivered) = Collected::new();
            let stop = CancellationToken::new();
            let (target, _) = numbers(by_number);
            let on_delivered = {
                let stop = stop.clone();
                move |position: u64, number: &usize, _: &Disposition| {
                    delivered.push((position, *number));
                    if cancelled_after.is_some_and(|after| position >= after as u64) {
                        stop.cancel();
                    }
                }
            };
            let on_undelivered = move |one: &Undelivered<usize>| {
                undelivered.push((one.position, *one.entry));
                ready(())
            };
            let options = no_delay().retries(retries).cancellation(stop);
            let delivery = Delivery::new(target).options(options);
            let result = if typed {
                // Multiples of eleven cannot be converted.
                let typed = delivery.try_map_entries(|number: &usize| match number % 11 {
                    0 => Err("eleven"),
                    _ => Ok(*number),
                });
                let typed: Delivery<_, Values<usize>> = typed.on_delivered(on_delivered).on_undelivered(on_undelivered);
                typed.deliver(input.clone()).await
            } else {
                delivery.on_delivered(on_delivered).on_undelivered(on_undelivered).deliver(input.clone()).await
            };
            let (delivered, undelivered) = (of_delivered.lock().unwrap().clone(), of_undelivered.lock().unwrap().clone());
            for (position, number) in delivered.iter().chain(&undelivered) {
                let position = usize::try_from(*position).unwrap();
                assert_eq!(input[position], *number);
            }
            let report = match result {
                Ok(report) => {
                    assert!(undelivered.is_empty());
                    report
                }
                Err(error) => {
                    assert!(!undelivered.is_empty());
                    assert!(error.undelivered().is_empty());
                    error.report
                }
            };
            assert_eq!((report.delivered, report.undelivered), (delivered.len() as u64, undelivered.len() as u64));
            let mut positions: Vec<_> = delivered.into_iter().chain(undelivered).map(|(position, _)| position).collect();
            positions.sort_unstable();
            assert_eq!(positions, (0..input.len() as u64).collect::<Vec<_>>());
        });
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_has_the_causes_of_entries_that_a_handler_took() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let delivery = Delivery::new(target).options(no_delay()).on_undelivered(|_| ready(()));
    let error = delivery.deliver([1, 2, 1_000]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 of 3 entries were not delivered: 1 × not sent: the entry has 1000 bytes, the limit is 100; 2 × refused: Refused"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_slows_the_reading_down() {
    const READ_AHEAD: usize = 50;
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let allowed = Arc::new(Semaphore::new(0));
    let handler = {
        let allowed = Arc::clone(&allowed);
        move |_: &Undelivered<usize>| {
            let allowed = Arc::clone(&allowed);
            async move { allowed.acquire().await.unwrap().forget() }
        }
    };
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let numbers = stream::iter(0..1_000).map(move |_| {
        counted.fetch_add(1, Relaxed);
        1
    });
    let options = one_at_a_time().read_ahead(READ_AHEAD);
    let delivery = Delivery::new(target).options(options).on_undelivered(handler);
    let delivering = tokio::spawn(async move { delivery.deliver_stream(numbers).await });
    tokio::time::sleep(Duration::from_mins(1)).await;
    // The entries of a chunk are not in a handler yet.
    assert!((READ_AHEAD..READ_AHEAD + 20).contains(&read.load(Relaxed)), "{read:?}");
    allowed.add_permits(1_000);
    assert_eq!(delivering.await.unwrap().unwrap_err().report.undelivered, 1_000);
    assert_eq!(allowed.available_permits(), 0);
}

/// How many of the numbers are read within a minute while the handler does not finish.
async fn read_while_the_handler_hangs(number: usize, options: DeliveryOptions) -> usize {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let numbers = stream::iter(0..20_000).map(move |_| {
        counted.fetch_add(1, Relaxed);
        number
    });
    let delivery = Delivery::new(target)
        .options(options)
        .on_undelivered(|_| std::future::pending::<()>());
    let delivering = tokio::spawn(async move { delivery.deliver_stream(numbers).await });
    tokio::time::sleep(Duration::from_mins(1)).await;
    delivering.abort();
    read.load(Relaxed)
}

#[tokio::test(start_paused = true)]
async fn entries_that_were_never_sent_count_for_the_read_ahead_too() {
    const TOO_LARGE: usize = 1_000;
    let by_number = read_while_the_handler_hangs(TOO_LARGE, no_delay().read_ahead(50)).await;
    assert!((50..60).contains(&by_number), "{by_number}");
    let by_bytes = read_while_the_handler_hangs(TOO_LARGE, no_delay().read_ahead_bytes(100 * TOO_LARGE)).await;
    assert!((100..110).contains(&by_bytes), "{by_bytes}");
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_an_input_is_handed_back_no_faster_than_the_handler_takes_it() {
    const READ_AHEAD: usize = 3_000;
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let underway = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let handler = {
        let (underway, most) = (Arc::clone(&underway), Arc::clone(&most));
        move |_: &Undelivered<usize>| {
            let underway = Arc::clone(&underway);
            most.fetch_max(underway.load(Relaxed), Relaxed);
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                underway.fetch_sub(1, Relaxed);
            }
        }
    };
    let stop = CancellationToken::new();
    stop.cancel();
    let options = DeliveryOptions::default().cancellation(stop).read_ahead(READ_AHEAD);
    let delivery = Delivery::new(target).options(options).on_undelivered(handler);
    let numbers = (0..100_000).map(move |_| {
        underway.fetch_add(1, Relaxed);
        1
    });
    let error = delivery.deliver(numbers).await.unwrap_err();
    assert_eq!(error.report.undelivered, 100_000);
    let most = most.load(Relaxed);
    assert!((1_000..READ_AHEAD + 2_000).contains(&most), "{most}");
}

#[tokio::test(start_paused = true)]
async fn entries_from_a_panic_of_the_handler_on_are_in_the_error() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let called = Arc::new(AtomicUsize::new(0));
    let handler = {
        let called = Arc::clone(&called);
        move |_: &Undelivered<usize>| {
            assert!(called.fetch_add(1, Relaxed) < 2, "the third one");
            ready(())
        }
    };
    let delivery = Delivery::new(target).options(one_at_a_time()).on_undelivered(handler);
    let mut error = delivery.deliver(vec![1; 20]).await.unwrap_err();
    let positions: Vec<_> = error.take_undelivered().iter().map(|one| one.position).collect();
    assert_eq!((positions, called.load(Relaxed)), ((2..20).collect(), 3));
    assert!(
        error
            .to_string()
            .starts_with("20 of 20 entries were not delivered: 20 × refused"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_a_delivered_entry_does_not_reach_the_delivery() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let called = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&called);
    let delivery = Delivery::new(target).on_delivered(move |_, _, _| {
        assert!(!called.swap(true, Relaxed), "it is not called again");
        panic!("a slip");
    });
    assert_eq!(delivery.deliver(vec![1; 20]).await.unwrap().delivered, 20);
    assert!(seen.load(Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_one_handler_leaves_the_other_in_place() {
    let (target, _) = numbers(|_, chunk| match chunk {
        [1, ..] => accept(chunk),
        _ => refuse(chunk),
    });
    let (undelivered, handled) = Collected::new();
    let delivery = Delivery::new(target)
        .options(one_at_a_time())
        .on_delivered(|_, _, _| panic!("a slip"))
        .on_undelivered(move |one: &Undelivered<usize>| {
            undelivered.push(one.position);
            ready(())
        });
    let error = delivery.deliver([1, 1, 1, 1, 2, 2, 2, 2]).await.unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered().len()), (4, 0));
    assert_eq!(*handled.lock().unwrap(), [4, 5, 6, 7]);
}

#[tokio::test(start_paused = true)]
async fn the_handler_of_a_producer_gets_what_no_receipt_waits_for() {
    let (target, _) = numbers(|_, chunk| refuse(chunk));
    let (undelivered, handled) = Collected::new();
    let producer = Delivery::new(target)
        .options(no_delay())
        .on_undelivered(move |one| {
            undelivered.push(*one.entry);
            ready(())
        })
        .producer();
    let awaited = producer.enqueue(1).await.unwrap();
    drop(producer.enqueue(2).await.unwrap());
    let cause = awaited.await.unwrap_err().cause;
    assert!(matches!(cause, Cause::Refused(_)), "{cause}");
    let error = producer.close().await.unwrap_err();
    assert_eq!((error.undelivered().len(), error.report.undelivered), (0, 2));
    assert_eq!(*handled.lock().unwrap(), [2]);
}

#[tokio::test(start_paused = true)]
async fn the_buffer_of_a_closed_producer_is_given_to_the_handler() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let (undelivered, handled) = Collected::new();
    let stop = CancellationToken::new();
    let delivery = Delivery::new(target)
        .options(no_delay().cancellation(stop.clone()))
        .on_undelivered(move |one: &Undelivered<usize>| {
            undelivered.push(*one.entry);
            ready(())
        });
    let producer = delivery.producer();
    stop.cancel();
    drop(producer.enqueue(7).await);
    let error = producer.close().await.unwrap_err();
    assert_eq!((error.undelivered().len(), error.report.undelivered), (0, 1));
    assert_eq!(*handled.lock().unwrap(), [7]);
}

#[tokio::test(start_paused = true)]
async fn values_that_become_no_entry_wait_for_the_handler_as_well() {
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let (undelivered, handled) = Collected::new();
    let delivery = Delivery::new(target)
        .try_map_entries(|_: &usize| Err::<usize, _>("never"))
        .on_undelivered(move |one| {
            let invalid = matches!(one.cause, Cause::Invalid(InvalidEntry::Unconvertible { .. }));
            undelivered.push((one.position, invalid));
            tokio::time::sleep(Duration::from_millis(1))
        });
    let error = delivery.deliver_stream(stream::iter(0..1_000)).await.unwrap_err();
    assert_eq!((error.undelivered().len(), error.report.undelivered), (0, 1_000));
    let mut handled = handled.lock().unwrap().clone();
    handled.sort_unstable();
    assert_eq!(handled, (0..1_000).map(|position| (position, true)).collect::<Vec<_>>());
}
