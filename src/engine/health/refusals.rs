//! Calls that are refused for a reason that all entries share.

use crate::engine::calls::Settled;
use crate::targets::Fault;

/// Entries refused alone, in a row, before the next ones are sent alone as well.
///
/// A call that is refused is searched for the entries at fault, which pays as long as they are few. Each of them costs up to ten
/// calls of a search, where a call of its own tells the same. After eight in a row the next one is at fault nine times out of
/// ten (Laplace's rule of succession), and if it is not, one call was small.
const SUSPICIOUS: u32 = 8;

/// Entries refused alone, in a row, before a delivery that has delivered nothing at all is stopped. The entries
/// are not the reason then: the name of the table is malformed, or ids are missing that the queue wants. It is far more than is
/// needed to see the reason, and far less than there may be.
const HOPELESS: u32 = 1_000;

/// Counts the entries that were refused alone since the service accepted one.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    in_a_row: u32,
    any_accepted: bool,
}

impl Refusals {
    /// A call was answered. Returns the fault, when so many entries were refused alone that all the others would be as well.
    pub(crate) fn answered<E>(&mut self, settled: &Settled<E>) -> Option<Fault> {
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

    /// A call with one entry was refused. Returns whether there is no hope for any other.
    fn refused_alone(&mut self) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(1);
        !self.any_accepted && self.in_a_row >= HOPELESS
    }

    /// How many entries the next call may carry at most.
    pub(crate) fn most(&self) -> usize {
        if self.in_a_row < SUSPICIOUS { usize::MAX } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many refusals in a row it takes until there is no hope.
    fn until_hopeless(refusals: &mut Refusals) -> Option<u32> {
        (1..=10 * HOPELESS).find(|_| refusals.refused_alone())
    }

    #[test]
    fn after_eight_in_a_row_each_goes_alone_until_one_is_accepted() {
        let mut refusals = Refusals::default();
        for _ in 0..SUSPICIOUS {
            assert_eq!(refusals.most(), usize::MAX);
            refusals.refused_alone();
        }
        assert_eq!(refusals.most(), 1);
        refusals.accepted();
        assert_eq!(refusals.most(), usize::MAX);
    }

    #[test]
    fn a_thousand_in_a_row_are_hopeless_unless_anything_was_ever_accepted() {
        let mut refusals = Refusals::default();
        assert_eq!(until_hopeless(&mut refusals), Some(1_000));
        refusals = Refusals::default();
        refusals.accepted();
        assert_eq!(until_hopeless(&mut refusals), None);
    }
}
