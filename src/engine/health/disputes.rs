//! Refusals that leave open whether an entry is the reason, or something that all calls share.

use std::time::Duration;

use tokio::time::Instant;

use crate::engine::calls::Settled;
use crate::engine::entry::EntryState;
use crate::engine::retry::Bisection;
use crate::targets::Fault;

/// Single entries of this many calls that were refused in a row, and nothing was accepted in between: then the reason is one that
/// all calls share. Two may be neighbours that are at fault both, at the border between two calls.
const SEVERAL: usize = 3;

/// How long an entry is sent again while it is refused and no other entry is there to compare it with. Errors that all calls
/// share for some moments come from restarts and configuration changes of what lies between, which take seconds.
const LASTS: Duration = Duration::from_secs(5);

/// Whether refusals are those of single entries, or of all calls of the moment.
///
/// What one entry has alone is the entry's: it is refused while others are accepted. What most calls of the moment share is the
/// state of the service or of the caller: nothing is accepted, whatever is sent.
#[derive(Debug, Default)]
pub(crate) struct Disputes {
    /// The calls whose entries were refused alone since an entry was accepted, at most [`SEVERAL`] of them.
    origins: Vec<u64>,
    /// When the first of these entries was refused.
    since: Option<Instant>,
    /// When the newest of the calls left of which something was accepted.
    accepted_at: Option<Instant>,
}

/// What is known of an entry that was refused alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// The entry is at fault.
    OfEntry,
    /// All calls are refused.
    OfAll,
    /// Not known yet.
    Open,
}

impl Disputes {
    /// Evaluates the answer of a call. Returns what is known of its entry, if the entry was refused alone and the answer
    /// leaves open why.
    pub(crate) fn answered<E>(&mut self, settled: &Settled<E>, now: Instant) -> Option<Ruling> {
        let sent_at = Instant::from_std(settled.outcome.sent_at);
        if settled.outcome.accepted > 0 {
            self.origins.clear();
            self.since = None;
            self.accepted_at = self.accepted_at.max(Some(sent_at));
        }
        let state = &settled.disputed.as_ref()?.state;
        let origin = settled.bisection.as_ref().map_or(state.position, Bisection::origin);
        Some(self.rule(state, origin, sent_at, now))
    }

    /// Whether a delivery that has delivered nothing stops for this reason, which is not known to be that of single entries.
    ///
    /// The service's own code does not change within seconds. An answer that leaves entries in doubt is not from the service,
    /// but from something in between, and may be that of a restart.
    pub(crate) fn stops(&self, fault: &Fault, now: Instant) -> bool {
        !fault.is_ambiguous() || self.since.is_some_and(|since| now - since >= LASTS)
    }

    /// An entry of the call `origin` was refused alone, in a call that left at `sent_at`.
    fn rule<E>(&mut self, state: &EntryState<E>, origin: u64, sent_at: Instant, now: Instant) -> Ruling {
        let history = state.history.as_ref();
        let since = history.and_then(|history| history.disputed_since).unwrap_or(sent_at);
        if self.accepted_at > Some(since) {
            return Ruling::OfEntry;
        }
        self.since.get_or_insert(now);
        if since == sent_at && self.origins.len() < SEVERAL && !self.origins.contains(&origin) {
            self.origins.push(origin);
        }
        if self.origins.len() >= SEVERAL {
            Ruling::OfAll
        } else if self.accepted_at.is_some() && now - since >= LASTS {
            Ruling::OfEntry
        } else {
            Ruling::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    fn refused(disputes: &mut Disputes, state: &mut EntryState<()>, origin: u64, sent_at: Instant) -> Ruling {
        let history = state.failed(sent_at, Fault::new("AccessDeniedException"));
        history.disputed_since.get_or_insert(sent_at);
        disputes.rule(state, origin, sent_at, sent_at + MOMENT)
    }

    #[test]
    fn an_entry_is_at_fault_when_it_is_refused_again_after_another_was_accepted() {
        let start = Instant::now();
        let mut disputes = Disputes::default();
        let mut state = EntryState::new(0, 1);
        disputes.accepted_at = Some(start);
        assert_eq!(refused(&mut disputes, &mut state, 0, start + MOMENT), Ruling::Open);
        assert_eq!(refused(&mut disputes, &mut state, 0, start + 2 * MOMENT), Ruling::Open);
        disputes.accepted_at = Some(start + 3 * MOMENT);
        assert_eq!(
            refused(&mut disputes, &mut state, 0, start + 4 * MOMENT),
            Ruling::OfEntry
        );
    }

    #[test]
    fn entries_of_several_calls_are_refused_for_a_reason_that_they_share() {
        let start = Instant::now();
        let mut disputes = Disputes::default();
        for (position, origin, ruling) in [
            (0, 0, Ruling::Open),
            (1, 0, Ruling::Open),
            (2, 0, Ruling::Open),
            (25, 25, Ruling::Open),
            (50, 50, Ruling::OfAll),
            (75, 75, Ruling::OfAll),
        ] {
            let mut state = EntryState::new(position, 1);
            assert_eq!(refused(&mut disputes, &mut state, origin, start), ruling, "{position}");
        }
    }

    #[test]
    fn an_entry_without_others_to_compare_it_with_is_at_fault_after_some_seconds() {
        let start = Instant::now();
        let mut disputes = Disputes {
            accepted_at: Some(start),
            ..Disputes::default()
        };
        let mut state = EntryState::new(0, 1);
        let first = start + MOMENT;
        for (sent_at, ruling) in [
            (first, Ruling::Open),
            (first + LASTS / 2, Ruling::Open),
            (first + LASTS, Ruling::OfEntry),
        ] {
            assert_eq!(refused(&mut disputes, &mut state, 0, sent_at), ruling);
        }
    }
}
