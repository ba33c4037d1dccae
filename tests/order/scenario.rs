//! Random deliveries: the entries, the faults, and the limits of the delivery.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use aws_batch_delivery::backoff::{Adaptive, Exponential, Responsive, Schedule};
use aws_batch_delivery::targets::{Answer, Fault, Rejection, Verdict};
use aws_batch_delivery::{DeliveryError, DeliveryOptions, Report};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::order::service::{Fate, Order, Service, Write, refused, throttled, writes};
use crate::support::paused::paused;

/// Bytes of a call, and so the most that an entry may have.
pub(crate) const CALL_BYTES: usize = 1_000;

/// One random delivery.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    seed: u64,
    pub(crate) order: Order,
    pub(crate) keys: u8,
    entries: usize,
    per_call: usize,
    concurrency: usize,
    faults: Faults,
    pace: Pace,
    pub(crate) last_write_wins: bool,
    pub(crate) retries: Option<u32>,
    give_up_after: Option<Duration>,
    pub(crate) end: Option<End>,
    grace: Duration,
    /// When the strategy is reset.
    resets: Vec<Duration>,
}

/// How often something fails, in percent.
#[derive(Debug, Clone)]
struct Faults {
    /// Of calls: all of it is throttled.
    whole: u32,
    /// Of calls: the answer is lost.
    lost: u32,
    /// Of entries: it is throttled.
    single: u32,
    /// Of entries: the service refuses every call with it.
    poisoned: u32,
    /// Of entries: it takes up a large part of a call, or more than one has room for.
    large: u32,
}

#[derive(Debug, Clone)]
enum Pace {
    /// This many milliseconds, or twice as many, or none.
    Closure(u64),
    FullJitter,
    Schedule,
    Responsive,
    Adaptive,
}

/// How the delivery is ended early.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Cancelled(Duration),
    Deadline(Duration),
}

fn millis(range: Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

/// Nothing in half of all cases, and a percentage otherwise.
fn percent(range: Range<u32>) -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), range]
}

prop_compose! {
    fn any_faults()(
        whole in percent(1..30),
        lost in percent(1..30),
        single in percent(1..40),
        // Occasionally nearly all of them.
        poisoned in prop_oneof![5 => Just(0), 5 => 1..10_u32, 1 => 90..101_u32],
        large in percent(1..50),
    ) -> Faults {
        Faults { whole, lost, single, poisoned, large }
    }
}

fn any_pace() -> impl Strategy<Value = Pace> {
    prop_oneof![
        4 => (0..40_u64).prop_map(Pace::Closure),
        1 => Just(Pace::FullJitter),
        1 => Just(Pace::Schedule),
        1 => Just(Pace::Responsive),
        1 => Just(Pace::Adaptive),
    ]
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![
        millis(0..200).prop_map(End::Cancelled),
        millis(0..200).prop_map(End::Deadline),
    ]
}

prop_compose! {
    pub(crate) fn any_scenario(order: Order)(
        seed in any::<u64>(),
        (keys, entries, per_call, concurrency) in (1..=40_u8, 0..100_usize, 1..=10_usize, 1..=64_usize),
        faults in any_faults(),
        pace in any_pace(),
        last_write_wins in prop::bool::weighted(0.3),
        retries in prop::option::weighted(0.3, 0..5_u32),
        give_up_after in prop::option::weighted(0.2, millis(1..100)),
        end in prop::option::weighted(0.3, any_end()),
        grace in millis(0..40),
        resets in prop::collection::vec(millis(0..200), 0..3),
    ) -> Scenario {
        Scenario {
            seed, order, keys, entries, per_call, concurrency, faults, pace, last_write_wins, retries, give_up_after, end,
            grace, resets,
        }
    }
}

/// The entries, and what is wrong with them.
pub(crate) struct Input {
    pub(crate) writes: Vec<Write>,
    /// Those that the service refuses.
    pub(crate) poisoned: HashSet<usize>,
    /// Bytes of each.
    pub(crate) bytes: Vec<usize>,
}

impl Input {
    /// Whether no call can carry it.
    pub(crate) fn is_too_large(&self, write: &Write) -> bool {
        self.bytes[write.number] > CALL_BYTES
    }
}

impl Scenario {
    /// The same with all entries in one call, one after another, and unknown lanes.
    pub(crate) fn in_one_call(mut self) -> Self {
        self.keys = self.keys.min(5);
        self.entries = self.entries.min(self.per_call);
        self.faults.large = 0;
        // Other strategies may start with a small call.
        self.pace = Pace::Closure(self.seed % 40);
        self
    }

    /// Whether an entry can be handed back although the service would accept it.
    pub(crate) fn is_impatient(&self) -> bool {
        self.retries.is_some() || self.give_up_after.is_some() || self.end.is_some()
    }

    pub(crate) fn input(&self) -> Input {
        let mut rng = SmallRng::seed_from_u64(self.seed);
        let writes = writes((0..self.entries).map(|_| rng.random_range(0..self.keys)));
        let mut drawn = |percent: u32| rng.random_range(0..100) < percent;
        let poisoned = (0..self.entries).filter(|_| drawn(self.faults.poisoned)).collect();
        let large: Vec<bool> = writes.iter().map(|_| drawn(self.faults.large)).collect();
        let bytes = large.into_iter().map(|large| match (large, rng.random_range(0..8)) {
            (false, _) => rng.random_range(1..=CALL_BYTES / 10),
            (true, 0) => CALL_BYTES + 1,
            (true, 1) => CALL_BYTES,
            (true, _) => rng.random_range(1..=CALL_BYTES),
        });
        Input {
            bytes: bytes.collect(),
            writes,
            poisoned,
        }
    }

    /// The fate of each call.
    fn fates(&self, poisoned: HashSet<usize>) -> impl Fn(usize, &[Write]) -> Fate + use<> {
        let (order, faults) = (self.order, self.faults.clone());
        let random = Mutex::new(SmallRng::seed_from_u64(!self.seed));
        move |_, chunk| {
            let mut rng = random.lock().unwrap();
            let mut drawn = |percent: u32| rng.random_range(0..100) < percent;
            let (answer, applied) = if drawn(faults.whole) {
                (Answer::Whole(throttled()), false)
            } else if chunk.iter().any(|write| poisoned.contains(&write.number)) {
                (refused("poison"), false)
            } else if drawn(faults.lost) {
                (Answer::Whole(lost()), drawn(50))
            } else {
                (verdicts(order, chunk, || drawn(faults.single)), false)
            };
            Fate {
                latency: Duration::from_millis(rng.random_range(1..30)),
                answer,
                applied,
            }
        }
    }

    pub(crate) fn service(&self, input: &Input) -> Service {
        let (service, _) = Service::new(self.order, self.per_call, self.fates(input.poisoned.clone()));
        service.with_bytes(CALL_BYTES, input.bytes.clone())
    }

    fn options(&self) -> DeliveryOptions {
        let options = DeliveryOptions::default();
        let options = match self.pace {
            Pace::Closure(rest) => {
                options.backoff(move |retry: u32| Duration::from_millis(rest * u64::from(retry % 3)))
            }
            Pace::FullJitter => options.backoff(Exponential::full_jitter().seed(self.seed)),
            Pace::Schedule => options.backoff(Schedule::default().seed(self.seed)),
            Pace::Responsive => options.backoff(Responsive::default()),
            Pace::Adaptive => options.backoff(Adaptive::default()),
        };
        let mut options = options
            .give_up_after(self.give_up_after.unwrap_or(Duration::MAX))
            .grace(self.grace)
            .concurrency(self.concurrency);
        if let Some(retries) = self.retries {
            options = options.retries(retries);
        }
        if self.last_write_wins {
            options = options.last_write_wins();
        }
        options
    }

    /// Runs the delivery on a paused clock, with the events of the scenario.
    pub(crate) fn run<D>(&self, delivery: impl FnOnce(DeliveryOptions) -> D) -> Result<Report, DeliveryError<Write>>
    where
        D: Future<Output = Result<Report, DeliveryError<Write>>>,
    {
        paused(async {
            let mut options = self.options();
            match self.end {
                Some(End::Deadline(after)) => options = options.deadline(Instant::now() + after),
                Some(End::Cancelled(after)) => {
                    let token = CancellationToken::new();
                    options = options.cancellation(token.clone());
                    tokio::spawn(async move {
                        sleep(after).await;
                        token.cancel();
                    });
                }
                None => {}
            }
            for after in self.resets.clone() {
                let options = options.clone();
                tokio::spawn(async move {
                    sleep(after).await;
                    options.reset_backoff();
                });
            }
            delivery(options).await
        })
    }
}

fn lost() -> Verdict {
    Verdict::Rejected(Rejection::Connection, Fault::new("lost").ambiguous())
}

/// Some entries fail. A queue that fails a message accepts nothing after it in its group; otherwise the order would be lost
/// at the service.
fn verdicts(order: Order, chunk: &[Write], mut fails: impl FnMut() -> bool) -> Answer {
    let mut failed = HashSet::new();
    let verdict = |write: &Write| {
        if (order == Order::Ordered && failed.contains(&write.key)) || fails() {
            failed.insert(write.key);
            throttled()
        } else {
            Verdict::Accepted
        }
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}
