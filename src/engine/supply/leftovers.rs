//! What a call did not deliver, and entries whose time is used up: they wait for their retry, or are handed back.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Supply;
use crate::contract::{Fault, Rejection};
use crate::engine::calls::EndedCall;
use crate::engine::entry::{Chunk, EntryState, TrackedEntry};
use crate::engine::health::{Blame, Findings, Outage};
use crate::engine::outcome::Ledger;
use crate::engine::retry::{Bisection, Decision, RetryDecisions, Search};
use crate::report::Cause;

/// How many empty chunks are kept after a burst of calls.
const KEPT: usize = 64;

impl<E: Send + Sync + 'static> Supply<'_, E> {
    /// A call is over: its leftovers wait for their retry, or are handed back. Returns how long the slot of the call stays
    /// empty.
    pub(in crate::engine) fn settle(
        &mut self,
        mut settled: EndedCall<E>,
        findings: Findings,
        now: Instant,
        ledger: &mut Ledger<E>,
        outage: Option<Outage<'_>>,
    ) -> Duration {
        let is_accepted = settled.outcome.accepted > 0;
        if is_accepted {
            let sent_at = settled.outcome.sent_at.into();
            let bisections = &mut self.backlog.bisections;
            bisections.accepted(sent_at, findings.all_were_refused, now);
        }
        self.sizes.answered(settled.bytes, is_accepted, settled.is_too_large());
        // Of those whose lanes are not known, the service finds two of one lane before it accepts any of a call.
        if settled.left.iter().any(|lane| lane.may_be_split()) && !settled.rejected.is_empty() {
            self.backlog.lanes.stop_sharing();
        }
        if self.emptied.len() < KEPT {
            self.emptied.extend(settled.emptied.take());
        }
        for lane in settled.left.drain(..) {
            self.leave(Some(lane));
        }
        for (entry, fault) in settled.refused.drain(..) {
            self.leave(entry.state.lane);
            ledger.hand_back(entry, Cause::Refused(fault));
        }
        if let Some(entry) = settled.disputed.take() {
            let bisection = settled.bisection.take();
            settled.bisection = self.settle_disputed(entry, bisection, findings.blame, now, ledger);
        }
        let options = Arc::clone(&self.options);
        let mut retries = RetryDecisions::of_call(&options, now);
        let again = self.decide(&mut retries, settled.rejected, now, ledger, outage);
        let delay = retries.slot_delay(&settled.outcome);
        ledger.wait(again.len() + settled.refused_chunk.as_ref().map_or(0, Chunk::len));
        let of_chunk = settled.refused_chunk.iter().flat_map(|chunk| &chunk.states);
        let of_bisection = settled.bisection.iter().flat_map(Bisection::states);
        let waiting = again.iter().map(|(_, entry)| &entry.state);
        for state in waiting.chain(of_chunk).chain(of_bisection) {
            self.expiries.note(state, &options);
        }
        match (settled.refused_chunk, settled.bisection) {
            (Some(chunk), bisection) => self.backlog.bisect(chunk, bisection),
            (None, Some(bisection)) => self.backlog.continue_bisection(bisection, again, is_accepted),
            (None, None) => self.backlog.retry_later(again),
        }
        delay
    }

    /// An entry was refused alone: it is handed back if it is known to be at fault or may not be sent again, and waits otherwise. Returns the rest of
    /// its bisection if that does not wait.
    fn settle_disputed(
        &mut self,
        mut entry: TrackedEntry<E>,
        bisection: Option<Bisection<E>>,
        blame: Option<Blame>,
        now: Instant,
        ledger: &mut Ledger<E>,
    ) -> Option<Bisection<E>> {
        let retries = self.options.retries;
        let out_of_retries = retries.is_some_and(|retries| entry.state.rejections() > retries);
        if blame != Some(Blame::Entry) && !out_of_retries {
            ledger.wait(1);
            let behind = bisection.iter().flat_map(Bisection::states);
            for state in behind.chain([&entry.state]) {
                self.expiries.note(state, &self.options);
            }
            self.backlog.dispute(entry, bisection, now);
            return None;
        }
        self.leave(entry.state.lane);
        let fault = entry.state.take_fault().unwrap_or_else(|| Fault::new("refused"));
        let cause = if out_of_retries {
            Cause::RetriesUsedUp
        } else {
            Cause::Refused
        };
        ledger.hand_back(entry, cause(fault));
        bisection
    }

    /// Decides for each rejected entry. Returns those that are sent again, each with the moment of its retry.
    fn decide(
        &mut self,
        retries: &mut RetryDecisions<'_>,
        rejected: Vec<(TrackedEntry<E>, Rejection)>,
        now: Instant,
        ledger: &mut Ledger<E>,
        outage: Option<Outage<'_>>,
    ) -> Vec<(Instant, TrackedEntry<E>)> {
        let mut again = Vec::with_capacity(rejected.len());
        for (mut entry, rejection) in rejected {
            let is_followed = self.backlog.lanes.held_in(entry.state.lane) > 0;
            if let Some(history) = &mut entry.state.history {
                history.is_followed = is_followed;
            }
            let decision = retries.decide(&mut entry.state, rejection);
            if self.is_superseded(&entry) {
                self.leave(entry.state.lane);
                ledger.superseded(entry);
                continue;
            }
            let cause = match decision {
                Decision::Again(until) => {
                    again.push((until, entry));
                    continue;
                }
                Decision::RetriesUsedUp => {
                    let fault = entry.state.take_fault();
                    Cause::RetriesUsedUp(fault.unwrap_or_else(|| Fault::new("rejected")))
                }
                Decision::TimeUsedUp => Outage::time_used_up(outage, &mut entry.state, now),
            };
            self.leave(entry.state.lane);
            ledger.hand_back(entry, cause);
        }
        again
    }

    /// Hands back the entries whose time is used up.
    pub(in crate::engine) fn give_up_expired(
        &mut self,
        now: Instant,
        ledger: &mut Ledger<E>,
        outage: Option<Outage<'_>>,
    ) {
        if self.is_patient || !self.expiries.is_due(now) {
            return;
        }
        let options = Arc::clone(&self.options);
        let mut search = Search::at(now, &options);
        let patience = options.patience();
        let has_waited = |state: &EntryState<E>| {
            let expiry = state.arrived.and_then(|arrived| arrived.checked_add(patience));
            expiry.is_some_and(|expiry| expiry <= now)
        };
        let held = self.backlog.lanes.take_if(|entry| search.finds(&entry.state));
        let mut expired = self.backlog.take_expired(|state| search.finds(state), has_waited);
        expired.extend(self.fresh.take_if(|state| search.finds(state)));
        self.expiries.searched(&search);
        for entry in held {
            ledger.give_up(entry, now, outage);
        }
        for entry in expired {
            let is_superseded = self.is_superseded(&entry);
            self.leave(entry.state.lane);
            if is_superseded {
                ledger.no_longer_waits(&entry.state);
                ledger.superseded(entry);
            } else {
                ledger.give_up(entry, now, outage);
            }
        }
    }
}
