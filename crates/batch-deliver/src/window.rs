//! What was read and is not settled.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::input::Place;

/// Where the entries under way come from, by their positions in the delivery. Clones show the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window(Arc<Mutex<UnderWay>>);

#[derive(Debug, Default)]
struct UnderWay {
    /// The position of the next origin.
    next: u64,
    /// Those that are not settled, by their positions: one that waits long does not keep the later ones.
    origins: HashMap<u64, Origin>,
    /// The last line of each input that has entered.
    last: BTreeMap<usize, u64>,
}

/// Where an entry comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its number among the records of all inputs.
    pub(crate) number: u64,
    pub(crate) place: Place,
    /// How the input has it, if that is kept.
    pub(crate) text: Option<Box<[u8]>>,
}

impl Window {
    /// The next position has this origin.
    pub(crate) fn enter(&self, origin: Origin) {
        let mut under_way = self.under_way();
        under_way.last.insert(origin.place.input, origin.place.line);
        let position = under_way.next;
        under_way.next += 1;
        under_way.origins.insert(position, origin);
    }

    /// The position has come to its end. Returns its origin, once.
    pub(crate) fn settle(&self, position: u64) -> Option<Origin> {
        self.under_way().origins.remove(&position)
    }

    /// The last line of each input that has entered.
    pub(crate) fn last_places(&self) -> impl Iterator<Item = (usize, u64)> {
        self.under_way().last.clone().into_iter()
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn origin(number: u64) -> Origin {
        let place = Place { input: 0, line: number };
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
