//! What happens to the calls of a service for a while, how entries reach it meanwhile, and how soon afterwards everything has to end.

use std::time::Duration;

use aws_batch_delivery::DeliveryOptions;
use aws_batch_simulator::{Capacity, Faults, InjectedFault, Latency, Queue, QueueOptions, Simulator};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(8);

/// How long one attempt may take. When calls have no answer, that time is doubled four times.
const ATTEMPT: Duration = Duration::from_secs(1);
const LONGEST_ATTEMPT: Duration = Duration::from_secs(16);

/// The longest delay of a retry, of the default strategy.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// The longest delay between two probes, and how long one may take in addition to an attempt: a lookup.
const LONGEST_PROBE: Duration = Duration::from_secs(3);
const LOOKUP: Duration = Duration::from_secs(5);

/// How long a pace that faults have lowered takes until it is no limit for a few hundred entries.
const PACE: Duration = Duration::from_secs(10);

/// The capacity of a service that has one, in entries or units a second.
const CAPACITY: f64 = 40.0;

/// What happens to the calls of a service, and how long.
#[derive(Debug, Clone)]
pub(crate) struct Phase {
    fault: InjectedFault,
    /// The share of the calls that it meets.
    share: f64,
    lasts: Duration,
    /// Whether the service has no capacity meanwhile.
    pub(crate) is_exhausted: bool,
}

pub(crate) fn phases() -> impl Strategy<Value = Phase> {
    let fault = prop_oneof![
        Just(InjectedFault::Throttle),
        Just(InjectedFault::AccountLimit),
        any::<bool>().prop_map(|applied| InjectedFault::Dropped { applied }),
        any::<bool>().prop_map(|applied| InjectedFault::Hung { applied }),
        any::<bool>().prop_map(InjectedFault::internal_error),
        Just(InjectedFault::Unprocessed(9)),
        Just(InjectedFault::error(400, "ExpiredTokenException", false)),
        Just(InjectedFault::Slow(Duration::from_secs(3))),
        any::<bool>().prop_map(|applied| InjectedFault::Garbage { applied }),
    ];
    let share = prop_oneof![Just(1.0), 0.2..1.0];
    (fault, share, 1_u64..120_000, prop::bool::weighted(0.2)).prop_map(|(fault, share, millis, is_exhausted)| Phase {
        fault,
        share,
        lasts: Duration::from_millis(millis),
        is_exhausted,
    })
}

impl Phase {
    pub(crate) fn faults(&self) -> Faults {
        Faults::none().calls(self.share, self.fault.clone())
    }
}

/// How entries reach a service, and how many.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) entries: usize,
    concurrency: usize,
    has_capacity: bool,
    /// In how many groups of a FIFO queue, or none.
    pub(crate) groups: usize,
}

pub(crate) fn works() -> impl Strategy<Value = Work> {
    (1_usize..300, 1_usize..9, any::<bool>(), 0_usize..5).prop_map(|(entries, concurrency, has_capacity, groups)| {
        Work {
            entries,
            concurrency,
            has_capacity,
            groups,
        }
    })
}

impl Work {
    pub(crate) fn options(&self) -> DeliveryOptions {
        DeliveryOptions::default()
            .concurrency(self.concurrency)
            .attempt_timeout(ATTEMPT)
            .give_up_after(Duration::from_hours(1))
    }

    pub(crate) fn capacity(&self) -> Capacity {
        if self.has_capacity {
            Capacity::per_second(CAPACITY)
        } else {
            Capacity::unlimited()
        }
    }

    /// The time from the end of the faults to the end of everything: what is waited for at most, and then the entries, which may all be left.
    /// In a group, they go one call after another.
    pub(crate) fn bound(&self) -> Duration {
        let calls = u32::try_from(self.entries).unwrap_or(u32::MAX);
        let seconds = if self.has_capacity {
            f64::from(calls) / CAPACITY
        } else {
            0.0
        };
        LONGEST_ATTEMPT
            + LONGEST_DELAY.max(LONGEST_PROBE)
            + LOOKUP
            + PACE
            + 2 * Duration::from_secs_f64(seconds)
            + ROUND_TRIP * calls * 2
    }
}

/// A queue in the phase.
pub(crate) fn queue(phase: &Phase, work: &Work) -> (Simulator, Queue) {
    let simulator = Simulator::new(5);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let queue = simulator.queue("orders", QueueOptions::default().capacity(work.capacity()));
    queue.set_faults(phase.faults());
    if phase.is_exhausted {
        queue.set_capacity(Capacity::per_second(0.0));
    }
    (simulator, queue)
}

/// Runs the future while the phase lasts and then until it ends. Returns how long that took after the phase.
pub(crate) async fn after<F: Future>(
    phase: &Phase,
    heal: impl FnOnce(),
    bound: Duration,
    future: F,
) -> Result<F::Output, TestCaseError> {
    let began = Instant::now();
    let heals = async {
        sleep(phase.lasts).await;
        heal();
    };
    let limit = phase.lasts + bound;
    let (ended, ()) = futures::join!(timeout(limit, future), heals);
    let took = began.elapsed().saturating_sub(phase.lasts);
    if std::env::var_os("LIVENESS").is_some() {
        println!("{:.1} of {:.1} s", took.as_secs_f64(), bound.as_secs_f64());
    }
    ended.map_err(|_| TestCaseError::fail(format!("it has not ended {bound:?} after the faults")))
}
