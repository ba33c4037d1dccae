//! The result of a call for each partition key.

use super::settle::EndedCall;
use crate::engine::entry::{EntryState, TrackedEntry};
use crate::pace::KeyOutcome;

/// The result of a call for each partition key of its entries.
pub(crate) struct KeyCounts(Vec<KeyOutcome>);

impl KeyCounts {
    /// Counts the entries of a call by key, if they have keys and `wanted` says so.
    pub(crate) fn of<E>(states: &[EntryState<E>], wanted: impl FnOnce() -> bool) -> Self {
        let has_keys = states.iter().any(|state| state.key.is_some());
        let mut counts = Self(Vec::new());
        if has_keys && wanted() {
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
    pub(crate) fn settle<E>(&mut self, settled: &EndedCall<E>) {
        if self.0.is_empty() {
            return;
        }
        if settled.refused_chunk.is_some() || settled.disputed.is_some() || settled.stop.is_some() {
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

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::contract::{Answer, Fault, Rejection, Verdict};
    use crate::engine::calls::ended_call;
    use crate::engine::entry::Chunk;

    fn entry(position: u64, key: Option<u64>, cost: usize) -> TrackedEntry<u64> {
        let mut state = EntryState::new(position, 1);
        (state.key, state.cost) = (key, cost);
        TrackedEntry { entry: position, state }
    }

    #[test]
    fn each_key_has_what_its_entries_came_to() {
        let now = Instant::now();
        let mut again = entry(2, Some(7), 2);
        again.state.rejected(now, Fault::new("Throttled"));
        let mut chunk = Chunk::with_capacity(5);
        for entry in [
            entry(0, Some(7), 3),
            entry(1, Some(7), 4),
            again,
            entry(3, Some(8), 5),
            entry(4, None, 100),
        ] {
            chunk.push(entry);
        }
        let mut counts = KeyCounts::of(&chunk.states, || true);
        let throttled = || Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"));
        let refused = Verdict::Refused(Fault::new("refused"));
        let answer = Answer::Each(vec![
            Verdict::Accepted,
            throttled(),
            throttled(),
            refused,
            Verdict::Accepted,
        ]);
        counts.settle(&ended_call(chunk, answer));
        let outcomes = counts.outcomes().iter();
        let costs = outcomes.map(|of| (of.key, of.sent, of.accepted, of.throttled, of.fresh, of.fresh_throttled));
        assert_eq!(costs.collect::<Vec<_>>(), [(7, 9, 3, 6, 7, 4), (8, 5, 0, 0, 5, 0)]);
        let attempts: Vec<_> = counts.outcomes().iter().map(|of| of.first_attempts).collect();
        assert_eq!(attempts, [(2, 1), (1, 0)]);
    }

    #[test]
    fn an_entry_that_is_refused_alone_was_not_accepted_for_its_key() {
        let mut chunk = Chunk::with_capacity(1);
        chunk.push(entry(0, Some(7), 1));
        let mut counts = KeyCounts::of(&chunk.states, || true);
        let answer = Answer::Disputed(Fault::new("refused"));
        counts.settle(&ended_call(chunk, answer));
        assert!(counts.outcomes().is_empty());
    }

    #[test]
    fn entries_without_keys_are_not_counted_nor_those_that_none_asks_for() {
        let states = [entry(0, None, 1).state];
        assert!(KeyCounts::of(&states, || true).outcomes().is_empty());
        let states = [entry(0, Some(7), 1).state];
        assert!(KeyCounts::of(&states, || false).outcomes().is_empty());
    }
}
