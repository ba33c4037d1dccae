//! What becomes of a call's entries that were not accepted.

use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::bisection::Bisection;
use super::call_pool::KEPT;
use super::delivering::Delivering;
use super::ending::Ending;
use super::input::Input;
use super::rests::Rests;
use super::settle::Settled;
use super::slots::{Slot, later};
use super::tracked_entry::{Chunk, TrackedEntry};
use crate::events::CALL;
use crate::report::Cause;
use crate::targets::{BatchTarget, Fault, Rejection, ThrottlingReason};

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    /// Books what a call came to, and sends its leftovers to rest. Returns why the delivery has to end, if it has to.
    pub(super) fn settle(&mut self, mut settled: Settled<T::Entry>) -> Option<Ending> {
        let now = Instant::now();
        self.book(&settled);
        let stop = settled.stop.clone();
        let stop = stop
            .or_else(|| self.hear_of_setup(&settled, now))
            .or_else(|| self.shared_fault(&settled));
        if let Some(fault) = stop {
            let ending = Ending::Stopped(fault);
            self.hand_back(settled, &ending);
            return Some(ending);
        }
        if !settled.left.is_empty() && !settled.rejected.is_empty() {
            self.lanes.be_wary();
        }
        if self.emptied.len() < KEPT {
            self.emptied.extend(settled.emptied.take());
        }
        for lane in settled.left.drain(..) {
            self.leave(Some(lane));
        }
        for (entry, fault) in settled.refused.drain(..) {
            self.leave(entry.state.lane);
            self.ledger.hand_back(entry, Cause::Refused(fault));
        }
        let mut rests = Rests::default();
        let mut again = Vec::with_capacity(settled.rejected.len());
        for (entry, rejection) in settled.rejected.drain(..) {
            let retry = entry.state.retry();
            let is_hot = rejection.is_throttle() && entry.state.key.is_some_and(|key| self.options.gate.is_hot(key));
            let rest = if rejection.is_unsent() || is_hot {
                // It waits for the next probe with all others, or in the line of its key.
                Duration::ZERO
            } else {
                rests.before(retry, |retry| self.options.gate.rest(retry))
            };
            again.extend(self.try_again(entry, rest, now));
        }
        let nothing_accepted = settled.outcome.accepted == 0;
        // A few entries rejected among many accepted ones are their own affair: a hot key must not hold up its worker.
        let slot_rests = nothing_accepted || settled.outcome.throttled * 2 >= settled.outcome.sent;
        let rest = if slot_rests { rests.shortest() } else { Duration::ZERO };
        let pause = self.options.gate.pause();
        self.slots.put(Slot::after_call(now, rest.max(pause)));

        match (settled.disputed, settled.bisection) {
            (Some(chunk), bisection) => self.dispute(chunk, bisection.unwrap_or_else(Bisection::new)),
            (None, Some(bisection)) => self.go_on(bisection, again, !nothing_accepted),
            (None, None) => self.rest(again),
        }
        None
    }

    /// Tells the ledger what a call came to.
    pub(super) fn book(&mut self, settled: &Settled<T::Entry>) {
        let outcome = &settled.outcome;
        let reasons = settled.throttling_reasons();
        debug!(
            target: CALL,
            destination = self.watch.destination(),
            sent = outcome.sent,
            accepted = outcome.accepted,
            throttled = outcome.throttled,
            failed = outcome.failed,
            refused = outcome.refused,
            throttled_by = in_words(&reasons),
            "call answered"
        );
        self.ledger.call_ended(outcome, &reasons);
        self.watch.call_ended(settled);
    }

    /// Learns whether calls can be made. Returns the fault, when none can.
    ///
    /// A delivery that has delivered something has been configured well, so that it waits.
    fn hear_of_setup(&mut self, settled: &Settled<T::Entry>, now: Instant) -> Option<Fault> {
        let sent_at = settled.outcome.sent_at.into();
        match settled.first_rejection() {
            Some((Rejection::Unconfigured, fault)) if self.ledger.delivered() == 0 => return Some(fault.clone()),
            Some((rejection, fault)) if rejection.is_unsent() => self.setup.failed(sent_at, now, fault),
            // A call without an answer may not have been made, and tells only that the next one has to find out.
            Some((Rejection::Connection, fault)) if self.setup.most() == 1 => self.setup.failed(sent_at, now, fault),
            Some((Rejection::Connection, _)) => {}
            _ => self.setup.made(sent_at),
        }
        None
    }

    /// The fault, when so many entries were refused alone that all the others would be as well.
    fn shared_fault(&mut self, settled: &Settled<T::Entry>) -> Option<Fault> {
        if settled.outcome.accepted > 0 {
            self.refusals.accepted();
        }
        let fault = settled.refused_alone.as_ref()?;
        self.refusals.refused_alone().then(|| fault.clone())
    }

    /// Until when a rejected entry has to rest. It is handed back instead when its retries or its time are used up.
    fn try_again(
        &mut self,
        mut entry: TrackedEntry<T::Entry>,
        rest: Duration,
        now: Instant,
    ) -> Option<(Instant, TrackedEntry<T::Entry>)> {
        if self.is_outdated(&entry) {
            self.leave(entry.state.lane);
            self.ledger.superseded(entry);
            return None;
        }
        let state = &mut entry.state;
        let until = later(now, rest);
        let out_of_retries = self.options.retries.is_some_and(|retries| state.rejections() > retries);
        let out_of_time = state
            .expiry(self.options.patience())
            .is_some_and(|expiry| until >= expiry);
        if !out_of_retries && !out_of_time {
            if let Some(history) = &mut state.history {
                history.retry = history.retry.after(rest);
            }
            return Some((until, entry));
        }
        let fault = state.take_fault().unwrap_or_else(|| Fault::new("rejected"));
        let cause = if out_of_retries {
            Cause::RetriesUsedUp(fault)
        } else {
            Cause::TimeUsedUp(fault)
        };
        self.leave(entry.state.lane);
        self.ledger.hand_back(entry, cause);
        None
    }

    /// Lets rejected entries rest, each for itself. Of a lane only the first one rests; the others are held behind it.
    fn rest(&mut self, rejected: Vec<(Instant, TrackedEntry<T::Entry>)>) {
        for (until, entry) in rejected.into_iter().rev() {
            self.ledger.waits();
            let Some(first) = self.lanes.put_back(entry) else {
                continue;
            };
            let rests = until > Instant::now();
            match first.state.key.filter(|key| !rests && self.options.gate.is_hot(*key)) {
                Some(key) => self.key_lines.push(key, true, first),
                None => self.retry_queue.rest(until, first),
            }
        }
    }

    /// A part of a bisection was not refused: the bisection goes on, without those that were rejected.
    ///
    /// If some of the part was accepted, the rejected entries are not at fault and leave the bisection. As long as none of it is
    /// accepted, it is not known whether it would be refused, so that it must not share a call with others; and entries that
    /// must not pass it wait behind it.
    fn go_on(
        &mut self,
        mut bisection: Bisection<T::Entry>,
        rejected: Vec<(Instant, TrackedEntry<T::Entry>)>,
        accepted: bool,
    ) {
        let is_free = |entry: &TrackedEntry<T::Entry>| accepted && !bisection.has_behind(&entry.state);
        let (free, bound): (Vec<_>, Vec<_>) = rejected.into_iter().partition(|(_, entry)| is_free(entry));
        let until = bound.iter().map(|(until, _)| *until).max();
        let mut first = Chunk::with_capacity(bound.len());
        for (_, entry) in bound {
            self.ledger.waits();
            first.push(entry);
        }
        let mut behind = bisection.take_behind(&first);
        behind.again(first);
        self.bisections.put(behind, until);
        self.bisections.put(bisection, None);
        self.rest(free);
    }

    /// A call was refused as a whole: looks for the entries that are at fault.
    fn dispute(&mut self, chunk: Chunk<T::Entry>, mut bisection: Bisection<T::Entry>) {
        let destination = self.watch.destination();
        debug!(target: CALL, destination, entries = chunk.len(), "call refused as a whole: halved");
        (0..chunk.len()).for_each(|_| self.ledger.waits());
        bisection.halve(chunk);
        self.bisections.put(bisection, None);
    }
}

/// The reasons in one text, if there are any.
fn in_words(reasons: &[&ThrottlingReason]) -> Option<String> {
    let mut words = String::new();
    let written = ThrottlingReason::write_all(reasons.iter().copied(), &mut words);
    written.ok().filter(|()| !words.is_empty()).map(|()| words)
}
