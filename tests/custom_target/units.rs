//! A strategy that counts units of capacity instead of entries.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::backoff::details::PaceDetails;
use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::custom_target::numbers::{LIMITS, accept, numbers, throttle};
use crate::support::paused::paused;

/// Takes numbers that cost as many units as their value, and charges a multiple of that.
struct Priced {
    charge: f64,
    /// The places in a call that are throttled, each only in the first call.
    throttled: Vec<usize>,
    calls: Arc<Mutex<Vec<Vec<usize>>>>,
}

impl Priced {
    fn new(charge: f64, throttled: &[usize]) -> Self {
        Self {
            charge,
            throttled: throttled.to_vec(),
            calls: Arc::default(),
        }
    }
}

impl BatchTarget for Priced {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    fn units(&self, entry: &usize) -> usize {
        *entry
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        self.calls.lock().unwrap().push(chunk.to_vec());
        tokio::time::sleep(Duration::from_millis(8)).await;
        accept(chunk)
    }

    #[allow(clippy::cast_precision_loss, reason = "the counts of a test are small")]
    async fn send_metered(&self, chunk: &[usize]) -> (Answer, Option<f64>) {
        let is_first = self.calls.lock().unwrap().is_empty();
        self.send(chunk).await;
        let throttled = |place: usize| is_first && self.throttled.contains(&place);
        let verdict = |place| {
            if throttled(place) {
                throttle()
            } else {
                Verdict::Accepted
            }
        };
        let accepted = (0..chunk.len()).filter(|place| !throttled(*place));
        let units: usize = accepted.map(|place| chunk[place]).sum();
        let answer = Answer::Each((0..chunk.len()).map(verdict).collect());
        (answer, Some(units as f64 * self.charge))
    }
}

/// Permits a fixed number of units for each call, and records the outcomes.
struct Told {
    most: usize,
    counts_units: bool,
    wanted: Mutex<Vec<usize>>,
    departed: Mutex<Vec<usize>>,
    outcomes: Mutex<Vec<Outcome>>,
}

impl Told {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            counts_units: true,
            wanted: Mutex::default(),
            departed: Mutex::default(),
            outcomes: Mutex::default(),
        })
    }
}

impl BackoffStrategy for Told {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Told {
    fn admit(&self, _: std::time::Instant, waiter: &Waiter) -> Admission {
        self.wanted.lock().unwrap().push(waiter.entries);
        Admission::Go(self.most)
    }

    fn depart(&self, _: std::time::Instant, entries: usize) {
        self.departed.lock().unwrap().push(entries);
    }

    fn observe(&self, outcome: &Outcome) {
        self.outcomes.lock().unwrap().push(*outcome);
    }

    fn details(&self) -> Option<&dyn PaceDetails> {
        Some(self)
    }
}

impl PaceDetails for Told {
    fn counts_units(&self) -> bool {
        self.counts_units
    }
}

fn one_call_at_a_time(told: &Arc<Told>) -> DeliveryOptions {
    let options = DeliveryOptions::default().backoff(Arc::clone(told));
    options.concurrency(1)
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_the_units_that_it_may_and_one_entry_in_any_case() {
    let target = Priced::new(1.0, &[]);
    let calls = Arc::clone(&target.calls);
    let told = Told::new(10);
    let delivery = Delivery::new(target).options(one_call_at_a_time(&told));
    let report = delivery.deliver([3, 3, 3, 3, 20, 1]).await.unwrap();
    assert_eq!(*calls.lock().unwrap(), [vec![3, 3, 3], vec![3], vec![20], vec![1]]);
    assert_eq!(*told.departed.lock().unwrap(), [9, 3, 20, 1]);
    assert_eq!(told.wanted.lock().unwrap()[0], 12, "a whole call");
    assert_eq!((report.delivered, report.calls), (6, 4), "the report counts entries");
}

#[tokio::test(start_paused = true)]
async fn a_strategy_that_counts_entries_gets_entries() {
    let target = Priced::new(2.0, &[0]);
    let told = Arc::new(Told {
        counts_units: false,
        ..Arc::into_inner(Told::new(10)).unwrap()
    });
    let delivery = Delivery::new(target).options(one_call_at_a_time(&told));
    delivery.deliver([3, 3, 3, 3, 20]).await.unwrap();
    assert_eq!(*told.departed.lock().unwrap(), [4, 1]);
    assert_eq!(told.outcomes.lock().unwrap()[0].accepted, 4, "it is not metered");
}

#[tokio::test(start_paused = true)]
async fn what_the_service_charges_is_what_is_counted_and_what_later_calls_are_charged() {
    let told = Told::new(100);
    let delivery = Delivery::new(Priced::new(2.5, &[1])).options(one_call_at_a_time(&told));
    delivery.deliver([4, 4, 4, 4, 6, 6]).await.unwrap();
    let outcomes = told.outcomes.lock().unwrap();
    let counted = |outcome: &Outcome| (outcome.sent, outcome.accepted, outcome.throttled);
    assert_eq!(counted(&outcomes[0]), (16, 30, 4));
    assert_eq!(counted(&outcomes[1]), (40, 40, 0), "4, 6 and 6 at two and a half");
    assert_eq!(told.wanted.lock().unwrap()[1], 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_departure_is_followed_by_an_outcome(
        entries in prop::collection::vec(0_usize..50, 1..60),
        most in 1_usize..200,
        charge in 0.1..10.0,
        throttled in prop::collection::vec(0_usize..4, 0..4),
    ) {
        let told = Told::new(most);
        paused(async {
            let started = Instant::now();
            let delivery = Delivery::new(Priced::new(charge, &throttled)).options(one_call_at_a_time(&told));
            delivery.deliver(entries).await.unwrap();
            assert!(started.elapsed() < Duration::from_mins(1));
        });
        let sent: Vec<usize> = told.outcomes.lock().unwrap().iter().map(|outcome| outcome.sent).collect();
        prop_assert_eq!(&sent, &*told.departed.lock().unwrap());
        prop_assert!(sent.iter().all(|sent| *sent > 0));
    }
}

/// Items of 400 KB: one takes 40 s of the highest rate, and a whole call would take 160 s.
#[tokio::test(start_paused = true)]
async fn one_failed_call_of_a_search_does_not_use_up_the_time_of_a_delivery() {
    let (mut target, calls) = numbers(|number, chunk| match number {
        1 => Answer::Whole(Verdict::Rejected(Rejection::Transient, Fault::new("HTTP 500"))),
        _ => accept(chunk),
    });
    target.units = |_| 400;
    let options = DeliveryOptions::default()
        .max_rate(10.0)
        .give_up_after(Duration::from_secs(100));
    let started = Instant::now();
    let report = Delivery::new(target).options(options).deliver([1; 4]).await.unwrap();
    assert_eq!((report.delivered, report.resubmitted), (4, 1));
    assert_eq!(calls.lock().unwrap().len(), 5);
    // The last of the five attempts need not be paid off.
    let took = started.elapsed().as_secs();
    assert!((155..165).contains(&took), "{took} s");
}
