//! The order inside the lanes, through throttles, failures and concurrency.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::target::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry, Progress};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

/// A write of a key, or a message of a group. Its number tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Write {
    key: u8,
    number: usize,
}

fn writes(keys: impl IntoIterator<Item = u8>) -> Vec<Write> {
    let numbered = keys.into_iter().enumerate();
    numbered.map(|(number, key)| Write { key, number }).collect()
}

/// How the keys make lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// One write of a key at a time, as a table wants it. A call with two is refused.
    Exclusive,
    /// One call with messages of a group at a time, as a FIFO queue wants it.
    Ordered,
    /// As the table wants it, but nobody knows the keys.
    Unknown,
}

/// What the service saw.
#[derive(Default)]
struct Seen {
    calls: Vec<Vec<Write>>,
    /// What was applied, in this order.
    log: Vec<Write>,
    /// Writes that were applied though the answer did not say so.
    ambiguous: HashSet<Write>,
    in_flight: Vec<Write>,
    violations: Vec<String>,
    most_in_flight: usize,
}

impl Seen {
    fn arrives(&mut self, chunk: &[Write], order: Order) {
        self.calls.push(chunk.to_vec());
        for write in chunk {
            if order != Order::Unknown && self.in_flight.iter().any(|other| other.key == write.key) {
                self.violations
                    .push(format!("two calls with key {} in flight", write.key));
            }
        }
        self.in_flight.extend_from_slice(chunk);
        self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
    }

    /// A FIFO queue knows a message again by its deduplication id; a table takes a write twice.
    fn applies(&mut self, write: Write, order: Order) {
        if order != Order::Ordered || !self.log.contains(&write) {
            self.log.push(write);
        }
    }

    fn leaves(&mut self, chunk: &[Write]) {
        self.in_flight.retain(|write| !chunk.contains(write));
    }
}

/// A service that takes writes, `fate` deciding on each call.
struct Service<F> {
    order: Order,
    entries: usize,
    seen: Arc<Mutex<Seen>>,
    fate: F,
}

/// What becomes of a call.
struct Fate {
    latency: Duration,
    answer: Answer,
    /// Applies what the answer leaves open.
    applied: bool,
}

impl Fate {
    fn after(latency: u64, answer: Answer) -> Self {
        Self {
            latency: Duration::from_millis(latency),
            answer,
            applied: false,
        }
    }
}

impl<F> Service<F>
where
    F: Fn(usize, &[Write]) -> Fate,
{
    fn new(order: Order, entries: usize, fate: F) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::<Mutex<Seen>>::default();
        let service = Self {
            order,
            entries,
            seen: Arc::clone(&seen),
            fate,
        };
        (service, seen)
    }
}

/// Tells the service when a call is over, also one that is given up.
struct InFlight<'a> {
    seen: &'a Mutex<Seen>,
    chunk: &'a [Write],
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .leaves(self.chunk);
    }
}

impl<F> BatchTarget for Service<F>
where
    F: Fn(usize, &[Write]) -> Fate + Send + Sync + 'static,
{
    type Entry = Write;

    fn limits(&self) -> Limits {
        Limits {
            entries: self.entries,
            bytes: 1_000_000,
            entry_bytes: 1_000_000,
        }
    }

    fn check(&self, _: &Write) -> Result<usize, InvalidEntry> {
        Ok(1_000)
    }

    fn lane(&self, write: &Write) -> Option<Lane> {
        match self.order {
            // A few keys fall together, as hashes may.
            Order::Exclusive => Some(Lane::exclusive(&(write.key % 30))),
            Order::Ordered => Some(Lane::ordered(&write.key)),
            Order::Unknown => None,
        }
    }

    fn supersedes(&self, newer: &Write, older: &Write) -> bool {
        self.order == Order::Exclusive && newer.key == older.key
    }

    async fn send(&self, chunk: &[Write]) -> Answer {
        let number = {
            let mut seen = self.seen.lock().unwrap();
            seen.arrives(chunk, self.order);
            seen.calls.len()
        };
        let in_flight = InFlight {
            seen: &self.seen,
            chunk,
        };
        let keys: HashSet<u8> = chunk.iter().map(|write| write.key).collect();
        if self.order != Order::Ordered && keys.len() < chunk.len() {
            tokio::time::sleep(Duration::from_millis(8)).await;
            return refused("duplicates");
        }
        let Fate {
            latency,
            answer,
            applied,
        } = (self.fate)(number, chunk);
        tokio::time::sleep(latency / 2).await;
        {
            let mut seen = self.seen.lock().unwrap();
            for (place, write) in chunk.iter().enumerate() {
                let verdict = match &answer {
                    Answer::Each(verdicts) => verdicts.get(place),
                    Answer::Whole(verdict) => Some(verdict),
                    Answer::Stop(_) => None,
                };
                match verdict {
                    Some(Verdict::Accepted) => seen.applies(*write, self.order),
                    Some(Verdict::Rejected(_, fault)) if applied && fault.is_ambiguous() => {
                        seen.applies(*write, self.order);
                        seen.ambiguous.insert(*write);
                    }
                    _ => {}
                }
            }
        }
        tokio::time::sleep(latency / 2).await;
        drop(in_flight);
        answer
    }
}

fn accepted(chunk: &[Write]) -> Answer {
    Answer::Each(vec![Verdict::Accepted; chunk.len()])
}

fn throttled() -> Verdict {
    Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
}

fn refused(code: &'static str) -> Answer {
    Answer::Whole(Verdict::Refused(Fault::new(code)))
}

/// Throttles the numbers the first time, accepts all else.
fn throttling_once(numbers: &'static [usize]) -> impl Fn(usize, &[Write]) -> Fate {
    let throttled_before = Mutex::new(HashSet::new());
    move |_, chunk| {
        let mut before = throttled_before.lock().unwrap();
        let verdict = |write: &Write| {
            if numbers.contains(&write.number) && before.insert(write.number) {
                throttled()
            } else {
                Verdict::Accepted
            }
        };
        Fate::after(8, Answer::Each(chunk.iter().map(verdict).collect()))
    }
}

fn options(rest: u64) -> DeliveryOptions {
    DeliveryOptions::default().backoff(move |_: u32| Duration::from_millis(rest))
}

fn numbers(calls: &[Vec<Write>]) -> Vec<Vec<usize>> {
    let numbers = |call: &Vec<Write>| call.iter().map(|write| write.number).collect();
    calls.iter().map(numbers).collect()
}

#[tokio::test(start_paused = true)]
async fn the_same_key_twice_goes_in_two_calls_in_input_order() {
    let (service, seen) = Service::new(Order::Exclusive, 4, |_, chunk| Fate::after(8, accepted(chunk)));
    let input = writes([1, 2, 1, 3, 1]);
    let report = Delivery::new(service).options(options(0)).deliver(input).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(numbers(&seen.calls), [vec![0, 1, 3], vec![2], vec![4]]);
    assert_eq!((report.delivered, report.calls), (5, 3));
}

#[tokio::test(start_paused = true)]
async fn a_newer_write_waits_until_the_throttled_older_one_is_settled() {
    let (service, seen) = Service::new(Order::Exclusive, 2, throttling_once(&[0]));
    let input = writes([1, 2, 3, 4, 1, 5, 6]);
    Delivery::new(service)
        .options(options(1_000))
        .deliver(input)
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    // The others do not wait.
    assert_eq!(
        numbers(&seen.calls),
        [vec![0, 1], vec![2, 3], vec![5, 6], vec![0], vec![4]]
    );
}

#[tokio::test(start_paused = true)]
async fn a_newer_write_goes_on_when_the_older_one_is_handed_back() {
    let fate = |_: usize, chunk: &[Write]| {
        let verdict = |write: &Write| match write.number {
            0 => Verdict::Refused(Fault::new("never")),
            1 => throttled(),
            _ => Verdict::Accepted,
        };
        Fate::after(8, Answer::Each(chunk.iter().map(verdict).collect()))
    };
    let (service, seen) = Service::new(Order::Exclusive, 4, fate);
    let error = Delivery::new(service)
        .options(options(0).retries(2))
        .deliver(writes([1, 2, 1, 2]))
        .await
        .unwrap_err();
    assert_eq!(error.report.delivered, 2);
    assert_eq!(numbers(&[seen.lock().unwrap().log.clone()]), [vec![2, 3]]);
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_group_share_a_call_in_order() {
    let (service, seen) = Service::new(Order::Ordered, 4, |_, chunk| Fate::after(8, accepted(chunk)));
    Delivery::new(service)
        .options(options(0))
        .deliver(writes([1; 10]))
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(numbers(&seen.calls), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    assert_eq!(seen.violations, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_different_groups_where_it_can() {
    let (service, seen) = Service::new(Order::Ordered, 3, |_, chunk| Fate::after(8, accepted(chunk)));
    let one_at_a_time = options(0).concurrency(1).unwrap();
    let input = writes([1, 1, 1, 2, 2, 2, 3, 3, 3]);
    Delivery::new(service)
        .options(one_at_a_time)
        .deliver(input)
        .await
        .unwrap();
    assert_eq!(
        numbers(&seen.lock().unwrap().calls),
        [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5, 8]]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_holds_what_follows_it_in_its_group_only() {
    let (service, seen) = Service::new(Order::Ordered, 2, throttling_once(&[0]));
    let input = writes([1, 2, 1, 2, 3, 1, 2]);
    Delivery::new(service)
        .options(options(1_000).concurrency(2).unwrap())
        .deliver(input)
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    let log = numbers(&[seen.log.clone()]).remove(0);
    // Group 1 is held for the second that its first message rests; groups 2 and 3 are through by then.
    assert_eq!(log, [1, 4, 3, 6, 0, 2, 5]);
    assert_eq!(seen.violations, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn leftovers_of_a_group_go_before_its_later_messages_in_order() {
    let fate = |number: usize, chunk: &[Write]| {
        let answer = if number == 1 {
            Answer::Whole(throttled())
        } else {
            accepted(chunk)
        };
        Fate::after(8, answer)
    };
    let (service, seen) = Service::new(Order::Ordered, 4, fate);
    Delivery::new(service)
        .options(options(10))
        .deliver(writes([1; 7]))
        .await
        .unwrap();
    assert_eq!(
        numbers(&seen.lock().unwrap().calls),
        [vec![0, 1, 2, 3], vec![0, 1, 2, 3], vec![4, 5, 6]]
    );
}

#[tokio::test(start_paused = true)]
async fn no_group_shares_a_call_after_one_was_accepted_in_part() {
    let (service, seen) = Service::new(Order::Ordered, 4, throttling_once(&[1, 3]));
    Delivery::new(service)
        .options(options(10))
        .deliver(writes([1; 5_000]))
        .await
        .unwrap();
    let calls = numbers(&seen.lock().unwrap().calls);
    assert_eq!(calls[..4], [vec![0, 1, 2, 3], vec![1], vec![3], vec![4]]);
    // After a thousand calls it is given another chance.
    assert_eq!(calls[1_000], [1_001]);
    assert_eq!(calls[1_001], [1_002, 1_003, 1_004, 1_005]);
}

#[tokio::test(start_paused = true)]
async fn groups_of_a_busy_group_are_not_starved() {
    let (service, seen) = Service::new(Order::Ordered, 2, |_, chunk| Fate::after(8, accepted(chunk)));
    let keys = (0..40).map(|number| if number % 4 == 3 { 2 } else { 1 });
    let one_at_a_time = options(0).concurrency(1).unwrap();
    Delivery::new(service)
        .options(one_at_a_time)
        .deliver(writes(keys))
        .await
        .unwrap();
    let calls = &seen.lock().unwrap().calls;
    assert_eq!(calls.len(), 20);
    assert!(calls[..10].iter().all(|call| call[0].key != call[1].key));
}

#[tokio::test(start_paused = true)]
async fn all_entries_in_one_lane_are_delivered_and_the_input_is_not_read_to_its_end() {
    for (order, per_call) in [(Order::Exclusive, 1), (Order::Ordered, 4)] {
        const ENTRIES: usize = 30_000;
        let read = Arc::new(AtomicUsize::new(0));
        let ahead = Arc::new(AtomicUsize::new(0));
        let (counter, most) = (Arc::clone(&read), Arc::clone(&ahead));
        let sent = AtomicUsize::new(0);
        let (service, seen) = Service::new(order, 4, move |_, chunk| {
            let sent = sent.fetch_add(chunk.len(), Relaxed);
            most.fetch_max(counter.load(Relaxed) - sent, Relaxed);
            Fate::after(8, accepted(chunk))
        });
        let input = writes([7; ENTRIES]).into_iter().inspect(move |_| {
            read.fetch_add(1, Relaxed);
        });
        let report = Delivery::new(service).options(options(0)).deliver(input).await.unwrap();
        assert_eq!(report.delivered, ENTRIES as u64);
        assert_eq!(report.calls, (ENTRIES / per_call) as u64);
        let seen = seen.lock().unwrap();
        assert!(seen.log.is_sorted_by_key(|write| write.number), "{order:?}");
        let ahead = ahead.load(Relaxed);
        assert!((1_000..=10_100).contains(&ahead), "{ahead} read ahead");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_write_wins_where_that_is_wanted() {
    let (service, seen) = Service::new(Order::Exclusive, 2, throttling_once(&[0]));
    let progress = Progress::default();
    // 0 rests, 1 is out, and 2 to 7 come one after the other. The last of each key is left.
    let report = Delivery::new(service)
        .options(
            options(1_000)
                .concurrency(2)
                .unwrap()
                .progress(&progress)
                .last_write_wins(),
        )
        .deliver(writes([1, 2, 1, 1, 3, 1, 2, 1]))
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    let last = |key| {
        seen.log
            .iter()
            .rfind(|write| write.key == key)
            .map(|write| write.number)
    };
    assert_eq!((last(1), last(2), last(3)), (Some(7), Some(6), Some(4)));
    assert!(!seen.log.contains(&Write { key: 1, number: 0 }));
    assert_eq!((report.delivered, report.superseded, report.undelivered), (4, 4, 0));
    let figures = progress.snapshot();
    assert_eq!((figures.superseded, figures.waiting, figures.in_flight), (4, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn without_the_option_every_write_arrives() {
    let (service, seen) = Service::new(Order::Exclusive, 2, throttling_once(&[0]));
    let report = Delivery::new(service)
        .options(options(1_000))
        .deliver(writes([1, 2, 1, 1, 3, 1, 2, 1]))
        .await
        .unwrap();
    assert_eq!((report.delivered, report.superseded), (8, 0));
    assert_eq!(seen.lock().unwrap().log.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_handed_back_at_the_end_of_the_time() {
    let (service, _) = Service::new(Order::Exclusive, 2, |_, chunk| {
        Fate::after(8, Answer::Each(vec![throttled(); chunk.len()]))
    });
    let deadline = Instant::now() + Duration::from_secs(10);
    let error = Delivery::new(service)
        .options(options(1_000).deadline(deadline))
        .deliver(writes((0..100).map(|number| number % 7)))
        .await
        .unwrap_err();
    let positions: Vec<u64> = error
        .undelivered
        .iter()
        .map(|undelivered| undelivered.position)
        .collect();
    assert_eq!(positions, (0..100).collect::<Vec<_>>());
}

/// One random delivery.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    order: Order,
    keys: u8,
    entries: usize,
    per_call: usize,
    concurrency: usize,
    /// Shares of calls, in percent.
    whole: u32,
    lost: u32,
    /// Share of entries, in percent.
    single: u32,
    refused: u32,
    rest: u64,
    last_write_wins: bool,
}

fn any_case(order: Order) -> impl Strategy<Value = Case> {
    let size = (1..=40_u8, 0..100_usize, 1..=10_usize, 1..=64_usize);
    let some = |most: u32| prop_oneof![Just(0), 1..most];
    let faults = (some(30), some(30), some(40), some(10));
    (any::<u64>(), size, faults, 0..40_u64, any::<bool>()).prop_map(
        move |(seed, (keys, entries, per_call, concurrency), (whole, lost, single, refused), rest, last_write_wins)| {
            Case {
                seed,
                order,
                keys,
                entries,
                per_call,
                concurrency,
                whole,
                lost,
                single,
                refused,
                rest,
                last_write_wins,
            }
        },
    )
}

/// Delivers a random input through random faults, and compares what arrived with a sequential delivery.
fn is_delivered_in_order(case: &Case) -> Result<(), TestCaseError> {
    let mut rng = SmallRng::seed_from_u64(case.seed);
    let input = writes(
        (0..case.entries)
            .map(|_| rng.random_range(0..case.keys))
            .collect::<Vec<_>>(),
    );
    let poisoned: HashSet<usize> = (0..case.entries)
        .filter(|_| rng.random_range(0..100) < case.refused)
        .collect();
    let (fate_case, fate_poison, random) = (case.clone(), poisoned.clone(), Mutex::new(rng));
    let fate = move |_: usize, chunk: &[Write]| {
        let mut rng = random.lock().unwrap();
        let mut percent = |share: u32| rng.random_range(0..100) < share;
        let ambiguous = || Verdict::Rejected(Rejection::Connection, Fault::new("lost").may_have_been_applied());
        let (answer, applied) = if chunk.iter().any(|write| fate_poison.contains(&write.number)) {
            (refused("poison"), false)
        } else if percent(fate_case.whole) {
            (Answer::Whole(throttled()), false)
        } else if percent(fate_case.lost) {
            (Answer::Whole(ambiguous()), percent(50))
        } else {
            // A queue that rejects a message takes nothing after it in its group either: what it does otherwise is
            // nobody's order to keep.
            let mut failed = HashSet::new();
            let ordered = fate_case.order == Order::Ordered;
            let verdict = |write: &Write| {
                if (ordered && failed.contains(&write.key)) || percent(fate_case.single) {
                    failed.insert(write.key);
                    throttled()
                } else {
                    Verdict::Accepted
                }
            };
            (Answer::Each(chunk.iter().map(verdict).collect()), false)
        };
        Fate {
            latency: Duration::from_millis(rng.random_range(1..30)),
            answer,
            applied,
        }
    };
    let (service, seen) = Service::new(case.order, case.per_call, fate);
    let rest = case.rest;
    let mut options = DeliveryOptions::default()
        .backoff(move |retry: u32| Duration::from_millis(rest * u64::from(retry % 3)))
        .give_up_after(Duration::MAX)
        .concurrency(case.concurrency)
        .unwrap();
    if case.last_write_wins {
        options = options.last_write_wins();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (report, undelivered) = match runtime.block_on(Delivery::new(service).options(options).deliver(input.clone())) {
        Ok(report) => (report, Vec::new()),
        Err(error) => (error.report, error.undelivered),
    };

    let seen = seen.lock().unwrap();
    prop_assert_eq!(&seen.violations, &[""; 0]);
    prop_assert_eq!(
        report.delivered + report.undelivered + report.superseded,
        case.entries as u64
    );
    let handed_back: HashSet<usize> = undelivered.iter().map(|undelivered| undelivered.entry.number).collect();
    if !case.last_write_wins || case.order == Order::Ordered {
        prop_assert_eq!(report.superseded, 0);
        prop_assert_eq!(&handed_back, &poisoned);
    }
    prop_assert!(handed_back.is_subset(&poisoned), "an innocent one was handed back");
    for key in 0..case.keys {
        let arrived: Vec<usize> = seen
            .log
            .iter()
            .filter(|write| write.key == key)
            .map(|write| write.number)
            .collect();
        let mut repeats = arrived.iter().filter(|number| {
            let times = arrived.iter().filter(|other| other == number).count();
            times > 1 && !seen.ambiguous.contains(&Write { key, number: **number })
        });
        prop_assert_eq!(repeats.next(), None, "sent again though accepted");
        let mut once = arrived.clone();
        // What was applied twice was applied twice in a row.
        once.dedup();
        prop_assert!(once.is_sorted_by(|one, other| one < other), "key {}: {:?}", key, once);
        let innocent = input
            .iter()
            .filter(|write| write.key == key && !poisoned.contains(&write.number));
        let expected: Vec<usize> = innocent.map(|write| write.number).collect();
        let overwritten_by_poison =
            case.last_write_wins && expected.last() < poisoned.iter().filter(|number| input[**number].key == key).max();
        if report.superseded == 0 {
            prop_assert_eq!(&once, &expected);
        } else if !overwritten_by_poison {
            prop_assert_eq!(
                once.last(),
                expected.last(),
                "the last write of key {} does not stand",
                key
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn writes_of_a_key_arrive_in_input_order_whatever_happens(case in any_case(Order::Exclusive)) {
        is_delivered_in_order(&case)?;
    }

    #[test]
    fn messages_of_a_group_arrive_in_input_order_whatever_happens(case in any_case(Order::Ordered)) {
        is_delivered_in_order(&case)?;
    }
}
