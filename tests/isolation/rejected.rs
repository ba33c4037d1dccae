//! When an entry is rejected during a bisection, only entries that must not pass it wait for it.

use std::time::Duration;

use aws_batch_delivery::targets::{Answer, Lane};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use tokio::time::Instant;

use crate::isolation::all_or_nothing::{ENTRIES, all_or_nothing, handed_back, no_fault, with_throttled};
use crate::support::scripted::{ROUND_TRIP, throttle};

/// Delays far longer than the rest of the delivery takes.
fn long_delays() -> DeliveryOptions {
    DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_hours(1))
        .give_up_after(Duration::MAX)
        .deadline(Instant::now() + ROUND_TRIP * 40)
}

#[tokio::test(start_paused = true)]
async fn a_throttled_entry_of_a_refused_call_does_not_delay_others() {
    let lanes: [fn(usize) -> Option<Lane>; 3] = [
        |_| None,
        |entry| Some(Lane::exclusive(&entry)),
        |entry| Some(Lane::ordered(&entry)),
    ];
    for lane in lanes {
        let (mut target, _) = with_throttled([20], [3, 9], no_fault);
        target.lane = lane;
        let error = Delivery::new(target)
            .options(long_delays().concurrency(2))
            .deliver(0..200)
            .await
            .unwrap_err();
        assert_eq!(handed_back(&error), [3, 9, 20]);
        assert!(matches!(error.undelivered()[1].cause, Cause::DeadlineReached(_)));
        assert!(matches!(error.undelivered()[2].cause, Cause::Refused(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_entry_of_a_refused_call_leaves_with_fresh_ones() {
    let (target, calls) = with_throttled([20], [3], no_fault);
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::ZERO)
        .concurrency(1)
        .retries(3);
    let error = Delivery::new(target).options(options).deliver(0..50).await.unwrap_err();
    assert_eq!(handed_back(&error), [3, 20]);
    let calls = calls.lock().unwrap();
    let with_three = calls.iter().filter(|call| call.contains(&3));
    let after_its_half = with_three.skip(2).map(Vec::len);
    // The rest of the input tops the call up.
    assert_eq!(after_its_half.collect::<Vec<_>>(), [25, 2, 1][..].to_vec());
}

#[tokio::test(start_paused = true)]
async fn a_half_that_is_throttled_as_a_whole_does_not_delay_the_other_half() {
    let throttle_half =
        |_: usize, chunk: &[usize]| (chunk.len() < ENTRIES && chunk.contains(&0)).then(|| Answer::Whole(throttle()));
    let (target, calls) = all_or_nothing([0], throttle_half);
    let error = Delivery::new(target)
        .options(long_delays().concurrency(2))
        .deliver(0..100)
        .await
        .unwrap_err();
    // It is not known which entry of the half is at fault, so the half stays together.
    assert_eq!(handed_back(&error), (0..13).collect::<Vec<_>>());
    let with_zero = calls.lock().unwrap().iter().filter(|call| call.contains(&0)).count();
    assert_eq!(with_zero, 2);
}

#[tokio::test(start_paused = true)]
async fn messages_of_its_group_wait_behind_a_throttled_one_and_others_do_not() {
    let (mut target, calls) = with_throttled([20], [1], no_fault);
    target.lane = |entry| Some(Lane::ordered(&(entry % 5)));
    let error = Delivery::new(target)
        .options(long_delays())
        .deliver(0..30)
        .await
        .unwrap_err();
    let in_the_group = |entry: &usize| entry % 5 == 1;
    let mut expected: Vec<usize> = (0..30).filter(in_the_group).chain([20]).collect();
    expected.sort_unstable();
    assert_eq!(handed_back(&error), expected);
    let calls = calls.lock().unwrap();
    // Refused together with the poisoned entry, or throttled; after that, nothing of the group is sent.
    let throttled = calls.iter().position(|call| call.contains(&1) && !call.contains(&20));
    let after = &calls[throttled.unwrap() + 1..];
    assert!(
        after.len() > 2 && !after.iter().flatten().any(in_the_group),
        "{calls:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn where_the_lanes_are_not_known_nothing_passes_a_throttled_entry_of_its_call() {
    let (mut target, _) = with_throttled([20], [3], no_fault);
    target.lane = |_| Some(Lane::unknown());
    let error = Delivery::new(target)
        .options(long_delays())
        .deliver(0..100)
        .await
        .unwrap_err();
    // The entries before it in its half were accepted; all later ones may have its lane.
    let expected: Vec<usize> = [3].into_iter().chain(13..100).collect();
    assert_eq!(handed_back(&error), expected);
}
