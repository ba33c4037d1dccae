//! The gate that every batch call passes: capacity, faults, counters and journal.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use tokio::time::Instant;

use super::admission::{AdmissionControl, Demand, Provision, Throttle, ThroughputLimit};
use super::bucket::{Bucket, Capacity};
use super::fault::{Faults, InjectedFault};
use super::journal::Journal;
use super::statistics::Statistics;

/// The cost of an entry.
#[derive(Debug, Clone)]
pub(crate) struct Toll {
    pub(crate) demand: Demand,
    /// Whether the entry belongs to the key range that has a limit of its own.
    pub(crate) hot: bool,
}

/// Whether an entry gets through the gate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Passage {
    Passed,
    Throttled(Throttle),
    Failed {
        code: Cow<'static, str>,
        sender_fault: bool,
    },
    Omitted {
        applied: bool,
    },
}

impl Passage {
    pub(crate) fn is_applied(&self) -> bool {
        matches!(self, Self::Passed | Self::Omitted { applied: true })
    }
}

/// The fault of one call.
#[derive(Debug, Clone)]
pub(crate) struct Strike {
    pub(crate) fault: InjectedFault,
    scripted: bool,
}

/// The key range that has a limit of its own has no capacity left.
pub(crate) const HOT: Throttle = Throttle {
    index: None,
    limit: ThroughputLimit::KeyRange,
};

pub(crate) struct Gate {
    control: AdmissionControl,
    hot: Option<Bucket>,
    faults: Faults,
    script: VecDeque<InjectedFault>,
    random: SmallRng,
    pub(crate) statistics: Statistics,
    pub(crate) journal: Journal,
}

impl Gate {
    pub(crate) fn new(control: AdmissionControl, seed: u64) -> Self {
        Self {
            control,
            hot: None,
            faults: Faults::none(),
            script: VecDeque::new(),
            random: SmallRng::seed_from_u64(seed),
            statistics: Statistics::default(),
            journal: Journal::default(),
        }
    }

    pub(crate) fn set_capacity(&mut self, capacity: Capacity) {
        self.control.change(capacity, Instant::now());
    }

    /// Changes the capacity at each of these times after now.
    pub(crate) fn schedule_capacity<C: Into<Capacity>>(&mut self, steps: impl IntoIterator<Item = (Duration, C)>) {
        self.control.schedule(steps, Instant::now());
    }

    /// The description of the capacity of the table or of one of its indexes.
    pub(crate) fn provision(&mut self, index: Option<usize>) -> Option<Provision> {
        self.control.provision(index, Instant::now())
    }

    /// The number of partitions; 0 if there are none.
    pub(crate) fn partitions(&self) -> usize {
        self.control.partitions()
    }

    /// Changes the limit of one partition, in units per second, at each of these times after now.
    pub(crate) fn schedule_partition(&mut self, index: usize, steps: impl IntoIterator<Item = (Duration, f64)>) {
        self.control.schedule_partition(index, steps, Instant::now());
    }

    pub(crate) fn set_hot(&mut self, capacity: Option<Capacity>) {
        self.hot = capacity.map(|capacity| Bucket::new(capacity, Instant::now()));
    }

    pub(crate) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    pub(crate) fn set_script(&mut self, script: impl IntoIterator<Item = InjectedFault>) {
        self.script = script.into_iter().collect();
    }

    /// Another client uses this much capacity.
    pub(crate) fn drain(&mut self, units: f64) -> f64 {
        self.control.drain(units, Instant::now())
    }

    /// Counts a batch call and returns its fault.
    pub(crate) fn strike(&mut self) -> Strike {
        self.statistics.calls += 1;
        match self.script.pop_front() {
            Some(fault) => Strike { fault, scripted: true },
            None => Strike {
                fault: self.faults.draw(&mut self.random),
                scripted: false,
            },
        }
    }

    /// Decides for each entry of a call, in random order, whether it gets through, and charges for those that do.
    pub(crate) fn sift(&mut self, now: Instant, strike: &Strike, tolls: &[Toll]) -> Vec<Passage> {
        let (order, mut passages) = self.draw(strike, tolls.len());
        self.charge(now, tolls, &order, &mut passages);
        self.count(tolls.iter().map(|toll| toll.demand.units), &passages);
        passages
    }

    /// The same with a capacity outside of the gate: `charge` gets the order of the entries, and throttles those for which there
    /// is no capacity. Each entry is one unit.
    pub(crate) fn sift_by(
        &mut self,
        strike: &Strike,
        entries: usize,
        charge: impl FnOnce(&[usize], &mut [Passage]),
    ) -> Vec<Passage> {
        let (order, mut passages) = self.draw(strike, entries);
        charge(&order, &mut passages);
        self.count(std::iter::repeat(1.0), &passages);
        passages
    }

    /// A random order of the entries, and those that fail by a fault.
    fn draw(&mut self, strike: &Strike, entries: usize) -> (Vec<usize>, Vec<Passage>) {
        let mut passages = vec![Passage::Passed; entries];
        let mut order: Vec<usize> = (0..entries).collect();
        order.shuffle(&mut self.random);
        self.fail_by_fault(strike, &order, &mut passages);
        (order, passages)
    }

    fn fail_by_fault(&mut self, strike: &Strike, order: &[usize], passages: &mut [Passage]) {
        let (victims, passage) = match &strike.fault {
            InjectedFault::Unprocessed(entries) | InjectedFault::Repeated(entries) => (*entries, internal_error()),
            InjectedFault::Failed {
                entries,
                code,
                sender_fault,
            } => (
                *entries,
                Passage::Failed {
                    code: code.clone(),
                    sender_fault: *sender_fault,
                },
            ),
            InjectedFault::Omitted { entries, applied } => (*entries, Passage::Omitted { applied: *applied }),
            _ => (0, Passage::Passed),
        };
        for &index in order.iter().take(victims) {
            passages[index] = passage.clone();
        }
        if strike.scripted {
            return;
        }
        if let Some(fault) = self.faults.of_entries() {
            for passage in passages.iter_mut() {
                if fault.strikes(&mut self.random) {
                    *passage = Passage::Failed {
                        code: fault.code.clone(),
                        sender_fault: fault.sender_fault,
                    };
                }
            }
        }
    }

    fn charge(&mut self, now: Instant, tolls: &[Toll], order: &[usize], passages: &mut [Passage]) {
        self.control.advance(now);
        if let Some(hot) = &mut self.hot {
            hot.fill(now);
        }
        let whole = self.control.takes_whole_calls();
        if whole {
            let passing = tolls.iter().zip(passages.iter());
            let passing = passing.filter(|(_, passage)| passage.is_applied());
            if let Err(throttle) = self.control.fits(now, passing.map(|(toll, _)| &toll.demand)) {
                for passage in passages.iter_mut().filter(|passage| passage.is_applied()) {
                    *passage = Passage::Throttled(throttle);
                }
                return;
            }
        }
        for &index in order {
            if !passages[index].is_applied() {
                continue;
            }
            let Toll { demand, hot } = &tolls[index];
            let range = self.hot.as_mut().filter(|_| *hot);
            if range.as_ref().is_some_and(|range| !range.fits(demand.units)) {
                passages[index] = Passage::Throttled(HOT);
                continue;
            }
            let taken = if whole {
                self.control.charge(demand);
                Ok(())
            } else {
                self.control.take(now, demand)
            };
            match (taken, range) {
                (Err(throttle), _) => passages[index] = Passage::Throttled(throttle),
                (Ok(()), Some(range)) => range.take(demand.units),
                (Ok(()), None) => {}
            }
        }
    }

    fn count(&mut self, units: impl Iterator<Item = f64>, passages: &[Passage]) {
        let statistics = &mut self.statistics;
        statistics.entries += passages.len() as u64;
        for (units, passage) in units.zip(passages) {
            match passage {
                Passage::Passed | Passage::Omitted { applied: true } => {
                    statistics.applied += 1;
                    statistics.units += units;
                }
                Passage::Throttled(_) => statistics.throttled += 1,
                Passage::Failed { .. } | Passage::Omitted { applied: false } => statistics.failed += 1,
            }
        }
    }
}

fn internal_error() -> Passage {
    Passage::Failed {
        code: Cow::Borrowed("InternalError"),
        sender_fault: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Toll = toll(false);
    const HOT_ONE: Toll = toll(true);

    const fn toll(hot: bool) -> Toll {
        let place = crate::Place {
            partition_key: 0,
            sort_key: 0,
        };
        let demand = Demand {
            place,
            units: 1.0,
            indexes: Vec::new(),
        };
        Toll { demand, hot }
    }

    fn gate(capacity: Capacity) -> Gate {
        Gate::new(AdmissionControl::new(capacity, Instant::now(), 3), 3)
    }

    fn sift(gate: &mut Gate, tolls: &[Toll]) -> Vec<Passage> {
        let strike = gate.strike();
        gate.sift(Instant::now(), &strike, tolls)
    }

    fn passed(passages: &[Passage]) -> usize {
        passages.iter().filter(|passage| passage.is_applied()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_accepted_as_far_as_the_level_goes_in_random_order() {
        let mut gate = gate(Capacity::per_second(10.0).burst(10.0).starts_full());
        let passages = sift(&mut gate, &[ONE; 25]);
        assert_eq!(passed(&passages), 10);
        assert_ne!(passed(&passages[..10]), 10, "not the first ten");
    }

    #[tokio::test(start_paused = true)]
    async fn whole_calls_are_accepted_or_not() {
        let mut gate = gate(Capacity::per_second(10.0).burst(30.0).starts_full().whole_calls());
        assert_eq!(passed(&sift(&mut gate, &[ONE; 25])), 25);
        assert_eq!(passed(&sift(&mut gate, &[ONE; 6])), 0);
        assert_eq!(passed(&sift(&mut gate, &[ONE; 5])), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hot_range_has_a_limit_of_its_own() {
        let mut gate = gate(Capacity::unlimited());
        gate.set_hot(Some(Capacity::none()));
        let passages = sift(&mut gate, &[ONE, HOT_ONE, ONE]);
        assert_eq!(passages, [Passage::Passed, Passage::Throttled(HOT), Passage::Passed]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_comes_before_the_random_faults() {
        let mut gate = gate(Capacity::unlimited());
        gate.set_faults(Faults::none().unprocessed(1.0));
        gate.set_script([InjectedFault::Unprocessed(6), InjectedFault::None]);
        assert_eq!(passed(&sift(&mut gate, &[ONE; 25])), 19);
        assert_eq!(passed(&sift(&mut gate, &[ONE; 25])), 25);
        assert_eq!(passed(&sift(&mut gate, &[ONE; 25])), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn capacity_that_others_use_is_missing() {
        let mut gate = gate(Capacity::per_second(10.0).burst(10.0).starts_full());
        assert!((gate.drain(4.0) - 4.0).abs() < 1e-9);
        assert_eq!(passed(&sift(&mut gate, &[ONE; 25])), 6);
        assert!(gate.drain(4.0) < 1e-9);
    }

    #[tokio::test(start_paused = true)]
    async fn every_entry_is_counted_once() {
        let mut gate = gate(Capacity::per_second(10.0).burst(10.0).starts_full());
        gate.set_script([InjectedFault::Unprocessed(6)]);
        sift(&mut gate, &[ONE; 25]);
        let Statistics {
            entries,
            applied,
            throttled,
            failed,
            ..
        } = gate.statistics;
        assert_eq!((entries, applied, throttled, failed), (25, 10, 9, 6));
    }
}
