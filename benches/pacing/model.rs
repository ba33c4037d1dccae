//! A simulated service: its capacity, its latency, and its counts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use super::history::History;
use super::scenario::{Keys, Scenario};

/// The least a bucket holds.
const LEAST_DEPTH: f64 = 25.0;

/// The service and its surroundings.
pub(crate) struct World {
    scenario: Arc<Scenario>,
    random: Xoshiro256PlusPlus,
    level: f64,
    reckoned_at: f64,
    step: usize,
    next_tenant_call: f64,
    hot_level: f64,
    hot_at: f64,
    attempts: Vec<u8>,
    pub(crate) history: History,
    pub(crate) sent: u64,
    pub(crate) rejected: u64,
    pub(crate) calls: u64,
    pub(crate) cold_accepted: u64,
    /// When 99 of 100 keys that are not hot had been accepted.
    pub(crate) most_cold_accepted_at: f64,
}

impl World {
    pub(crate) fn new(scenario: Arc<Scenario>, seed: u64) -> Self {
        let entries = scenario.entries * scenario.processes;
        let first = scenario.steps[0].1;
        let level = if scenario.starts_full {
            (scenario.burst * first).max(LEAST_DEPTH)
        } else {
            0.0
        };
        let mut world = Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            level,
            reckoned_at: 0.0,
            step: 0,
            next_tenant_call: f64::INFINITY,
            hot_level: 0.0,
            hot_at: 0.0,
            attempts: vec![0; entries],
            history: History::new(scenario.processes),
            sent: 0,
            rejected: 0,
            calls: 0,
            cold_accepted: 0,
            most_cold_accepted_at: 0.0,
            scenario,
        };
        if let Some(tenant) = world.scenario.tenant {
            world.next_tenant_call = tenant.from + world.exponential(tenant.rate / 25.0);
        }
        world
    }

    pub(crate) fn max_attempts(&self) -> u8 {
        self.attempts.iter().copied().max().unwrap_or(0)
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.random.random::<f64>()).ln() / rate
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.random::<f64>()).cos()
    }

    /// Milliseconds there, and milliseconds back.
    fn round_trip(&mut self) -> (u64, u64) {
        let mut trip = self.scenario.trip * (0.4 * self.normal()).exp();
        if self.random.random::<f64>() < 0.005 {
            trip *= 8.0;
        }
        let milliseconds = (trip * 1000.0).round().max(1.0) as u64;
        (milliseconds / 2, milliseconds - milliseconds / 2)
    }

    /// Refills up to now, and lets the tenant take its part.
    fn advance(&mut self, now: f64) {
        while self.next_tenant_call <= now {
            let at = self.next_tenant_call;
            self.refill(at);
            self.level -= self.level.floor().clamp(0.0, 25.0);
            self.next_tenant_call = match self.scenario.tenant {
                Some(tenant) => {
                    let next = at + self.exponential(tenant.rate / 25.0);
                    if next < tenant.until { next } else { f64::INFINITY }
                }
                None => f64::INFINITY,
            };
        }
        self.refill(now);
    }

    fn refill(&mut self, now: f64) {
        while self.reckoned_at < now {
            let capacity = self.scenario.steps[self.step].1;
            let end = self
                .scenario
                .steps
                .get(self.step + 1)
                .map_or(f64::INFINITY, |step| step.0);
            let until = now.min(end);
            let depth = (self.scenario.burst * capacity).max(LEAST_DEPTH);
            if capacity > 0.0 {
                self.level = (self.level + capacity * (until - self.reckoned_at)).min(depth.max(self.level));
                self.level = self.level.min(depth);
            }
            self.reckoned_at = until;
            if until >= end {
                self.step += 1;
            }
        }
    }

    fn take(&mut self) -> bool {
        let takes = self.level >= 1.0;
        if takes {
            self.level -= 1.0;
        }
        takes
    }

    /// Whether the key of the entry is among this percentage of all keys.
    pub(crate) fn is_among(entry: u32, percent: u32) -> bool {
        (entry.wrapping_mul(2_654_435_761) >> 16) % 100 < percent
    }

    fn is_lost(&mut self, entry: u32, now: f64) -> bool {
        match self.scenario.keys {
            Keys::Alike => false,
            Keys::Blocked { percent, from, until } => (from..until).contains(&now) && Self::is_among(entry, percent),
            Keys::Hot { percent, rate } => {
                if !Self::is_among(entry, percent) {
                    return false;
                }
                self.hot_level = (self.hot_level + rate * (now - self.hot_at)).min(rate);
                self.hot_at = now;
                if self.hot_level >= 1.0 && self.level >= 1.0 {
                    self.hot_level -= 1.0;
                    false
                } else {
                    true
                }
            }
        }
    }

    /// Which entries are accepted.
    fn call(&mut self, now: f64, process: usize, entries: &[u32]) -> Vec<bool> {
        self.advance(now);
        for entry in entries {
            let attempts = &mut self.attempts[*entry as usize];
            *attempts = attempts.saturating_add(1);
        }
        let loss = self.scenario.loss;
        let lossy = (loss.from..loss.until).contains(&now);
        let mut accepted = vec![false; entries.len()];
        if self.scenario.whole_calls {
            if self.level >= entries.len() as f64 {
                self.level -= entries.len() as f64;
                accepted.fill(true);
            }
        } else {
            // A random start is enough for a random order, because entries are independent.
            let first = self.random.random_range(0..entries.len());
            for turn in 0..entries.len() {
                let index = (first + turn) % entries.len();
                let by_chance = lossy && self.random.random::<f64>() < loss.share;
                accepted[index] =
                    !by_chance && !self.is_lost(entries[index], now) && (self.scenario.unlimited || self.take());
            }
        }
        let taken = accepted.iter().filter(|accepted| **accepted).count();
        if let Keys::Hot { percent, .. } = self.scenario.keys {
            for (entry, accepted) in entries.iter().zip(&accepted) {
                if *accepted && !Self::is_among(*entry, percent) {
                    self.cold_accepted += 1;
                    if self.cold_accepted * 10_000 <= self.attempts.len() as u64 * u64::from(100 - percent) * 99 {
                        self.most_cold_accepted_at = now;
                    }
                }
            }
        }
        self.calls += 1;
        self.sent += entries.len() as u64;
        self.rejected += (entries.len() - taken) as u64;
        self.history.note(process, now, taken, entries.len() - taken);
        accepted
    }
}

/// The service, as seen by one process.
pub(crate) struct Service {
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) started: Instant,
    pub(crate) process: usize,
}

impl Service {
    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BatchTarget for Service {
    type Entry = u32;

    fn limits(&self) -> Limits {
        Limits::new(self.scenario.chunk, usize::MAX)
    }

    fn check(&self, _: &u32) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[u32]) -> Answer {
        let (there, back) = self.world().round_trip();
        sleep(Duration::from_millis(there)).await;
        let now = self.now();
        let accepted = self.world().call(now, self.process, chunk);
        sleep(Duration::from_millis(back)).await;
        if let Some(stalls) = self.scenario.stalls {
            let until = stalls.end_of_stall(self.now());
            sleep(Duration::from_secs_f64((until - self.now()).max(0.0))).await;
        }
        if self.scenario.whole_calls {
            return if accepted[0] {
                Answer::Each(vec![Verdict::Accepted; chunk.len()])
            } else {
                Answer::Whole(Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")))
            };
        }
        let verdict = |accepted: bool| {
            if accepted {
                Verdict::Accepted
            } else {
                Verdict::Rejected(Rejection::Unprocessed, Fault::new("UnprocessedItems"))
            }
        };
        Answer::Each(accepted.into_iter().map(verdict).collect())
    }
}
