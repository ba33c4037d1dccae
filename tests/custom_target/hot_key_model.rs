//! Random deliveries while some partition keys have a pace of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::Lane;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use proptest::collection::vec;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use crate::custom_target::keyed::{KEY, Keyed, SIZE, entries, key_of, keyed, throttling};
use crate::support::paused::paused;
use crate::support::scripted::ROUND_TRIP;

#[derive(Debug, Clone)]
struct Scenario {
    keys: Vec<u64>,
    hot: Vec<u64>,
    has_lanes: bool,
    per_call: usize,
    concurrency: usize,
    most: usize,
    gap: u64,
    delay: u64,
    /// Throttles of hot keys and of all others, in percent.
    throttled: (u32, u32),
    seed: u64,
}

prop_compose! {
    fn any_scenario()(
        keys in vec(0..8_u64, 0..120),
        is_sorted: bool,
        hot in vec(0..8_u64, 0..4),
        has_lanes: bool,
        (per_call, concurrency) in (1..9_usize, 1..6_usize),
        most in 1..6_usize,
        (gap, delay) in (0..30_u64, prop_oneof![Just(0), 1..10_u64]),
        throttled in (1..80_u32, 0..10_u32),
        seed: u64,
    ) -> Scenario {
        let mut keys = keys;
        if is_sorted {
            keys.sort_unstable();
        }
        Scenario { keys, hot, has_lanes, per_call, concurrency, most, gap, delay, throttled, seed }
    }
}

async fn deliver(scenario: Scenario) {
    let progress = Progress::default();
    let (gap, delay) = (
        Duration::from_millis(scenario.gap),
        Duration::from_millis(scenario.delay),
    );
    let strategy = Keyed::with_delay(scenario.hot.iter().copied(), scenario.most, gap, delay);
    let (random, hot) = (Mutex::new(SmallRng::seed_from_u64(scenario.seed)), scenario.hot.clone());
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (log, sends, figures) = (Arc::clone(&accepted), Arc::clone(&sent), progress.clone());
    let (mut target, _) = keyed(scenario.per_call, move |_, chunk| {
        let snapshot = figures.snapshot();
        assert_eq!(snapshot.read_ahead_bytes, snapshot.read_ahead * SIZE as u64);
        let sent_at = (Instant::now() - ROUND_TRIP).into_std();
        sends
            .lock()
            .unwrap()
            .extend(chunk.iter().map(|entry| (key_of(*entry), sent_at)));
        throttling(chunk, |entry| {
            let (of_hot, of_others) = scenario.throttled;
            let percent = if hot.contains(&key_of(entry)) {
                of_hot
            } else {
                of_others
            };
            let is_throttled = random.lock().unwrap().random_ratio(percent, 100);
            if !is_throttled {
                log.lock().unwrap().push(entry);
            }
            is_throttled
        })
    });
    if scenario.has_lanes {
        target.lane = |entry| Some(Lane::exclusive(&(entry / KEY, entry % 2)));
    }
    let entries = entries(scenario.keys);
    let options = DeliveryOptions::default()
        .backoff(Arc::clone(&strategy))
        .concurrency(scenario.concurrency)
        .progress(&progress);
    let report = Delivery::new(target)
        .options(options)
        .deliver(entries.clone())
        .await
        .unwrap();

    assert_eq!(report.delivered, entries.len() as u64);
    let mut accepted = accepted.lock().unwrap().clone();
    if scenario.has_lanes {
        // Within a lane the numbers rise.
        let mut of_lanes = accepted.clone();
        of_lanes.sort_by_key(|entry| (entry / KEY, entry % 2));
        assert!(
            of_lanes.is_sorted_by_key(|entry| (entry / KEY, entry % 2, *entry)),
            "{accepted:?}"
        );
    }
    accepted.sort_unstable();
    let mut all = entries;
    all.sort_unstable();
    assert_eq!(accepted, all);
    let figures = progress.snapshot();
    assert_eq!((figures.waiting, figures.in_flight), (0, 0));
    assert_eq!((figures.read_ahead, figures.read_ahead_bytes), (0, 0));

    let (state, sent) = (strategy.state.lock().unwrap(), sent.lock().unwrap());
    let mut next = HashMap::new();
    for (key, at, entries) in &state.departed {
        assert!((1..=scenario.most).contains(entries), "{entries} entries of a hot key");
        assert!(
            next.get(key).is_none_or(|next| next <= at),
            "the key {key} did not wait"
        );
        next.insert(*key, *at + gap * u32::try_from(*entries).unwrap());
    }
    for (key, since) in &state.hot {
        let departed: usize = state
            .departed
            .iter()
            .filter(|(of, ..)| of == key)
            .map(|(.., entries)| entries)
            .sum();
        let sends = sent.iter().filter(|(of, _)| of == key);
        let (later, all) = (sends.clone().filter(|(_, at)| at > since).count(), sends.count());
        assert!(
            (later..=all).contains(&departed),
            "{departed} of {later} to {all} entries of the key {key}"
        );
    }
}

proptest! {
    #[test]
    fn every_entry_arrives_once_and_in_order_whatever_keys_are_hot_and_these_leave_at_their_pace(
        scenario in any_scenario(),
    ) {
        paused(deliver(scenario));
    }
}
