//! How the entries at fault are found.

use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, Fault, Lane};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, Progress};
use proptest::collection::hash_set;
use proptest::prelude::*;
use tokio::time::Instant;

use crate::isolation::all_or_nothing::{ENTRIES, all_or_nothing, allowed, handed_back, no_fault};
use crate::support::cases::cases;
use crate::support::options::{no_delay, one_at_a_time};
use crate::support::paused::paused;
use crate::support::scripted::throttle;

#[tokio::test(start_paused = true)]
async fn one_poisoned_entry_among_five_thousand_is_handed_back_alone() {
    let (target, _) = all_or_nothing([1_234], no_fault);
    let error = Delivery::new(target)
        .options(no_delay())
        .deliver(0..5_000)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (4_999, 1));
    let extra = error.report.calls - 200;
    assert!(extra <= allowed(ENTRIES), "{extra} extra calls");

    let undelivered = &error.undelivered()[0];
    assert_eq!((*undelivered.entry, undelivered.position), (1_234, 1_234));
    assert!(!undelivered.may_have_been_delivered);
    let Cause::Refused(fault) = &undelivered.cause else {
        panic!("{:?}", undelivered.cause)
    };
    assert_eq!(fault.code(), "ValidationException");
    assert_eq!(fault.source().unwrap().to_string(), "one of the entries is poisoned");
}

#[tokio::test(start_paused = true)]
async fn halves_are_sent_by_themselves_one_after_the_other() {
    let (target, calls) = all_or_nothing([2], no_fault);
    Delivery::new(target)
        .options(one_at_a_time())
        .deliver(0..50)
        .await
        .unwrap_err();
    let calls = calls.lock().unwrap();
    let first_half: Vec<usize> = (0..13).collect();
    assert_eq!(calls[1], first_half);
    assert_eq!(calls[2], first_half[..7]);
    assert_eq!(calls[3], [0, 1, 2, 3]);
    assert_eq!(calls[4], [0, 1]);
    assert_eq!(calls[5], [2, 3]);
    assert_eq!(calls[6], [2]);
    assert_eq!(calls[7], [3]);
    assert_eq!(calls[8], [4, 5, 6]);
    assert_eq!(calls[9], first_half[7..]);
    assert_eq!(calls[10], (13..25).collect::<Vec<_>>());
    assert_eq!(calls[11], (25..50).collect::<Vec<_>>());
    assert_eq!(calls.len(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_stops_the_delivery_is_not_halved() {
    let stop = |_: usize, _: &[usize]| Some(Answer::Stop(Fault::new("ResourceNotFoundException")));
    let (target, calls) = all_or_nothing([], stop);
    let error = Delivery::new(target)
        .options(one_at_a_time())
        .deliver(0..100)
        .await
        .unwrap_err();
    assert_eq!(calls.lock().unwrap().len(), 1);
    assert_eq!(error.undelivered().len(), 100);
    assert!(matches!(error.undelivered()[99].cause, Cause::Stopped(_)));
}

#[tokio::test(start_paused = true)]
async fn a_valid_entry_keeps_all_its_retries() {
    // The first call is refused for 7, and each later one with 3 in it is throttled.
    let throttle_three =
        |number: usize, chunk: &[usize]| (number > 1 && chunk.contains(&3)).then(|| Answer::Whole(throttle()));
    let (target, _) = all_or_nothing([7], throttle_three);
    let error = Delivery::new(target)
        .options(no_delay().retries(4))
        .deliver(0..8)
        .await
        .unwrap_err();
    let three = error
        .undelivered()
        .iter()
        .find(|undelivered| *undelivered.entry == 3)
        .unwrap();
    assert!(matches!(three.cause, Cause::RetriesUsedUp(_)));
    // The refused call, and then one attempt and four retries.
    assert_eq!(three.attempts, 1 + 5);
    let seven = error
        .undelivered()
        .iter()
        .find(|undelivered| *undelivered.entry == 7)
        .unwrap();
    assert!(matches!(seven.cause, Cause::Refused(_)));
}

#[tokio::test(start_paused = true)]
async fn without_retries_the_valid_entries_are_delivered_too() {
    let (target, _) = all_or_nothing([7], no_fault);
    let error = Delivery::new(target)
        .options(no_delay().retries(0))
        .deliver(0..25)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (24, 1));
}

#[tokio::test(start_paused = true)]
async fn the_same_entry_twice_is_delivered_one_after_the_other() {
    // The target does not know that the two are duplicates.
    let (target, calls) = all_or_nothing([], no_fault);
    let input: Vec<usize> = (0..20).chain([7, 7]).collect();
    let report = Delivery::new(target).options(no_delay()).deliver(input).await.unwrap();
    assert_eq!((report.delivered, report.undelivered), (22, 0));
    let in_a_call = |call: &Vec<usize>| call.iter().filter(|entry| **entry == 7).count();
    let calls = calls.lock().unwrap();
    let alone = calls.iter().filter(|call| in_a_call(call) == 1).count();
    assert_eq!(alone, 3);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_is_throttled_stays_together() {
    let throttled_before = AtomicBool::new(false);
    let throttle_once = move |_: usize, chunk: &[usize]| {
        let is_half = chunk.contains(&0) && chunk.len() < ENTRIES;
        (is_half && !throttled_before.swap(true, Relaxed)).then(|| Answer::Whole(throttle()))
    };
    let (target, calls) = all_or_nothing([0], throttle_once);
    let options = DeliveryOptions::default().backoff(|_: u32| Duration::from_secs(1));
    let started = Instant::now();
    let error = Delivery::new(target)
        .options(options)
        .deliver(0..200)
        .await
        .unwrap_err();
    assert_eq!(error.report.delivered, 199);
    let calls = calls.lock().unwrap();
    let with_zero: Vec<usize> = calls.iter().filter(|call| call.contains(&0)).map(Vec::len).collect();
    assert_eq!(with_zero[..3], [25, 13, 13]);
    assert!(started.elapsed() > Duration::from_secs(1));
    assert!(error.report.calls - 8 <= allowed(ENTRIES) + 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_at_the_end_of_the_time_is_handed_back_and_not_lost() {
    let (target, _) = all_or_nothing([0], no_fault);
    let progress = Progress::default();
    let deadline = Instant::now() + Duration::from_millis(20);
    let options = one_at_a_time().deadline(deadline).progress(&progress);
    let error = Delivery::new(target)
        .options(options)
        .deliver(0..100)
        .await
        .unwrap_err();
    let positions: Vec<u64> = error
        .undelivered()
        .iter()
        .map(|undelivered| undelivered.position)
        .collect();
    assert_eq!(positions, (0..100).collect::<Vec<_>>());
    let figures = progress.snapshot();
    assert_eq!((figures.waiting, figures.in_flight, figures.undelivered), (0, 0, 100));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_found_in_time_is_given_up() {
    let throttle_halves = |number: usize, _: &[usize]| (number > 1).then(|| Answer::Whole(throttle()));
    let (target, _) = all_or_nothing([0], throttle_halves);
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_secs(1))
        .give_up_after(Duration::from_secs(10));
    let started = Instant::now();
    let error = Delivery::new(target).options(options).deliver(0..25).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 25);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::TimeUsedUp(_)))
    );
    assert!(started.elapsed() <= Duration::from_secs(10));
}

/// The additional calls that this many poisoned entries may cost.
///
/// A refused call is halved. A poisoned entry costs two calls on each of the five levels for 25 entries; the call that was
/// refused first counts among those that deliver the others. After eight refusals of single entries in a row the next entries
/// are sent alone, until one is accepted. Then a poisoned entry costs one call, less than a search for it, and a valid one
/// leaves the rest of its call to another one. The first valid entry that is accepted ends it; by then at most as many single
/// entries have left as calls may be in flight. So each eight poisoned entries cost at most that many calls more.
fn allowed_for(poisoned: usize, concurrency: usize) -> u64 {
    poisoned as u64 * allowed(ENTRIES) + (poisoned / 8 * concurrency) as u64
}

/// Eleven poisoned entries, each in a call of its own, are found at the same time: eight are refused alone one after the
/// other, and then a pair is sent as two calls.
#[tokio::test(start_paused = true)]
async fn eight_that_are_refused_alone_in_a_row_make_others_go_alone() {
    let poisoned = [0, 13, 175, 241, 603, 628, 816, 862, 919, 1064, 1285];
    let (target, _) = all_or_nothing(poisoned, no_fault);
    let delivery = Delivery::new(target).options(no_delay().concurrency(52));
    let error = delivery.deliver(0..1_293).await.unwrap_err();
    assert_eq!(handed_back(&error), poisoned);
    let calls = error.report.calls;
    let search = 52 + poisoned.len() as u64 * allowed(ENTRIES);
    assert!(
        (search + 1..=52 + allowed_for(poisoned.len(), 52)).contains(&calls),
        "{calls} calls"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(120), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_poisoned_entry_costs_few_calls(
        poisoned in hash_set(0..2_000_usize, 0..20),
        entries in 1..2_000_usize,
        concurrency in 1..64_usize,
        ordered in any::<bool>(),
    ) {
        let at_fault = poisoned.iter().filter(|entry| **entry < entries).count();
        let (mut target, calls) = all_or_nothing(poisoned.clone(), no_fault);
        if ordered {
            target.lane = |entry| Some(Lane::ordered(&(entry % 3)));
        }
        let options = no_delay().concurrency(concurrency);
        let (report, undelivered) = match paused(Delivery::new(target).options(options).deliver(0..entries)) {
            Ok(report) => (report, Vec::new()),
            Err(error) => (error.report.clone(), error.into_undelivered()),
        };
        prop_assert_eq!(undelivered.len(), at_fault);
        prop_assert_eq!(report.delivered, (entries - at_fault) as u64);
        prop_assert!(undelivered.iter().all(|undelivered| poisoned.contains(&undelivered.entry)));
        let least = entries.div_ceil(ENTRIES) as u64;
        // A lane has one call in flight, so calls of three lanes may be small.
        prop_assert!(ordered || report.calls <= least + allowed_for(at_fault, concurrency));
        if ordered {
            let sent: Vec<usize> = calls.lock().unwrap().concat();
            for lane in 0..3 {
                let mut last = HashSet::new();
                let first_sent: Vec<usize> = sent.iter().copied().filter(|entry| entry % 3 == lane && last.insert(*entry)).collect();
                prop_assert!(first_sent.is_sorted());
            }
        }
    }
}
