//! One run in virtual time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use futures::stream;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use super::super::scenario::Scenario as OneBucket;
use super::latency::Waits;
use super::loops::{Contestant, by_loops};
use super::oracle::Oracle;
use super::scenario::{AtRandom, Best, Scenario};
use super::service::{Service, World};
use super::workload::Item;

/// A run is ended after this many times the best possible time, plus this many seconds.
const CUT_OFF: (f64, f64) = (12.0, 60.0);

/// The result of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// Relative to the best possible time; infinite if the run was ended early.
    pub(crate) time: f64,
    /// The best possible time, in seconds.
    pub(crate) best: f64,
    pub(crate) rejected: f64,
    pub(crate) calls: f64,
    /// Jain's index of the processes' shares.
    pub(crate) jain: f64,
    /// Percent of the live tenant's writes that were throttled.
    pub(crate) tenant: f64,
    pub(crate) attempts: u32,
    pub(crate) lost: usize,
    /// Waits of entries that are not hot, from their first departure, or from when they were due, until they were accepted.
    pub(crate) cold: Waits,
    /// The same of those that are hot.
    pub(crate) hot: Waits,
    /// Waits of all entries, from when they were read or due.
    pub(crate) read: Waits,
}

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "time {:.4} of {:.2} s, ", self.time, self.best)?;
        write!(out, "rejected {:.2}%, calls {:.3}, ", self.rejected, self.calls)?;
        write!(out, "cold {:.0}/{:.0} ms, ", self.cold.median, self.cold.p99)?;
        write!(out, "hot {:.0}/{:.0} ms, ", self.hot.median, self.hot.p99)?;
        write!(
            out,
            "attempts {}, Jain {:.3}, tenant {:.2}%",
            self.attempts, self.jain, self.tenant
        )
    }
}

/// Runs a scenario with all contestants, on the same entries.
pub(crate) fn compare(scenario: &Scenario, seed: u64, contestants: &[Contestant]) -> Vec<Measured> {
    let mut items = scenario.workload.items(scenario.entries, seed);
    if scenario.hot_in_index > 0 {
        for number in (0..items.len()).step_by(scenario.hot_in_index) {
            items[number] = items[number].hot_in_index(number);
        }
    }
    let items = Arc::new(items);
    let oracle = Oracle::of(scenario, &items, seed);
    let runs = contestants.iter().map(|contestant| {
        let mut best = oracle.end;
        if scenario.best == Best::WithoutFaults {
            let calm = scenario.clone().with(|it| it.at_random = AtRandom::default());
            best = run(&calm, &items, seed, contestant, oracle.end).0;
        }
        let (end, service) = run(scenario, &items, seed, contestant, best.max(oracle.end));
        measure(scenario, &service.world(), &oracle, best, end)
    });
    runs.collect()
}

/// How long a run takes.
fn run(scenario: &Scenario, items: &Arc<Vec<Item>>, seed: u64, contestant: &Contestant, best: f64) -> (f64, Service) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let service = Service::new(&Arc::new(scenario.clone()), Arc::clone(items), seed);
        let mut processes = JoinSet::new();
        for process in 0..scenario.processes {
            processes.spawn(deliver(service.clone(), process, seed, contestant.clone()));
        }
        let tenant = tokio::spawn(live_tenant(service.clone(), seed));
        let limit = Duration::from_secs_f64(CUT_OFF.0 * best + CUT_OFF.1);
        let in_time = timeout(limit, processes.join_all()).await.is_ok();
        tenant.abort();
        (if in_time { service.now() } else { f64::INFINITY }, service)
    })
}

/// Delivers the part of a process: every n-th entry, for n processes.
async fn deliver(mut service: Service, process: usize, seed: u64, contestant: Contestant) {
    let scenario = Arc::clone(&service.scenario);
    service.process = process;
    let start = scenario.stagger * process as f64 / scenario.processes as f64;
    sleep_until(service.started + Duration::from_secs_f64(start)).await;
    let numbers = (process..service.items.len()).step_by(scenario.processes);
    let entries = numbers.map(|number| number as u32);
    let seed = seed.wrapping_mul(1000) + process as u64;
    let make = match contestant {
        Contestant::Engine(make) if process >= scenario.loops => make,
        _ => return by_loops(&service, entries, seed).await,
    };
    let shape = OneBucket::new("", 0.0, 0).with(|it| it.workers = scenario.workers);
    let options = DeliveryOptions::default()
        .backoff(make(&shape, seed))
        .concurrency(scenario.workers / scenario.deliveries)
        .give_up_after(Duration::MAX);
    let entries: Vec<u32> = entries.collect();
    let mut deliveries = JoinSet::new();
    for part in parts(&scenario, &entries) {
        deliveries.spawn(deliver_part(service.clone(), part, options.clone()));
    }
    deliveries.join_all().await;
}

/// Single writes at random moments, as an application makes them that has the table besides the load.
async fn live_tenant(service: Service, seed: u64) {
    let rate = service.scenario.tenant;
    let mut random = SmallRng::seed_from_u64(seed ^ 0x7e4a);
    let mut due = service.started;
    if rate <= 0.0 {
        return;
    }
    loop {
        due += Duration::from_secs_f64(-(1.0 - random.random::<f64>()).ln() / rate);
        sleep_until(due).await;
        service.write_of_tenant();
    }
}

/// The entries of each delivery of a process.
fn parts(scenario: &Scenario, entries: &[u32]) -> Vec<Vec<u32>> {
    let count = scenario.deliveries;
    if scenario.in_runs {
        let length = entries.len().div_ceil(count);
        return entries.chunks(length).map(<[u32]>::to_vec).collect();
    }
    let every = |first| entries.iter().skip(first).step_by(count).copied().collect();
    (0..count).map(every).collect()
}

async fn deliver_part(service: Service, entries: Vec<u32>, options: DeliveryOptions) {
    let delivery = Delivery::new(service.clone()).options(options);
    let is_live = service.scenario.workload.is_live();
    let entries = entries.into_iter();
    if is_live {
        let arrivals = stream::unfold((service, entries), |(service, mut entries)| async {
            let entry = entries.next()?;
            let due = Duration::from_secs_f64(service.items[entry as usize].due);
            sleep_until(service.started + due).await;
            Some((entry, (service, entries)))
        });
        let _ = delivery.deliver_stream(arrivals).await;
    } else {
        let _ = delivery.deliver(entries).await;
    }
}

fn measure(scenario: &Scenario, world: &World, oracle: &Oracle, best: f64, end: f64) -> Measured {
    let live = scenario.workload.is_live();
    let now = if end.is_finite() {
        end
    } else {
        CUT_OFF.0 * best + CUT_OFF.1
    };
    let all = || world.times.iter().zip(&oracle.hot);
    // Entries that are not accepted at the end have waited until then.
    let waits = |hot: bool| {
        Waits::of(all().filter(|(_, is_hot)| **is_hot == hot).filter_map(|(times, _)| {
            let from = if live { Some(times.read) } else { times.sent };
            Some(times.accepted.unwrap_or(now) - from?)
        }))
    };
    let least_calls = (world.times.len() / scenario.processes).div_ceil(scenario.chunk) * scenario.processes;
    Measured {
        time: end / best,
        best,
        rejected: 100.0 * world.rejected as f64 / world.sent.max(1) as f64,
        calls: world.calls as f64 / least_calls as f64,
        jain: world.shares.jain((0.2 * best).max(scenario.stagger), 0.8 * best),
        tenant: 100.0 * world.tenant.1 as f64 / world.tenant.0.max(1) as f64,
        attempts: world.times.iter().map(|times| times.attempts).max().unwrap_or(0),
        lost: all().filter(|(times, _)| times.accepted.is_none()).count(),
        cold: waits(false),
        hot: waits(true),
        read: Waits::of(
            world
                .times
                .iter()
                .map(|times| times.accepted.unwrap_or(now) - times.read),
        ),
    }
}
