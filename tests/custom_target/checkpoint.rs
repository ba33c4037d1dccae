//! The position up to which everything is settled, as a process that is killed has stored it.

use std::collections::BTreeSet;
use std::future::{pending, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry, Progress, Undelivered};
use futures::stream;
use proptest::prelude::*;
use tokio::time::sleep;

use crate::custom_target::numbers::{accept, no_delay, numbers};
use crate::support::cases::cases;
use crate::support::paused::paused;

/// Numbers of the input by what becomes of them: multiples of seven are refused, and some of the others are throttled.
fn by_number(call: usize, chunk: &[usize]) -> Answer {
    let verdict = |number: &usize| match number {
        number if number.is_multiple_of(7) => Verdict::Refused(Fault::new("Refused")),
        number if !(call + number).is_multiple_of(3) => {
            Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
        }
        _ => Verdict::Accepted,
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}

type Numbers = Arc<Mutex<BTreeSet<usize>>>;

/// Takes its time for each call, and records the numbers that it has accepted.
struct Store {
    stored: Numbers,
    calls: Mutex<usize>,
}

impl BatchTarget for Store {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(4, 4)
    }

    fn check(&self, number: &usize) -> Result<usize, InvalidEntry> {
        match number % 13 {
            0 => Err(InvalidEntry::Missing { part: "luck" }),
            _ => Ok(1),
        }
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let call = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            *calls
        };
        sleep(Duration::from_millis(1 + (call as u64 * 7) % 20)).await;
        let answer = by_number(call, chunk);
        if let Answer::Each(verdicts) = &answer {
            let accepted = chunk.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_accepted());
            self.stored.lock().unwrap().extend(accepted.map(|(number, _)| number));
        }
        answer
    }
}

/// Delivers the numbers until the process is killed after this time. Returns the position that it has stored last.
async fn killed_after(
    numbers: std::ops::Range<usize>,
    killed_after: u64,
    typed: bool,
    (stored, kept): (&Numbers, &Numbers),
) -> u64 {
    let progress = Progress::default();
    let target = Store {
        stored: Arc::clone(stored),
        calls: Mutex::new(0),
    };
    let handler = {
        let kept = Arc::clone(kept);
        move |undelivered: &Undelivered<usize>| {
            let (kept, number) = (Arc::clone(&kept), *undelivered.entry);
            async move {
                sleep(Duration::from_millis(number as u64 % 30)).await;
                kept.lock().unwrap().insert(number);
            }
        }
    };
    let delivery = Delivery::new(target).options(no_delay().concurrency(3).progress(&progress));
    let input = stream::iter(numbers);
    let delivering = async {
        if typed {
            let typed = delivery.try_map_entries(|number: &usize| match number % 11 {
                0 => Err("eleven"),
                _ => Ok(*number),
            });
            drop(typed.on_undelivered(handler).deliver_stream(input).await);
        } else {
            drop(delivery.on_undelivered(handler).deliver_stream(input).await);
        }
    };
    tokio::select! {
        () = delivering => {}
        () = sleep(Duration::from_millis(killed_after)) => {}
    }
    // None if it was killed before it began.
    progress.snapshot().settled_until.unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(50)))]

    #[test]
    fn a_load_that_is_killed_again_and_again_and_continues_at_its_mark_skips_nothing(
        count in 1_usize..400,
        kills in prop::collection::vec(0_u64..400, 0..6),
        typed: bool,
    ) {
        paused(async {
            let (stored, kept) = (Numbers::default(), Numbers::default());
            let mut position = 0;
            for kill in kills.into_iter().chain([1_000_000]) {
                position += usize::try_from(killed_after(position..count, kill, typed, (&stored, &kept)).await).unwrap();
                let settled: BTreeSet<_> = stored.lock().unwrap().union(&kept.lock().unwrap()).copied().collect();
                prop_assert!((0..position).all(|number| settled.contains(&number)), "{position} of {settled:?}");
            }
            prop_assert_eq!(position, count);
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_stays_before_an_entry_that_is_only_in_the_memory_of_the_process() {
    let refuse_seventh = |_, chunk: &[usize]| {
        let verdict = |number: &usize| match number {
            7 => Verdict::Refused(Fault::new("Refused")),
            _ => Verdict::Accepted,
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    };
    let progress = Progress::default();
    let options = || no_delay().progress(&progress);
    let (target, _) = numbers(refuse_seventh);
    let error = Delivery::new(target)
        .options(options())
        .deliver(0..50)
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 1);
    assert_eq!(progress.snapshot().settled_until, Some(7), "the error has the entry");

    let (target, _) = numbers(refuse_seventh);
    let hung = Delivery::new(target)
        .options(options())
        .on_undelivered(|_| pending::<()>());
    let delivering = tokio::spawn(async move { hung.deliver(0..50).await });
    sleep(Duration::from_mins(1)).await;
    assert_eq!(
        progress.snapshot().settled_until,
        Some(7),
        "the handler has not finished"
    );
    delivering.abort();
    assert!(delivering.await.unwrap_err().is_cancelled());

    let (target, _) = numbers(refuse_seventh);
    let quick = Delivery::new(target).options(options()).on_undelivered(|_| ready(()));
    quick.deliver(0..50).await.unwrap_err();
    assert_eq!(progress.snapshot().settled_until, Some(50));
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_waits_keeps_the_mark_while_later_ones_are_delivered() {
    let progress = Progress::default();
    let (target, _) = numbers(|_, chunk| {
        let verdict = |number: &usize| match number {
            3 => Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")),
            _ => Verdict::Accepted,
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    });
    let options = no_delay().backoff(|_: u32| Duration::from_secs(1)).progress(&progress);
    let delivery = Delivery::new(target).options(options.give_up_after(Duration::from_mins(1)));
    let delivering = tokio::spawn(async move { delivery.deliver(0..50).await });
    sleep(Duration::from_secs(30)).await;
    let snapshot = progress.snapshot();
    assert_eq!((snapshot.delivered, snapshot.settled_until), (49, Some(3)));
    assert_eq!(delivering.await.unwrap().unwrap_err().report.undelivered, 1);
}

#[tokio::test(start_paused = true)]
async fn deliveries_that_share_figures_have_no_mark() {
    let progress = Progress::default();
    assert_eq!(progress.snapshot().settled_until, None);
    let (target, _) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).options(no_delay().progress(&progress));
    let (one, other) = tokio::join!(delivery.deliver(vec![1; 9]), delivery.deliver(vec![1; 20]));
    assert_eq!((one.unwrap().delivered, other.unwrap().delivered), (9, 20));
    assert_eq!(progress.snapshot().settled_until, None);
    delivery.deliver(vec![1; 5]).await.unwrap();
    assert_eq!(progress.snapshot().settled_until, Some(5));
}
