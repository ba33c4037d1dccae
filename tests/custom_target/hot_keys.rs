//! Partition keys that a strategy paces by themselves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, KeyOutcome, KeyPace, Pace, Retry};
use aws_batch_delivery::targets::{Answer, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, Progress};
use futures::{StreamExt, stream};
use proptest::collection::vec;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant as TokioInstant, sleep, sleep_until};

use crate::numbers::no_delay;
use crate::paused::paused;
use crate::scripted::{Calls, ROUND_TRIP, Scripted, throttle};

/// The entries of a key are numbered from this many times the key on.
const KEY: usize = 1_000;

/// Bytes of each entry.
const SIZE: usize = 10;

fn key_of(entry: usize) -> u64 {
    (entry / KEY) as u64
}

/// The entries of these keys, in this order.
fn entries(keys: impl IntoIterator<Item = u64>) -> Vec<usize> {
    let mut next = BTreeMap::new();
    let numbered = keys.into_iter().map(|key| {
        let number = next.entry(key).or_insert(usize::try_from(key).unwrap() * KEY);
        *number += 1;
        *number
    });
    numbered.collect()
}

fn keyed(per_call: usize, answer: impl Fn(usize, &[usize]) -> Answer + Send + Sync + 'static) -> (Scripted, Calls) {
    let (mut target, calls) = Scripted::new(Limits::new(per_call, 1_000), |_| SIZE, answer);
    target.partition_key = |entry| Some(key_of(entry));
    (target, calls)
}

/// Throttles entries for which `is_throttled` holds and accepts all others.
fn throttling(chunk: &[usize], mut is_throttled: impl FnMut(usize) -> bool) -> Answer {
    let mut verdict = |entry: &usize| {
        if is_throttled(*entry) {
            throttle()
        } else {
            Verdict::Accepted
        }
    };
    Answer::Each(chunk.iter().map(&mut verdict).collect())
}

/// Throttles entries of the key 0 in the first call alone.
fn throttling_at_first(number: usize, chunk: &[usize]) -> Answer {
    throttling(chunk, |entry| number == 1 && key_of(entry) == 0)
}

/// Lets the entries of some keys leave one after the other, from their first throttle on.
struct Keyed {
    keys: HashSet<u64>,
    /// Entries of such a key that may leave together, and the time for each of them.
    most: usize,
    gap: Duration,
    delay: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    hot: HashMap<u64, Instant>,
    next: HashMap<u64, Instant>,
    departed: Vec<(u64, Instant, usize)>,
    first_attempts: HashMap<u64, (usize, usize)>,
}

impl Keyed {
    fn new(keys: impl IntoIterator<Item = u64>, most: usize, gap: Duration) -> Arc<Self> {
        Self::with_delay(keys, most, gap, Duration::from_millis(5))
    }

    fn with_delay(keys: impl IntoIterator<Item = u64>, most: usize, gap: Duration, delay: Duration) -> Arc<Self> {
        Arc::new(Self {
            keys: keys.into_iter().collect(),
            most,
            gap,
            delay,
            state: Mutex::default(),
        })
    }
}

impl BackoffStrategy for Keyed {
    fn delay(&self, _: Retry) -> Duration {
        self.delay
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Keyed {
    fn reset(&self) {
        self.state.lock().unwrap().next.clear();
    }

    fn key_pace(&self) -> Option<&dyn KeyPace> {
        Some(self)
    }
}

impl KeyPace for Keyed {
    fn observe(&self, _: Instant, answered_at: Instant, keys: &mut [KeyOutcome]) {
        let mut state = self.state.lock().unwrap();
        for key in keys {
            let attempts = state.first_attempts.entry(key.key).or_default();
            attempts.0 += key.first_attempts.0;
            attempts.1 += key.first_attempts.1;
            if self.keys.contains(&key.key) && key.throttled > 0 {
                state.hot.entry(key.key).or_insert(answered_at);
            }
            key.is_hot = state.hot.contains_key(&key.key);
        }
    }

    fn is_idle(&self) -> bool {
        self.state.lock().unwrap().hot.is_empty()
    }

    fn is_hot(&self, key: u64) -> bool {
        self.state.lock().unwrap().hot.contains_key(&key)
    }

    fn admit(&self, now: Instant, key: u64, wanted: usize) -> Admission {
        assert!(wanted > 0, "it is asked about a key without entries");
        match self.state.lock().unwrap().next.get(&key) {
            Some(next) if *next > now => Admission::WaitUntil(*next),
            _ => Admission::Go(wanted.min(self.most)),
        }
    }

    fn depart(&self, now: Instant, key: u64, entries: usize) {
        let gap = self.gap * u32::try_from(entries).unwrap();
        let mut state = self.state.lock().unwrap();
        state.departed.push((key, now, entries));
        state.next.insert(key, now + gap);
    }
}

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
        let sent_at = (TokioInstant::now() - ROUND_TRIP).into_std();
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

#[tokio::test(start_paused = true)]
async fn all_other_entries_go_on_while_those_of_a_hot_key_wait() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let (log, started) = (Arc::clone(&times), TokioInstant::now());
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
    let started = TokioInstant::now();
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
    let (log, started) = (Arc::clone(&times), TokioInstant::now());
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
    let (started, mut sent_by) = (TokioInstant::now(), Vec::new());
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
    let started = TokioInstant::now();
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
