//! Partition keys that a strategy paces by themselves.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::backoff::Outcome;
use aws_batch_delivery::targets::{Answer, Fault, Lane, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, Progress};
use futures::{StreamExt, stream};
use tokio::time::{Instant, sleep, sleep_until};

use crate::custom_target::keyed::{KEY, Keyed, entries, key_of, keyed, throttling, throttling_at_first};
use crate::custom_target::numbers::no_delay;
use crate::support::scripted::{ROUND_TRIP, throttle};

#[tokio::test(start_paused = true)]
async fn all_other_entries_go_on_while_those_of_a_hot_key_wait() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let (log, started) = (Arc::clone(&times), Instant::now());
    let (target, _) = keyed(4, move |number, chunk| {
        let at = started.elapsed();
        log.lock()
            .unwrap()
            .extend(chunk.iter().map(|entry| (key_of(*entry), at)));
        throttling_at_first(number, chunk)
    });
    let strategy = Keyed::new([0], 1, Duration::from_secs(1));
    let options = DeliveryOptions::default().backoff(strategy).concurrency(1);
    let keys = (0..100).map(|place| if place % 10 == 0 { 0 } else { 1 + place % 7 });
    let report = Delivery::new(target)
        .options(options)
        .deliver(entries(keys))
        .await
        .unwrap();
    assert_eq!(report.delivered, 100);
    let times = times.lock().unwrap();
    let last = |is_hot: bool| {
        times
            .iter()
            .filter(|(key, _)| (*key == 0) == is_hot)
            .map(|(_, at)| *at)
            .max()
    };
    // 90 entries in calls of four, and one call more with those of the hot key.
    assert!(last(false).unwrap() <= 26 * ROUND_TRIP, "{:?}", last(false));
    let hot = last(true).unwrap();
    assert!(
        (Duration::from_secs(9)..Duration::from_secs(10)).contains(&hot),
        "{hot:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_sorted_input_does_not_go_key_by_key_any_more_once_a_key_is_hot() {
    let (target, calls) = keyed(4, throttling_at_first);
    let strategy = Keyed::new([0], 4, Duration::ZERO);
    let options = DeliveryOptions::default().backoff(strategy).concurrency(1);
    let keys = std::iter::once(0).chain((0..200).map(|place| 1 + place / 50));
    Delivery::new(target)
        .options(options)
        .deliver(entries(keys))
        .await
        .unwrap();
    let calls = calls.lock().unwrap();
    // While entries of all keys wait.
    let keys = calls[5..20]
        .iter()
        .map(|call| call.iter().map(|entry| key_of(*entry)).collect::<HashSet<_>>());
    let (mixed, all): (usize, HashSet<u64>) = keys.fold((0, HashSet::new()), |(mixed, mut all), keys| {
        let is_mixed = usize::from(keys.len() > 1);
        all.extend(keys);
        (mixed + is_mixed, all)
    });
    assert!(mixed >= 8 && all.len() == 4, "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn rejected_entries_of_a_hot_key_are_handed_back_when_their_time_is_used_up() {
    let (target, _) = keyed(4, throttling_at_first);
    let strategy = Keyed::new([0], 1, Duration::from_hours(1));
    let progress = Progress::default();
    let options = DeliveryOptions::default().backoff(strategy).progress(&progress);
    let delivery = Delivery::new(target).options(options.give_up_after(Duration::from_secs(1)));
    let started = Instant::now();
    let mut figures = Vec::new();
    let (error, ()) = tokio::join!(
        // A third entry keeps the delivery going.
        delivery.deliver_stream(stream::iter(entries([0, 0])).chain(stream::once(async {
            sleep(Duration::from_secs(2)).await;
            KEY
        }))),
        async {
            for millis in [900, 1_900] {
                sleep_until(started + Duration::from_millis(millis)).await;
                let snapshot = progress.snapshot();
                figures.push((snapshot.delivered, snapshot.waiting, snapshot.undelivered));
            }
        }
    );
    assert_eq!(figures, [(1, 1, 0), (1, 0, 1)]);
    let error = error.unwrap_err();
    assert_eq!(error.report.delivered, 2);
    assert!(matches!(error.undelivered()[0].cause, Cause::TimeUsedUp(_)));
}

#[tokio::test(start_paused = true)]
async fn an_entry_of_a_hot_key_that_is_rejected_for_another_reason_waits_for_its_delay() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let (log, started) = (Arc::clone(&times), Instant::now());
    let (target, _) = keyed(1, move |number, _| {
        log.lock().unwrap().push(started.elapsed());
        Answer::Whole(match number {
            1 => throttle(),
            2 => Verdict::Rejected(Rejection::Transient, Fault::new("InternalServerError")),
            _ => Verdict::Accepted,
        })
    });
    let second = Duration::from_secs(1);
    let strategy = Keyed::with_delay([0], 1, Duration::ZERO, second);
    let options = DeliveryOptions::default().backoff(strategy);
    Delivery::new(target)
        .options(options)
        .deliver(entries([0]))
        .await
        .unwrap();
    assert_eq!(
        *times.lock().unwrap(),
        [ROUND_TRIP, 2 * ROUND_TRIP, 3 * ROUND_TRIP + second]
    );
}

#[tokio::test(start_paused = true)]
async fn entries_that_wait_by_key_linger_until_a_call_is_full() {
    let (target, calls) = keyed(4, throttling_at_first);
    let strategy = Keyed::new([0], 4, Duration::ZERO);
    let options = DeliveryOptions::default()
        .backoff(strategy)
        .linger(Duration::from_millis(100));
    let delivery = Delivery::new(target).options(options);
    // Two seconds later, when a key is hot: two entries and a third one after 50 ms, and later four at once.
    let (one, other) = (KEY, 2 * KEY);
    let delays = [
        (0, 0),
        (2_000, one),
        (0, other),
        (50, one + 1),
        (2_000, one + 2),
        (0, other + 1),
        (0, one + 3),
        (0, other + 2),
    ];
    let entries = stream::iter(delays).then(|(millis, entry)| async move {
        sleep(Duration::from_millis(millis)).await;
        entry
    });
    let mut delivering = Box::pin(delivery.deliver_stream(entries.chain(stream::pending())));
    let (started, mut sent_by) = (Instant::now(), Vec::new());
    // The first entry lingers as well, and is throttled.
    for millis in [2_095, 2_110, 4_150] {
        let until = sleep_until(started + Duration::from_millis(millis));
        tokio::select! {
            _ = &mut delivering => panic!("the stream goes on"),
            () = until => {}
        }
        sent_by.push(calls.lock().unwrap().iter().map(Vec::len).collect::<Vec<_>>());
    }
    assert_eq!(sent_by, [vec![1, 1], vec![1, 1, 3], vec![1, 1, 3, 4]]);
}

#[tokio::test(start_paused = true)]
async fn a_reset_lets_entries_of_a_hot_key_leave_at_once() {
    let (target, calls) = keyed(4, throttling_at_first);
    let strategy = Keyed::new([0], 1, Duration::from_hours(1));
    let options = DeliveryOptions::default().backoff(strategy);
    let delivery = Delivery::new(target).options(options.clone());
    let started = Instant::now();
    let resets = async {
        for resets in 1..4 {
            tokio::time::sleep_until(started + resets * Duration::from_secs(1)).await;
            options.reset_backoff();
        }
    };
    let (report, ()) = tokio::join!(delivery.deliver(entries([0; 4])), resets);
    assert_eq!(report.unwrap().delivered, 4);
    assert_eq!(calls.lock().unwrap().len(), 5);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn each_attempt_of_an_entry_that_others_of_its_lane_wait_behind_tells_of_its_key() {
    for (entries_of_key, attempts) in [(1, (1, 1)), (2, (5, 3))] {
        let (mut target, _) = keyed(4, |number, chunk| throttling(chunk, |_| number <= 3));
        target.lane = |entry| Some(Lane::exclusive(&key_of(entry)));
        let strategy = Keyed::new([0], 1, Duration::ZERO);
        let options = DeliveryOptions::default().backoff(Arc::clone(&strategy));
        Delivery::new(target)
            .options(options)
            .deliver(entries(vec![0; entries_of_key]))
            .await
            .unwrap();
        let counted = strategy.state.lock().unwrap().first_attempts[&0];
        assert_eq!(counted, attempts, "{entries_of_key} entries");
    }
}

#[tokio::test(start_paused = true)]
async fn entries_of_a_lane_that_shares_calls_are_not_paced_by_key() {
    let (mut target, calls) = keyed(4, throttling_at_first);
    target.lane = |entry| Some(Lane::ordered(&key_of(entry)));
    let strategy = Keyed::new([0], 1, Duration::from_hours(1));
    let options = DeliveryOptions::default().backoff(Arc::clone(&strategy));
    let report = Delivery::new(target)
        .options(options)
        .deliver(entries([0; 8]))
        .await
        .unwrap();
    assert_eq!((report.delivered, calls.lock().unwrap().len()), (8, 3));
    let state = strategy.state.lock().unwrap();
    assert!(state.hot.is_empty() && state.departed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_target_is_not_asked_for_keys_by_a_strategy_that_paces_none() {
    let (mut target, _) = keyed(4, throttling_at_first);
    target.partition_key = |_| panic!("no key is paced");
    let report = Delivery::new(target)
        .options(no_delay())
        .deliver(entries([0; 8]))
        .await
        .unwrap();
    assert_eq!(report.delivered, 8);
}

#[tokio::test(start_paused = true)]
async fn throttled_entries_of_a_hot_key_are_neither_throttles_nor_retries_of_the_pace_of_all() {
    let (target, _) = keyed(4, throttling_at_first);
    let strategy = Keyed::new([0], 1, Duration::from_millis(10));
    let options = DeliveryOptions::default().backoff(Arc::clone(&strategy)).concurrency(1);
    Delivery::new(target)
        .options(options)
        .deliver(entries([0, 0, 1, 1]))
        .await
        .unwrap();
    let outcomes = strategy.state.lock().unwrap().outcomes.clone();
    let counts = |outcome: &Outcome| (outcome.sent, outcome.accepted, outcome.throttled, outcome.failed);
    assert_eq!(
        counts(&outcomes[0]),
        (2, 0, 0, 2),
        "those of the hot key are not in flight any more"
    );
    assert_eq!(counts(&outcomes[1]), (2, 2, 0, 0), "the others are all of the call");
    assert_eq!((outcomes[1].fresh, outcomes[1].fresh_throttled), (2, 0));
}
