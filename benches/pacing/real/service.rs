//! The service: its capacity, its latency, and its counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_simulator::{AdmissionControl, Demand, Place};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use super::latency::Times;
use super::scenario::Scenario;
use super::shares::Shares;
use super::workload::Item;

/// The table, and the counts of its calls.
pub(crate) struct World {
    control: AdmissionControl,
    random: Xoshiro256PlusPlus,
    pub(crate) times: Vec<Times>,
    pub(crate) calls: u64,
    pub(crate) sent: u64,
    pub(crate) rejected: u64,
    /// Entries accepted of each process, in bins of time.
    pub(crate) shares: Shares,
    /// Writes of the live tenant, and the throttled ones.
    pub(crate) tenant: (u64, u64),
}

/// The service, as seen by one process.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) items: Arc<Vec<Item>>,
    pub(crate) started: Instant,
    /// Which of the processes calls.
    pub(crate) process: usize,
}

/// The table of a scenario, created at `now`.
pub(crate) fn control(scenario: &Scenario, now: Instant, seed: u64) -> AdmissionControl {
    let mut control = AdmissionControl::new(scenario.throughput.clone(), now, seed);
    if let Some(index) = &scenario.index {
        control = control.with_index(index.clone(), now);
    }
    let after = Duration::from_secs_f64;
    control.schedule(scenario.steps.iter().map(|(at, rate)| (after(*at), *rate)), now);
    if let Some(outage) = scenario.outage {
        let steps = [(after(outage.from), 0.0), (after(outage.until), f64::INFINITY)];
        control.schedule_partition(outage.partition, steps, now);
    }
    control
}

/// The capacity that an entry needs.
pub(crate) fn demand(scenario: &Scenario, item: &Item) -> Demand {
    let demand = Demand::new(item.place, f64::from(item.units));
    match &scenario.index {
        Some(_) => demand.with_index(0, item.index, f64::from(item.units)),
        None => demand,
    }
}

impl World {
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.random::<f64>()).cos()
    }

    /// The two halves of a round trip, which is lognormal; one call in 200 takes eight times as long.
    fn round_trip(&mut self, median: f64) -> (Duration, Duration) {
        let mut trip = median * (0.4 * self.normal()).exp();
        if self.random.random::<f64>() < 0.005 {
            trip *= 8.0;
        }
        let milliseconds = (trip * 1000.0).round().max(1.0) as u64;
        let there = milliseconds / 2;
        (
            Duration::from_millis(there),
            Duration::from_millis(milliseconds - there),
        )
    }
}

impl Service {
    pub(crate) fn new(scenario: &Arc<Scenario>, items: Arc<Vec<Item>>, seed: u64) -> Self {
        let started = Instant::now();
        let world = World {
            control: control(scenario, started, seed),
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7a1b),
            times: vec![Times::default(); items.len()],
            calls: 0,
            sent: 0,
            rejected: 0,
            shares: Shares::new(scenario.processes),
            tenant: (0, 0),
        };
        Self {
            world: Arc::new(Mutex::new(world)),
            scenario: Arc::clone(scenario),
            items,
            started,
            process: 0,
        }
    }

    pub(crate) fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn item(&self, entry: u32) -> &Item {
        &self.items[entry as usize]
    }

    /// An entry is read. The wait of live traffic begins when the entry is due, whenever it is read.
    pub(crate) fn read(&self, entry: u32) {
        let read = if self.scenario.workload.is_live() {
            self.item(entry).due
        } else {
            self.now()
        };
        self.world().times[entry as usize].read = read;
    }

    /// Makes one call, and returns which entries were accepted; `None` if the whole call was throttled.
    pub(crate) async fn call(&self, chunk: &[u32]) -> Option<Vec<bool>> {
        let now = self.now();
        let (there, back) = {
            let mut world = self.world();
            for entry in chunk {
                let times = &mut world.times[*entry as usize];
                times.sent.get_or_insert(now);
                times.attempts += 1;
            }
            world.round_trip(self.scenario.trip)
        };
        sleep(there).await;
        let accepted = self.decide(chunk);
        sleep(back).await;
        if let Some(accepted) = &accepted {
            let now = self.now();
            let mut world = self.world();
            let taken = chunk.iter().zip(accepted).filter(|(_, accepted)| **accepted);
            for (entry, _) in taken {
                world.times[*entry as usize].accepted = Some(now);
            }
        }
        accepted
    }

    /// One write of the live tenant, which is not tried again.
    pub(crate) fn write_of_tenant(&self) {
        let mut world = self.world();
        let place = Place::new(world.random.random(), 0);
        let fate = world.control.admit(Instant::now(), &[Demand::new(place, 1.0)]);
        world.tenant.0 += 1;
        world.tenant.1 += u64::from(fate[0].is_err());
    }

    fn decide(&self, chunk: &[u32]) -> Option<Vec<bool>> {
        let mut world = self.world();
        let world = &mut *world;
        world.calls += 1;
        world.sent += chunk.len() as u64;
        let at_random = self.scenario.at_random;
        if world.random.random::<f64>() < at_random.calls {
            world.rejected += chunk.len() as u64;
            return None;
        }
        if self.scenario.counts_calls {
            let demand = Demand::new(self.item(chunk[0]).place, self.scenario.chunk as f64);
            if world.control.admit(Instant::now(), &[demand])[0].is_err() {
                world.rejected += chunk.len() as u64;
                return None;
            }
            world.shares.add(self.process, self.now(), chunk.len());
            return Some(vec![true; chunk.len()]);
        }
        let lost: Vec<bool> = chunk
            .iter()
            .map(|_| at_random.entries > 0.0 && world.random.random::<f64>() < at_random.entries)
            .collect();
        let heard = chunk.iter().zip(&lost).filter(|(_, lost)| !**lost);
        let demands: Vec<Demand> = heard
            .map(|(entry, _)| demand(&self.scenario, self.item(*entry)))
            .collect();
        let mut fates = world.control.admit(Instant::now(), &demands).into_iter();
        let accepted: Vec<bool> = lost
            .iter()
            .map(|lost| !lost && fates.next().is_some_and(|fate| fate.is_ok()))
            .collect();
        let rejected = accepted.iter().filter(|accepted| !**accepted).count();
        world.shares.add(self.process, self.now(), chunk.len() - rejected);
        world.rejected += rejected as u64;
        (rejected < chunk.len()).then_some(accepted)
    }
}

impl BatchTarget for Service {
    type Entry = u32;

    fn limits(&self) -> Limits {
        Limits::new(self.scenario.chunk, usize::MAX)
    }

    fn check(&self, entry: &u32) -> Result<usize, InvalidEntry> {
        self.read(*entry);
        Ok(1)
    }

    /// The hash of the primary key; each key is written once.
    fn lane(&self, entry: &u32) -> Option<Lane> {
        Some(Lane::exclusive(entry))
    }

    fn partition_key(&self, entry: &u32) -> Option<u64> {
        Some(self.item(*entry).place.partition_key)
    }

    fn units(&self, entry: &u32) -> usize {
        self.item(*entry).units as usize
    }

    async fn send(&self, chunk: &[u32]) -> Answer {
        self.send_metered(chunk).await.0
    }

    async fn send_metered(&self, chunk: &[u32]) -> (Answer, Option<f64>) {
        let Some(accepted) = self.call(chunk).await else {
            let fault = Fault::new("ProvisionedThroughputExceededException");
            return (Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault)), None);
        };
        let taken = chunk.iter().zip(&accepted).filter(|(_, accepted)| **accepted);
        let units = taken.map(|(entry, _)| f64::from(self.item(*entry).units)).sum();
        let verdict = |accepted: bool| {
            if accepted {
                Verdict::Accepted
            } else {
                Verdict::Rejected(Rejection::Unprocessed, Fault::new("UnprocessedItems"))
            }
        };
        (Answer::Each(accepted.into_iter().map(verdict).collect()), Some(units))
    }
}
