//! Decides on the entries of calls: capacity, faults, counts and journal.

mod whole;

use std::collections::VecDeque;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use tokio::time::Instant;

use crate::admission::{AdmissionControl, Provision};
use crate::calls::{Call, Cost, HOT_RANGE, Statistics, Verdict};
use crate::capacity::{Capacity, TokenBucket};
use crate::fault::{Faults, InjectedFault};
use crate::journal::{AnswerReceipt, CallInfo, Journal};

pub(crate) struct Gate {
    control: AdmissionControl,
    hot_range: Option<TokenBucket>,
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
            hot_range: None,
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

    /// Entries of the hot range have this capacity, in addition to the others.
    pub(crate) fn set_hot_range(&mut self, capacity: Capacity) {
        self.hot_range = Some(TokenBucket::new(capacity, Instant::now()));
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

    /// Counts a call and draws its fault.
    pub(crate) fn call(&mut self, answered: &AnswerReceipt) -> Call {
        let (fault, is_scripted) = match self.script.pop_front() {
            Some(fault) => (fault, true),
            None => (self.faults.draw(&mut self.random), false),
        };
        self.count_call(fault, is_scripted, answered.clone())
    }

    /// Counts a call that another gate has counted, and has the same fault here.
    pub(crate) fn join(&mut self, call: &Call) -> Call {
        self.count_call(call.fault.clone(), call.is_scripted, call.info.answered.clone())
    }

    fn count_call(&mut self, fault: InjectedFault, is_scripted: bool, answered: AnswerReceipt) -> Call {
        self.statistics.calls += 1;
        if let InjectedFault::Slow(delay) = fault {
            answered.delay_by(delay);
        }
        let info = CallInfo {
            number: self.statistics.calls,
            at: Instant::now(),
            answered,
        };
        Call {
            info,
            fault,
            is_scripted,
        }
    }

    /// Counts a call whose answer this fault replaces, and the entries that are not applied because of it.
    pub(crate) fn count_failed_call(&mut self, fault: &InjectedFault, skipped: usize) {
        let skipped = skipped as u64;
        let statistics = &mut self.statistics;
        statistics.entries += skipped;
        if fault.is_throttle() {
            statistics.throttled_calls += 1;
            statistics.throttled += skipped;
        } else {
            statistics.failed_calls += 1;
            statistics.failed += skipped;
        }
    }

    /// Counts entries of a call that fail before they get here.
    pub(crate) fn count_refused_entries(&mut self, entries: usize) {
        self.statistics.entries += entries as u64;
        self.statistics.failed += entries as u64;
    }

    /// Decides for each entry of a call, in random order, whether it is accepted, and charges for those that are.
    pub(crate) fn decide(&mut self, call: &Call, costs: &[Cost]) -> Vec<Verdict> {
        let (order, mut verdicts) = self.draw(call, costs.len());
        self.charge(call.info.at, costs, &order, &mut verdicts);
        self.count(costs.iter().map(|cost| cost.demand.units), &verdicts);
        verdicts
    }

    /// The same with a capacity outside of the gate: `charge` gets the order of the entries, and throttles those for which there
    /// is no capacity. Each entry is one unit.
    pub(crate) fn decide_by(
        &mut self,
        call: &Call,
        entries: usize,
        charge: impl FnOnce(&[usize], &mut [Verdict]),
    ) -> Vec<Verdict> {
        let (order, mut verdicts) = self.draw(call, entries);
        charge(&order, &mut verdicts);
        self.count(std::iter::repeat(1.0), &verdicts);
        verdicts
    }

    /// A random order of the entries, and those that fail by a fault.
    fn draw(&mut self, call: &Call, entries: usize) -> (Vec<usize>, Vec<Verdict>) {
        let mut verdicts = vec![Verdict::Accepted; entries];
        let mut order: Vec<usize> = (0..entries).collect();
        order.shuffle(&mut self.random);
        self.fail_by_fault(call, &order, &mut verdicts);
        (order, verdicts)
    }

    fn fail_by_fault(&mut self, call: &Call, order: &[usize], verdicts: &mut [Verdict]) {
        let (affected, verdict) = match &call.fault {
            InjectedFault::Unprocessed(entries) | InjectedFault::Repeated(entries) => {
                (*entries, Verdict::internal_error())
            }
            InjectedFault::Failed {
                entries,
                code,
                sender_fault,
            } => (
                *entries,
                Verdict::Failed {
                    code: code.clone(),
                    sender_fault: *sender_fault,
                },
            ),
            InjectedFault::Conflict(entries) => (*entries, Verdict::conflict()),
            InjectedFault::Omitted { entries, applied } => (*entries, Verdict::Omitted { applied: *applied }),
            _ => (0, Verdict::Accepted),
        };
        for &index in order.iter().take(affected) {
            verdicts[index] = verdict.clone();
        }
        if call.is_scripted {
            return;
        }
        if let Some(fault) = self.faults.of_entries() {
            for verdict in verdicts.iter_mut() {
                if fault.is_drawn(&mut self.random) {
                    *verdict = Verdict::Failed {
                        code: fault.code.clone(),
                        sender_fault: fault.sender_fault,
                    };
                }
            }
        }
    }

    fn charge(&mut self, now: Instant, costs: &[Cost], order: &[usize], verdicts: &mut [Verdict]) {
        self.control.advance(now);
        if let Some(range) = &mut self.hot_range {
            range.fill(now);
        }
        for &index in order {
            if !verdicts[index].is_applied() {
                continue;
            }
            let Cost { demand, is_hot } = &costs[index];
            let range = self.hot_range.as_mut().filter(|_| *is_hot);
            if range.as_ref().is_some_and(|range| !range.fits(demand.units)) {
                verdicts[index] = Verdict::Throttled(HOT_RANGE);
                continue;
            }
            match (self.control.take(now, demand), range) {
                (Err(throttle), _) => verdicts[index] = Verdict::Throttled(throttle),
                (Ok(()), Some(range)) => range.take(demand.units),
                (Ok(()), None) => {}
            }
        }
    }

    pub(crate) fn count(&mut self, units: impl Iterator<Item = f64>, verdicts: &[Verdict]) {
        let statistics = &mut self.statistics;
        statistics.entries += verdicts.len() as u64;
        for (units, verdict) in units.zip(verdicts) {
            match verdict {
                Verdict::Accepted | Verdict::Omitted { applied: true } => {
                    statistics.applied += 1;
                    statistics.units += units;
                }
                Verdict::ConditionFailed => {
                    statistics.conditions_failed += 1;
                    statistics.units += units;
                }
                Verdict::Canceled => {
                    statistics.failed += 1;
                    statistics.units += units;
                }
                Verdict::Throttled(_) => statistics.throttled += 1,
                Verdict::Failed { .. } | Verdict::Omitted { applied: false } => statistics.failed += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Demand;

    const ONE: Cost = cost(false);
    const HOT_ONE: Cost = cost(true);

    const fn cost(is_hot: bool) -> Cost {
        let place = crate::admission::Place {
            partition_key: 0,
            sort_key: 0,
        };
        let demand = Demand {
            place,
            units: 1.0,
            indexes: Vec::new(),
            vector_bytes: Vec::new(),
        };
        Cost { demand, is_hot }
    }

    fn gate(capacity: Capacity) -> Gate {
        Gate::new(AdmissionControl::new(capacity, Instant::now(), 3), 3)
    }

    fn decide(gate: &mut Gate, costs: &[Cost]) -> Vec<Verdict> {
        let call = gate.call(&AnswerReceipt::default());
        gate.decide(&call, costs)
    }

    fn accepted(verdicts: &[Verdict]) -> usize {
        verdicts.iter().filter(|verdict| verdict.is_applied()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_accepted_as_far_as_the_level_goes_in_random_order() {
        let mut gate = gate(Capacity::per_second(10.0).burst(10.0).starts_full());
        let verdicts = decide(&mut gate, &[ONE; 25]);
        assert_eq!(accepted(&verdicts), 10);
        assert_ne!(accepted(&verdicts[..10]), 10, "not the first ten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hot_range_has_a_limit_of_its_own() {
        let mut gate = gate(Capacity::unlimited());
        gate.set_hot_range(Capacity::none());
        let verdicts = decide(&mut gate, &[ONE, HOT_ONE, ONE]);
        assert_eq!(
            verdicts,
            [Verdict::Accepted, Verdict::Throttled(HOT_RANGE), Verdict::Accepted]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_comes_before_the_random_faults() {
        let mut gate = gate(Capacity::unlimited());
        gate.set_faults(Faults::none().unprocessed(1.0));
        gate.set_script([InjectedFault::Unprocessed(6), InjectedFault::None]);
        assert_eq!(accepted(&decide(&mut gate, &[ONE; 25])), 19);
        assert_eq!(accepted(&decide(&mut gate, &[ONE; 25])), 25);
        assert_eq!(accepted(&decide(&mut gate, &[ONE; 25])), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn capacity_that_others_use_is_missing() {
        let mut gate = gate(Capacity::per_second(10.0).burst(10.0).starts_full());
        assert!((gate.drain(4.0) - 4.0).abs() < 1e-9);
        assert_eq!(accepted(&decide(&mut gate, &[ONE; 25])), 6);
        assert!(gate.drain(4.0) < 1e-9);
    }

    #[tokio::test(start_paused = true)]
    async fn every_entry_is_counted_once() {
        let mut gate = gate(Capacity::per_second(10.0).burst(10.0).starts_full());
        gate.set_script([InjectedFault::Unprocessed(6)]);
        decide(&mut gate, &[ONE; 25]);
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
