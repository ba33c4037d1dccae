//! One run of the real engine in virtual time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::backoff::details::PaceDetails;
use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::history::BIN;
use super::model::{Service, World};
use super::scenario::{Keys, Scenario, Stalls};
use super::strategies::Make;

/// A run is ended after this many times the least possible time, plus this many seconds.
pub(crate) const CUT_OFF: (f64, f64) = (10.0, 60.0);

/// The result of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// Relative to the least possible time; infinite if the run was ended early.
    pub(crate) time: f64,
    pub(crate) rejected: f64,
    /// Rejections beyond the loss of the scenario.
    pub(crate) excess: f64,
    pub(crate) calls: f64,
    pub(crate) adapts: Option<f64>,
    pub(crate) jain: Option<f64>,
    pub(crate) attempts: u8,
    pub(crate) lost: u64,
}

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            time, rejected, excess, ..
        } = self;
        write!(out, "time {time:.4}, rejected {rejected:.2}% (excess {excess:.2}%), ")?;
        write!(out, "attempts {}", self.attempts)?;
        if let Some(adapts) = self.adapts {
            write!(out, ", adapts in {adapts:.2} s")?;
        }
        if let Some(jain) = self.jain {
            write!(out, ", Jain {jain:.3}")?;
        }
        Ok(())
    }
}

/// Runs a scenario.
pub(crate) fn run(scenario: &Scenario, seed: u64, make: &Make) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(deliver(Arc::new(scenario.clone()), seed, make))
}

async fn deliver(scenario: Arc<Scenario>, seed: u64, make: &Make) -> Measured {
    let started = Instant::now();
    let world = Arc::new(Mutex::new(World::new(Arc::clone(&scenario), seed)));
    let mut processes = JoinSet::new();
    for process in 0..scenario.processes {
        let mut strategy = make(&scenario, seed.wrapping_mul(1000) + process as u64);
        if let Some(stalls) = scenario.stalls {
            strategy = Arc::new(Stalling {
                inner: strategy,
                stalls,
                started,
            });
        }
        let options = DeliveryOptions::default()
            .backoff(strategy)
            .concurrency(scenario.workers)
            .give_up_after(Duration::MAX);
        let service = Service {
            world: Arc::clone(&world),
            scenario: Arc::clone(&scenario),
            started,
            process,
        };
        let delivery = Delivery::new(service).options(options);
        let scenario = Arc::clone(&scenario);
        processes.spawn(async move {
            sleep_until(started + Duration::from_secs_f64(process as f64 * scenario.stagger)).await;
            feed(delivery, &scenario, process, started).await;
            started.elapsed().as_secs_f64()
        });
    }
    let mut ends = Vec::new();
    let limit = CUT_OFF.0 * scenario.least_time() + CUT_OFF.1;
    let all = async {
        while let Some(end) = processes.join_next().await {
            ends.push(end.unwrap_or(f64::INFINITY));
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs_f64(limit), all).await.is_ok();
    let world = world.lock().unwrap_or_else(PoisonError::into_inner);
    let mut measured = measure(&scenario, &world, &ends);
    if !in_time {
        measured.time = f64::INFINITY;
    }
    measured
}

/// Delivers the entries of a process as they arrive.
async fn feed(delivery: Delivery<Service>, scenario: &Scenario, process: usize, started: Instant) {
    let first = process * scenario.entries;
    let entries = first as u32..(first + scenario.entries) as u32;
    let Some((rate, until)) = scenario.input else {
        let _ = delivery.deliver(entries).await;
        return;
    };
    let mut entries = entries;
    let mut deliveries = JoinSet::new();
    let mut handed_over = 0.0;
    loop {
        let at = (handed_over + scenario.chunk as f64) / rate;
        if at >= until {
            break;
        }
        sleep_until(started + Duration::from_secs_f64(at)).await;
        let chunk: Vec<u32> = entries.by_ref().take(scenario.chunk).collect();
        handed_over += chunk.len() as f64;
        let delivery = delivery.clone();
        deliveries.spawn(async move { delivery.deliver(chunk).await.is_ok() });
    }
    sleep_until(started + Duration::from_secs_f64(until)).await;
    let _ = delivery.deliver(entries).await;
    while deliveries.join_next().await.is_some() {}
}

fn measure(scenario: &Scenario, world: &World, ends: &[f64]) -> Measured {
    let accepted = world.sent - world.rejected;
    let mut end = ends.iter().copied().fold(0.0, f64::max);
    if let Keys::Hot { .. } = scenario.keys {
        end = world.most_cold_accepted_at;
    }
    let rejected = 100.0 * world.rejected as f64 / world.sent.max(1) as f64;
    Measured {
        time: end / scenario.least_time(),
        rejected,
        excess: rejected - unavoidable(scenario, world),
        calls: world.calls as f64 / scenario.least_calls() as f64,
        adapts: scenario
            .changes
            .iter()
            .map(|change| world.history.adaptation(scenario, *change))
            .reduce(f64::max),
        jain: (scenario.processes > 1).then(|| world.history.jain(scenario, ends)),
        attempts: world.max_attempts(),
        lost: (scenario.entries * scenario.processes) as u64 - accepted,
    }
}

/// Percent of the sent entries that are lost whatever the pace.
fn unavoidable(scenario: &Scenario, world: &World) -> f64 {
    let loss = scenario.loss;
    if loss.share <= 0.0 {
        return 0.0;
    }
    let (mut lossy, mut all) = (0.0, 0.0);
    for (index, bin) in world.history.bins().enumerate() {
        let now = (index as f64 + 0.5) * BIN;
        let sent = f64::from(bin.accepted + bin.rejected);
        all += sent;
        if (loss.from..loss.until).contains(&now) {
            lossy += sent;
        }
    }
    100.0 * loss.share * lossy / all.max(1.0)
}

/// A client that stalls now and then: nothing leaves meanwhile, and no answer is read.
struct Stalling {
    inner: Arc<dyn BackoffStrategy>,
    stalls: Stalls,
    started: Instant,
}

impl Stalling {
    fn inner(&self) -> &dyn Pace {
        self.inner.pace().unwrap_or(&Unpaced)
    }
}

/// The pace of a strategy that has none.
struct Unpaced;

impl Pace for Unpaced {}

impl BackoffStrategy for Stalling {
    fn delay(&self, retry: Retry) -> Duration {
        self.inner.delay(retry)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Stalling {
    fn admit(&self, now: std::time::Instant, waiter: &Waiter) -> Admission {
        let seconds = (now - self.started.into_std()).as_secs_f64();
        let end = self.stalls.end_of_stall(seconds);
        if end > seconds {
            return Admission::WaitUntil(now + Duration::from_secs_f64(end - seconds));
        }
        self.inner().admit(now, waiter)
    }

    fn depart(&self, now: std::time::Instant, entries: usize) {
        self.inner().depart(now, entries);
    }

    fn observe(&self, outcome: &Outcome) {
        self.inner().observe(outcome);
    }

    fn cooldown(&self) -> Duration {
        self.inner().cooldown()
    }

    fn details(&self) -> Option<&dyn PaceDetails> {
        Some(self)
    }
}

/// Without the pace of single keys.
impl PaceDetails for Stalling {
    fn counts_units(&self) -> bool {
        self.inner().details().is_some_and(PaceDetails::counts_units)
    }

    fn extra_delay(&self, now: std::time::Instant) -> Duration {
        let details = self.inner().details();
        details.map_or(Duration::ZERO, |details| details.extra_delay(now))
    }
}
