//! When to look for entries whose time is used up.

use std::time::Duration;

use tokio::time::Instant;

use crate::engine::entry::EntryState;
use crate::options::DeliveryOptions;
use crate::time_limit::later;

/// The shortest time between two searches. A search looks at all entries that wait, up to 30,000 by default, which takes
/// about a millisecond; entries that expire one after another must not cause one search each.
const SPACING: Duration = Duration::from_millis(50);

/// When to look for entries whose time is used up.
///
/// Entries that wait for different things are kept in different places, none of which is sorted by this time. So the first
/// moment at which any of them may expire is kept, and then all of them are looked at.
#[derive(Debug, Default)]
pub(crate) struct Expiries {
    next: Option<Instant>,
}

/// A search for entries whose time is used up at a moment.
pub(crate) struct Search<'a> {
    now: Instant,
    options: &'a DeliveryOptions,
    /// The first moment at which one of the other entries expires.
    next: Option<Instant>,
}

impl Expiries {
    /// The entry waits from now on.
    pub(crate) fn note<E>(&mut self, state: &EntryState<E>, options: &DeliveryOptions) {
        if let Some(expiry) = state.expiry(options) {
            self.next = Some(self.next.map_or(expiry, |next| next.min(expiry)));
        }
    }

    /// The next moment at which the time of an entry may be used up.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Whether to search now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// A search has looked at all entries that wait.
    pub(crate) fn searched(&mut self, search: &Search<'_>) {
        self.next = search.next.map(|next| next.max(later(search.now, SPACING)));
    }
}

impl<'a> Search<'a> {
    pub(crate) fn at(now: Instant, options: &'a DeliveryOptions) -> Self {
        Self {
            now,
            options,
            next: None,
        }
    }

    /// Whether the time of the entry is used up.
    pub(crate) fn finds<E>(&mut self, state: &EntryState<E>) -> bool {
        let Some(expiry) = state.expiry(self.options) else {
            return false;
        };
        if expiry <= self.now {
            return true;
        }
        self.next = Some(self.next.map_or(expiry, |next| next.min(expiry)));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Fault;

    #[test]
    fn the_next_search_is_at_the_first_expiry_but_not_at_once() {
        let start = Instant::now();
        let patience = Duration::from_secs(1);
        let options = DeliveryOptions::default().give_up_after(patience);
        let mut states = [0, 1, 500].map(|millis| {
            let mut state = EntryState::<()>::new(millis, 1);
            state.failed(start + Duration::from_millis(millis), Fault::new("Throttled"));
            state
        });
        let mut expiries = Expiries::default();
        assert!(expiries.next().is_none());
        states.iter().rev().for_each(|state| expiries.note(state, &options));
        let mut looked_at = Vec::new();
        while let Some(next) = expiries.next() {
            assert!(expiries.is_due(next) && !expiries.is_due(next - Duration::from_millis(1)));
            let mut search = Search::at(next, &options);
            let found = states.iter().filter(|state| search.finds(state)).count();
            looked_at.push(((next - start).as_millis(), found));
            expiries.searched(&search);
            if found == states.len() {
                states = states.map(|mut state| {
                    state.history = None;
                    state
                });
            }
        }
        assert_eq!(looked_at, [(1_000, 1), (1_050, 2), (1_500, 3)]);
    }

    #[test]
    fn time_counts_from_the_hand_over_in_a_producer_and_else_from_the_first_attempt() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let options = DeliveryOptions::default().give_up_after(second);
        let mut state = EntryState::<()>::new(0, 1);
        state.arrived = Some(start);
        assert_eq!(state.expiry(&options), None);
        assert_eq!(state.expiry(&options.clone().for_producer()), Some(start + second));
        state.failed(start + second, Fault::new("Throttled"));
        assert_eq!(state.expiry(&options), Some(start + 2 * second));
        assert_eq!(state.expiry(&options.for_producer()), Some(start + second));
    }
}
