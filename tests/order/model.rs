//! Random deliveries compared with a sequential one.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use aws_batch_delivery::target::{Answer, Fault, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::service::{Fate, Order, Service, Write, refused, throttled, writes};

fn lost() -> Verdict {
    Verdict::Rejected(Rejection::Connection, Fault::new("lost").may_have_been_applied())
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

impl Case {
    /// Which entries the service refuses.
    fn poisoned(&self, rng: &mut SmallRng) -> HashSet<usize> {
        (0..self.entries)
            .filter(|_| rng.random_range(0..100) < self.refused)
            .collect()
    }

    /// What becomes of the calls.
    fn fates(&self, poisoned: HashSet<usize>, rng: SmallRng) -> impl Fn(usize, &[Write]) -> Fate + use<> {
        let (case, random) = (self.clone(), Mutex::new(rng));
        move |_, chunk| {
            let mut rng = random.lock().unwrap();
            let mut percent = |share: u32| rng.random_range(0..100) < share;
            let (answer, applied) = if chunk.iter().any(|write| poisoned.contains(&write.number)) {
                (refused("poison"), false)
            } else if percent(case.whole) {
                (Answer::Whole(throttled()), false)
            } else if percent(case.lost) {
                (Answer::Whole(lost()), percent(50))
            } else {
                (case.verdicts(chunk, || percent(case.single)), false)
            };
            Fate {
                latency: Duration::from_millis(rng.random_range(1..30)),
                answer,
                applied,
            }
        }
    }

    /// Some entries fail. A queue that fails a message takes nothing after it in its group: if it does, the order is lost
    /// before anybody hears of it.
    fn verdicts(&self, chunk: &[Write], mut fails: impl FnMut() -> bool) -> Answer {
        let mut failed = HashSet::new();
        let verdict = |write: &Write| {
            if (self.order == Order::Ordered && failed.contains(&write.key)) || fails() {
                failed.insert(write.key);
                throttled()
            } else {
                Verdict::Accepted
            }
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    }

    fn options(&self) -> DeliveryOptions {
        let rest = self.rest;
        let options = DeliveryOptions::default()
            .backoff(move |retry: u32| Duration::from_millis(rest * u64::from(retry % 3)))
            .give_up_after(Duration::MAX)
            .concurrency(self.concurrency)
            .unwrap();
        if self.last_write_wins {
            options.last_write_wins()
        } else {
            options
        }
    }
}

/// Delivers a random input through random faults, and compares what arrived with a sequential delivery.
fn is_delivered_in_order(case: &Case) -> Result<(), TestCaseError> {
    let mut rng = SmallRng::seed_from_u64(case.seed);
    let keys: Vec<u8> = (0..case.entries).map(|_| rng.random_range(0..case.keys)).collect();
    let input = writes(keys);
    let poisoned = case.poisoned(&mut rng);
    let (service, seen) = Service::new(case.order, case.per_call, case.fates(poisoned.clone(), rng));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let delivery = Delivery::new(service).options(case.options());
    let (report, undelivered) = match runtime.block_on(delivery.deliver(input.clone())) {
        Ok(report) => (report, Vec::new()),
        Err(error) => (error.report, error.undelivered),
    };

    let seen = seen.lock().unwrap();
    prop_assert_eq!(&seen.violations, &[""; 0]);
    let all = report.delivered + report.undelivered + report.superseded;
    prop_assert_eq!(all, case.entries as u64);
    let handed_back: HashSet<usize> = undelivered.iter().map(|undelivered| undelivered.entry.number).collect();
    if !case.last_write_wins || case.order == Order::Ordered {
        prop_assert_eq!(report.superseded, 0);
        prop_assert_eq!(&handed_back, &poisoned);
    }
    prop_assert!(handed_back.is_subset(&poisoned), "an innocent one was handed back");
    for key in 0..case.keys {
        let of_key = |writes: &[Write]| -> Vec<usize> {
            let of_key = writes.iter().filter(|write| write.key == key);
            of_key.map(|write| write.number).collect()
        };
        let (sent, arrived) = (of_key(&input), of_key(&seen.log));
        let once = without_repeats(&arrived, |number| seen.ambiguous.contains(&Write { key, number }))?;
        let innocent: Vec<usize> = sent
            .iter()
            .copied()
            .filter(|number| !poisoned.contains(number))
            .collect();
        if report.superseded == 0 {
            prop_assert_eq!(once, innocent);
        } else if innocent.last() == sent.last() {
            // Where the last write was refused, those before it may have been dropped for it.
            prop_assert_eq!(once.last(), sent.last(), "the last write of key {} does not stand", key);
        }
    }
    Ok(())
}

/// What arrived, in order; an entry may have arrived several times in a row if an answer was ambiguous.
fn without_repeats(arrived: &[usize], is_ambiguous: impl Fn(usize) -> bool) -> Result<Vec<usize>, TestCaseError> {
    let mut once = arrived.to_vec();
    once.dedup();
    prop_assert!(once.is_sorted_by(|one, other| one < other), "out of order: {:?}", once);
    for pair in arrived.windows(2).filter(|pair| pair[0] == pair[1]) {
        prop_assert!(is_ambiguous(pair[0]), "{} was sent again though accepted", pair[0]);
    }
    Ok(once)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writes_of_a_key_arrive_in_input_order_whatever_happens(case in any_case(Order::Exclusive)) {
        is_delivered_in_order(&case)?;
    }

    #[test]
    fn messages_of_a_group_arrive_in_input_order_whatever_happens(case in any_case(Order::Ordered)) {
        is_delivered_in_order(&case)?;
    }
}
