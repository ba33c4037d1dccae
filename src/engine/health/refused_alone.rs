//! Entries that are refused alone in a row, for a reason that all entries share.

use crate::contract::Fault;
use crate::engine::calls::EndedCall;

/// Entries refused alone, in a row, after which the next entries are sent alone too.
///
/// A bisection pays while few entries are at fault: it costs up to ten calls for each, where a call with one entry costs
/// one. After eight refusals in a row the next entry is at fault with a probability of nine in ten (Laplace's rule of
/// succession); if it is not, one call was small.
const REFUSED_BEFORE_SINGLE: u32 = 8;

/// Entries refused alone, in a row, after which a delivery that has delivered nothing stops. The entries are not the reason
/// then: the table name is malformed, say, or the queue requires ids that all entries lack. The number is large enough to
/// be sure and small compared with a large input.
const REFUSED_BEFORE_STOP: u32 = 1_000;

/// Counts the entries that were refused alone since the last accepted one.
#[derive(Debug, Default)]
pub(crate) struct RefusedAlone {
    in_a_row: u32,
    any_accepted: bool,
}

impl RefusedAlone {
    /// Evaluates the answer of a call. Returns the fault if enough entries in a row were refused alone to assume that all others
    /// would be refused, too.
    pub(crate) fn answered<E>(&mut self, settled: &EndedCall<E>) -> Option<Fault> {
        if settled.outcome.accepted > 0 {
            self.accepted();
        }
        let fault = settled.refused_alone.as_ref()?;
        self.refused_alone().then(|| fault.clone())
    }

    /// The service accepted an entry.
    fn accepted(&mut self) {
        self.in_a_row = 0;
        self.any_accepted = true;
    }

    /// A call with one entry was refused. Returns whether the delivery should stop.
    fn refused_alone(&mut self) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(1);
        !self.any_accepted && self.in_a_row >= REFUSED_BEFORE_STOP
    }

    /// How many entries the next call may carry at most.
    pub(crate) fn most(&self) -> usize {
        if self.in_a_row < REFUSED_BEFORE_SINGLE {
            usize::MAX
        } else {
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::contract::{Answer, Rejection, Verdict};
    use crate::engine::calls::ended_call_at;
    use crate::engine::entry::{Chunk, EntryState, TrackedEntry};

    /// The number of refusals in a row after which the delivery stops.
    fn refused_until_stop(refusals: &mut RefusedAlone) -> Option<u32> {
        (1..=10 * REFUSED_BEFORE_STOP).find(|_| refusals.refused_alone())
    }

    #[test]
    fn after_eight_in_a_row_each_goes_alone_until_one_is_accepted() {
        let mut refusals = RefusedAlone::default();
        for _ in 0..REFUSED_BEFORE_SINGLE {
            assert_eq!(refusals.most(), usize::MAX);
            refusals.refused_alone();
        }
        assert_eq!(refusals.most(), 1);
        refusals.accepted();
        assert_eq!(refusals.most(), usize::MAX);
    }

    #[test]
    fn a_thousand_in_a_row_stop_the_delivery_unless_anything_was_ever_accepted() {
        let mut refusals = RefusedAlone::default();
        assert_eq!(refused_until_stop(&mut refusals), Some(1_000));
        refusals = RefusedAlone::default();
        refusals.accepted();
        assert_eq!(refused_until_stop(&mut refusals), None);
    }

    #[test]
    fn only_an_entry_that_is_accepted_ends_the_row() {
        let now = Instant::now();
        let mut refusals = RefusedAlone::default();
        let mut answered = |verdict| {
            let mut chunk = Chunk::with_capacity(1);
            let state = EntryState::new(0, 1);
            chunk.push(TrackedEntry { entry: (), state });
            let settled = ended_call_at(chunk, Answer::Whole(verdict), now, now);
            assert!(refusals.answered(&settled).is_none());
            refusals.most()
        };
        let refused = || Verdict::Refused(Fault::new("malformed"));
        assert!((1..REFUSED_BEFORE_SINGLE).all(|_| answered(refused()) == usize::MAX));
        assert_eq!(answered(refused()), 1);
        let throttled = Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"));
        assert_eq!(answered(throttled), 1);
        assert_eq!(answered(Verdict::Accepted), usize::MAX);
        assert_eq!(answered(refused()), usize::MAX);
    }
}
