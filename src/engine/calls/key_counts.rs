//! The result of a call for each partition key.

use super::settle::Settled;
use crate::backoff::KeyOutcome;
use crate::engine::entry::{EntryState, TrackedEntry};

/// The result of a call for each partition key of its entries.
pub(crate) struct KeyCounts(Vec<KeyOutcome>);

impl KeyCounts {
    /// Counts the entries of a call by key, if they have keys and `wanted` says so.
    pub(crate) fn of<E>(states: &[EntryState<E>], wanted: impl FnOnce(()) -> bool) -> Self {
        let has_keys = states.iter().any(|state| state.key.is_some());
        let mut counts = Self(Vec::new());
        if has_keys && wanted(()) {
            for state in states {
                if let Some(count) = state.key.map(|key| counts.count(key)) {
                    count.sent += state.cost;
                    count.accepted += state.cost;
                    if state.rejections() == 0 {
                        count.fresh += state.cost;
                    }
                    count.first_attempts.0 += usize::from(state.stands_for_its_key());
                }
            }
        }
        counts
    }

    fn count(&mut self, key: u64) -> &mut KeyOutcome {
        let place = self.0.iter().position(|count| count.key == key).unwrap_or_else(|| {
            self.0.push(KeyOutcome::new(key));
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// Subtracts the entries that were not accepted.
    pub(crate) fn settle<E>(&mut self, settled: &Settled<E>) {
        if self.0.is_empty() {
            return;
        }
        if settled.refused_chunk.is_some() || settled.stop.is_some() {
            self.0.clear();
            return;
        }
        for (TrackedEntry { state, .. }, rejection) in &settled.rejected {
            let Some(count) = state.key.map(|key| self.count(key)) else {
                continue;
            };
            count.accepted -= state.cost;
            if rejection.is_throttle() {
                count.throttled += state.cost;
                // `settle` has counted this rejection already.
                let is_first = state.rejections() == 1;
                if is_first {
                    count.fresh_throttled += state.cost;
                }
                count.first_attempts.1 += usize::from(is_first || state.stands_for_its_key());
            }
        }
        for (TrackedEntry { state, .. }, _) in &settled.refused {
            if let Some(count) = state.key.map(|key| self.count(key)) {
                count.accepted -= state.cost;
            }
        }
    }

    pub(crate) fn outcomes(&mut self) -> &mut [KeyOutcome] {
        &mut self.0
    }
}
