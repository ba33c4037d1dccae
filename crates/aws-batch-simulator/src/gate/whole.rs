//! Decides on calls that are accepted as a whole or not at all: writes of single items, transactions, and puts of metrics and log
//! events.

use tokio::time::Instant;

use super::Gate;
use crate::admission::{Demand, Place, Throttle};
use crate::calls::{Call, Cost, HOT_RANGE, Verdict};
use crate::fault::InjectedFault;
use crate::journal::AnswerReceipt;

impl Gate {
    /// Counts a call that is accepted as a whole, and returns its fault. Its answer has no lists that could lack, repeat or invent
    /// entries, and an empty answer is its success.
    pub(crate) fn whole_call(&mut self, answered: &AnswerReceipt) -> Call {
        let mut call = self.call(answered);
        if let InjectedFault::Omitted { .. }
        | InjectedFault::Repeated(_)
        | InjectedFault::Unknown(_)
        | InjectedFault::Empty { .. } = call.fault
        {
            call.fault = InjectedFault::None;
        }
        call
    }

    /// The entries that fail by a fault. All others are accepted so far.
    pub(crate) fn draw_faults(&mut self, call: &Call, entries: usize) -> Vec<Verdict> {
        self.draw(call, entries).1
    }

    /// For each entry the limit that does not allow it together with those before it. Charges for none of them.
    pub(crate) fn throttles(&mut self, now: Instant, costs: &[Cost]) -> Vec<Option<Throttle>> {
        self.control.advance(now);
        let mut throttles = self.control.throttles(now, costs.iter().map(|cost| &cost.demand));
        if let Some(range) = &mut self.hot_range {
            range.fill(now);
            let mut used = 0.0;
            for (cost, throttle) in costs.iter().zip(&mut throttles).filter(|(cost, _)| cost.is_hot) {
                used += cost.demand.units;
                if throttle.is_none() && !range.fits(used) {
                    *throttle = Some(HOT_RANGE);
                }
            }
        }
        throttles
    }

    /// Charges for the entries that consume capacity, whether it suffices or not, and counts all of them.
    pub(crate) fn settle(&mut self, costs: &[Cost], verdicts: &[Verdict]) {
        let consuming = costs.iter().zip(verdicts).filter(|(_, verdict)| verdict.consumes());
        for (cost, _) in consuming {
            self.control.charge(&cost.demand);
            if let Some(range) = self.hot_range.as_mut().filter(|_| cost.is_hot) {
                range.take(cost.demand.units);
            }
        }
        self.count(costs.iter().map(|cost| cost.demand.units), verdicts);
    }

    /// Takes one unit for a call, whatever its entries are, or returns the limit that does not allow it.
    pub(crate) fn take_call(&mut self, now: Instant) -> Option<Throttle> {
        let demand = Demand::new(Place::default(), 1.0);
        self.control.advance(now);
        let taken = self.control.take(now, &demand);
        if taken.is_ok() {
            self.statistics.units += demand.units;
        }
        taken.err()
    }

    /// Counts the entries of a call that has paid for them.
    pub(crate) fn count_entries(&mut self, verdicts: &[Verdict]) {
        self.count(std::iter::repeat(0.0), verdicts);
    }
}
