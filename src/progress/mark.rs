//! The position up to which all entries of a delivery are settled.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The settled positions of one delivery.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    /// All entries before this position are settled.
    until: AtomicU64,
    /// The settled positions after it in runs, by their first position. Between two runs is at least one entry that is not
    /// settled, so there are no more runs than such entries.
    ahead: Mutex<BTreeMap<u64, Range<u64>>>,
}

impl Mark {
    /// Begins at this position, before which nothing is left to do.
    #[cfg(feature = "spool")]
    pub(crate) fn at(position: u64) -> Self {
        Self {
            until: AtomicU64::new(position),
            ahead: Mutex::default(),
        }
    }

    /// Whether the entry at this position is settled.
    #[cfg(feature = "spool")]
    pub(crate) fn has(&self, position: u64) -> bool {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ahead.range(..=position).next_back();
        position < self.until() || before.is_some_and(|(_, run)| run.contains(&position))
    }

    /// The settled runs after the first position that is not settled.
    #[cfg(feature = "spool")]
    pub(crate) fn ahead(&self) -> Vec<Range<u64>> {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.values().cloned().collect()
    }

    /// The entries at these positions, none of which was settled before, are settled.
    pub(crate) fn settle(&self, mut run: Range<u64>) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = ahead.remove(&run.end) {
            run.end = next.end;
        }
        if run.start == self.until.load(Relaxed) {
            return self.until.store(run.end, Relaxed);
        }
        let before = ahead.range_mut(..run.start).next_back();
        match before.filter(|(_, before)| before.end == run.start) {
            Some((_, before)) => before.end = run.end,
            None => _ = ahead.insert(run.start, run),
        }
    }

    pub(crate) fn until(&self) -> u64 {
        self.until.load(Relaxed)
    }
}

/// The marks of the deliveries that share figures.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<MarksState>);

#[derive(Debug, Default)]
struct MarksState {
    /// How many deliveries are under way.
    under_way: u64,
    /// The mark of the last delivery; `None` if another one was under way at any time of it.
    last: Option<Arc<Mark>>,
}

impl Marks {
    /// A delivery begins.
    pub(super) fn begin(&self) -> Arc<Mark> {
        let mark = Arc::default();
        let mut state = self.state();
        state.under_way += 1;
        state.last = (state.under_way == 1).then(|| Arc::clone(&mark));
        mark
    }

    /// A delivery has ended.
    pub(super) fn end(&self) {
        self.state().under_way -= 1;
    }

    pub(super) fn settled_until(&self) -> Option<u64> {
        Some(self.state().last.as_ref()?.until())
    }

    fn state(&self) -> MutexGuard<'_, MarksState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_mark_is_at_the_first_position_that_is_not_settled(
            order in Just((0..60_u64).collect::<Vec<_>>()).prop_shuffle(),
            lengths in prop::collection::vec(1_u64..6, 60),
        ) {
            // Runs of random lengths, which are settled in a random order.
            let starts = lengths.iter().scan(0, |next, length| {
                let start = *next;
                *next += length;
                Some(start..*next)
            });
            let runs: Vec<_> = starts.collect();
            let mark = Mark::default();
            let mut settled = [false; 60];
            for number in order {
                let number = usize::try_from(number).unwrap();
                mark.settle(runs[number].clone());
                settled[number] = true;
                let first_open = settled.iter().position(|is_settled| !is_settled);
                let expected = first_open.map_or(runs[59].end, |open| runs[open].start);
                prop_assert_eq!(mark.until(), expected);
                let open = settled.iter().filter(|is_settled| !**is_settled).count();
                prop_assert!(mark.ahead.lock().unwrap().len() <= open);
            }
        }
    }

    #[test]
    fn deliveries_that_are_under_way_together_have_no_mark() {
        let marks = Marks::default();
        assert_eq!(marks.settled_until(), None);
        let alone = marks.begin();
        alone.settle(0..7);
        assert_eq!(marks.settled_until(), Some(7));
        marks.begin().settle(0..9);
        assert_eq!(marks.settled_until(), None);
        marks.end();
        alone.settle(7..8);
        assert_eq!(marks.settled_until(), None);
        marks.end();
        marks.begin();
        assert_eq!(marks.settled_until(), Some(0));
    }
}
