//! Entries that were refused alone by an answer that leaves open whether the entry or all calls are at fault.
//!
//! Meanwhile they wait in `retry::disputed`.

use std::time::Duration;

use tokio::time::Instant;

use crate::contract::Fault;
use crate::engine::calls::EndedCall;
use crate::engine::entry::EntryState;
use crate::engine::retry::Bisection;

/// Single entries of this many calls that were refused in a row, and nothing was accepted in between: then the reason is one that
/// all calls share. Two may be neighbours that are at fault both, at the border between two calls.
const SEVERAL: usize = 3;

/// How long an entry is sent again while it is refused and no other entry is there to compare it with. Refusals that lie further
/// apart have no common reason. Errors that all calls
/// share for some moments come from restarts and configuration changes of what lies between, which take seconds.
const LASTS: Duration = Duration::from_secs(5);

/// Whether refusals are those of single entries, or of all calls of the moment.
///
/// What one entry has alone is the entry's: it is refused while others are accepted. What most calls of the moment share is the
/// state of the service or of the caller: nothing is accepted, whatever is sent.
#[derive(Debug, Default)]
pub(crate) struct Disputes {
    /// The calls whose entries were refused alone since an entry was accepted, each with the last time, within [`LASTS`].
    origins: Vec<(u64, Instant)>,
    /// When an entry was refused alone first since an entry was accepted.
    since: Option<Instant>,
    /// When the newest of the calls left of which something was accepted.
    accepted_at: Option<Instant>,
}

/// Why an entry was refused alone, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The entry is at fault.
    Entry,
    /// All calls are refused.
    AllCalls,
    /// Not known yet.
    Unknown,
}

impl Disputes {
    /// Evaluates the answer of a call. Returns what is known of its entry, if the entry was refused alone and the answer
    /// leaves open why. `is_only` says whether there is nothing else to send.
    pub(crate) fn answered<E>(&mut self, settled: &EndedCall<E>, is_only: bool, now: Instant) -> Option<Blame> {
        let sent_at = Instant::from_std(settled.outcome.sent_at);
        if settled.outcome.accepted > 0 {
            self.origins.clear();
            self.since = None;
            self.accepted_at = self.accepted_at.max(Some(sent_at));
        }
        let state = &settled.disputed.as_ref()?.state;
        let origin = settled.bisection.as_ref().map_or(state.position, Bisection::origin);
        Some(self.rule(state, origin, sent_at, is_only, now))
    }

    /// Whether all calls are refused, judging by the last ones.
    pub(crate) fn are_of_all(&self) -> bool {
        self.origins.len() >= SEVERAL
    }

    /// Whether a delivery that has delivered nothing stops for this reason, which is not known to be that of single entries.
    /// `is_all` says whether there is nothing else that could be accepted.
    ///
    /// The service's own code does not change within seconds. An answer that leaves entries in doubt is not from the service,
    /// but from something in between, and may be that of a restart.
    pub(crate) fn stops(&self, fault: &Fault, is_all: bool, now: Instant) -> bool {
        let has_lasted = self.since.is_some_and(|since| now - since >= LASTS);
        has_lasted || (is_all && !fault.is_ambiguous())
    }

    /// An entry of the call `origin` was refused alone, in a call that left at `sent_at`.
    fn rule<E>(&mut self, state: &EntryState<E>, origin: u64, sent_at: Instant, is_only: bool, now: Instant) -> Blame {
        let history = state.history.as_ref();
        let since = history.and_then(|history| history.disputed_since).unwrap_or(now);
        let fault = history.and_then(|history| history.fault.as_ref());
        // Something in between may refuse an entry several times by chance: one of two proxies, for example.
        let is_of_service = fault.is_some_and(|fault| !fault.is_ambiguous());
        let has_lasted = now - since >= LASTS;
        let is_again = since < sent_at;
        if is_again && self.accepted_at > Some(since) && (is_of_service || has_lasted) {
            return Blame::Entry;
        }
        self.since.get_or_insert(now);
        self.origins.retain(|(other, at)| *other != origin && now - *at < LASTS);
        self.origins.push((origin, now));
        let is_comparable = self.are_of_all() && !is_only;
        if is_again && has_lasted && is_of_service && self.accepted_at.is_some() && !is_comparable {
            self.origins.pop();
            Blame::Entry
        } else if self.are_of_all() {
            Blame::AllCalls
        } else {
            Blame::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    /// The entry is refused in a call that leaves at this moment.
    fn refused(disputes: &mut Disputes, state: &mut EntryState<()>, origin: u64, sent_at: Instant) -> Blame {
        let answered_at = sent_at + MOMENT;
        let history = state.failed(sent_at, Fault::new("AccessDeniedException"));
        history.disputed_since.get_or_insert(answered_at);
        disputes.rule(state, origin, sent_at, false, answered_at)
    }

    #[test]
    fn an_entry_is_at_fault_when_it_is_refused_again_after_another_was_accepted() {
        let start = Instant::now();
        let mut disputes = Disputes::default();
        let mut state = EntryState::new(0, 1);
        // Accepted at the same time, in a call that left later.
        disputes.accepted_at = Some(start + MOMENT / 2);
        assert_eq!(refused(&mut disputes, &mut state, 0, start), Blame::Unknown);
        assert_eq!(
            refused(&mut disputes, &mut state, 0, start + 2 * MOMENT),
            Blame::Unknown
        );
        disputes.accepted_at = Some(start + 3 * MOMENT);
        assert_eq!(refused(&mut disputes, &mut state, 0, start + 4 * MOMENT), Blame::Entry);
    }

    #[test]
    fn entries_of_several_calls_are_refused_for_a_reason_that_they_share() {
        let start = Instant::now();
        let mut disputes = Disputes::default();
        for (position, origin, ruling) in [
            (0, 0, Blame::Unknown),
            (1, 0, Blame::Unknown),
            (2, 0, Blame::Unknown),
            (25, 25, Blame::Unknown),
            (50, 50, Blame::AllCalls),
            (75, 75, Blame::AllCalls),
        ] {
            let mut state = EntryState::new(position, 1);
            assert_eq!(refused(&mut disputes, &mut state, origin, start), ruling, "{position}");
        }
    }

    #[test]
    fn refusals_of_several_calls_that_lie_far_apart_do_not_add_up() {
        let start = Instant::now();
        let mut disputes = Disputes::default();
        for number in 0..10_u32 {
            let mut state = EntryState::new(u64::from(number), 1);
            let sent_at = start + number * LASTS;
            assert_eq!(
                refused(&mut disputes, &mut state, u64::from(number), sent_at),
                Blame::Unknown
            );
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
            (first, Blame::Unknown),
            (first + LASTS / 2, Blame::Unknown),
            (first + LASTS, Blame::Entry),
        ] {
            assert_eq!(refused(&mut disputes, &mut state, 0, sent_at), ruling);
        }
    }
}
