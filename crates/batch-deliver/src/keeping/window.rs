//! The entries that were read and are not settled.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::source::{Flaw, LinePlace};

/// The origin of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its number among the records of all inputs.
    pub(crate) number: u64,
    pub(crate) place: LinePlace,
    /// The text in the input, if it is kept for dead letters.
    pub(crate) text: Option<Box<[u8]>>,
}

/// A line that cannot be read, and why.
#[derive(Debug)]
pub(crate) struct BadLine {
    pub(crate) origin: Origin,
    /// The checksum of all that is before it in its input, if the journal is to compare it.
    pub(crate) checksum_before: Option<u32>,
    /// The header of its input, if it is a row and dead letters are to repeat it.
    pub(crate) header: Option<Box<[u8]>>,
    pub(crate) flaw: Flaw,
}

/// The origins of the entries in delivery, by their positions. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window(Arc<Mutex<UnsettledEntries>>);

#[derive(Debug, Default)]
struct UnsettledEntries {
    /// The position of the next origin.
    next: u64,
    /// The entries that are not settled, by position: one that waits long does not keep later ones in memory.
    origins: HashMap<u64, Origin>,
    /// The last line of each input that has entered.
    last: BTreeMap<usize, u64>,
}

impl Window {
    /// Adds the origin of the next position.
    pub(crate) fn enter(&self, origin: Origin) {
        let mut under_way = self.under_way();
        under_way.last.insert(origin.place.input, origin.place.line);
        let position = under_way.next;
        under_way.next += 1;
        under_way.origins.insert(position, origin);
    }

    /// The entry at the position is settled. Returns its origin the first time.
    pub(crate) fn settle(&self, position: u64) -> Option<Origin> {
        self.under_way().origins.remove(&position)
    }

    /// The last line of each input that has entered.
    pub(crate) fn last_places(&self) -> impl Iterator<Item = (usize, u64)> {
        self.under_way().last.clone().into_iter()
    }

    fn under_way(&self) -> MutexGuard<'_, UnsettledEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn origin(number: u64) -> Origin {
        let place = LinePlace { input: 0, line: number };
        Origin {
            number,
            place,
            text: None,
        }
    }

    proptest! {
        #[test]
        fn each_position_has_its_origin_once_in_any_order(order in Just((0..30_u64).collect::<Vec<_>>()).prop_shuffle()) {
            let window = Window::default();
            (0..30).for_each(|number| window.enter(origin(number * 2)));
            for position in &order {
                prop_assert_eq!(window.settle(*position), Some(origin(position * 2)));
                prop_assert_eq!(window.settle(*position), None);
            }
            prop_assert!(window.under_way().origins.is_empty());
            window.enter(origin(1));
            prop_assert_eq!(window.settle(30), Some(origin(1)));
        }
    }
}
