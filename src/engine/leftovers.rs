//! What becomes of a call's entries that were not accepted.

use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::cases::Case;
use super::deliver::Delivering;
use super::ending::Ending;
use super::input::Input;
use super::rests::Rests;
use super::settle::Settled;
use super::setup;
use super::slots::{Slot, later};
use super::ticket::{Chunk, Ticketed};
use crate::report::Cause;
use crate::target::{BatchTarget, Fault, Rejection};

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    /// Books what a call came to, and sends its leftovers to rest. Returns why the delivery has to end, if it has to.
    pub(super) fn settle(&mut self, mut settled: Settled<T::Entry>) -> Option<Ending> {
        let now = Instant::now();
        self.book(&settled);
        let stop = settled.stop.clone().or_else(|| self.setup_fault(&settled, now));
        if let Some(fault) = stop {
            let ending = Ending::Stopped(fault);
            self.hand_back(settled, &ending);
            return Some(ending);
        }
        if !settled.left.is_empty() && !settled.rejected.is_empty() {
            self.lanes.be_wary();
        }
        for lane in settled.left.drain(..) {
            self.leave(Some(lane));
        }
        for (entry, fault) in settled.refused.drain(..) {
            self.leave(entry.ticket.lane);
            self.ledger.hand_back(entry, Cause::Refused(fault));
        }
        let mut rests = Rests::default();
        let mut again = Vec::with_capacity(settled.rejected.len());
        for (entry, rejection) in settled.rejected.drain(..) {
            let retry = entry.ticket.retry;
            let least = if rejection == Rejection::Setup {
                setup::REST
            } else {
                Duration::ZERO
            };
            let rest = rests.before(retry, |retry| self.options.gate.rest(retry).max(least));
            again.extend(self.try_again(entry, rest, now));
        }
        let nothing_accepted = settled.outcome.accepted == 0;
        // A few entries rejected among many accepted ones are their own affair: a hot key must not hold up its worker.
        let slot_rests = nothing_accepted || settled.outcome.throttled * 2 >= settled.outcome.sent;
        let rest = if slot_rests { rests.shortest() } else { Duration::ZERO };
        let pause = self.options.gate.pause();
        self.slots.put(Slot::after_call(now, rest.max(pause)));

        match (settled.disputed, settled.case) {
            (Some(chunk), case) => self.dispute(chunk, case.unwrap_or_else(Case::new)),
            // As long as nothing is accepted, nobody knows whether the chunk as such would be refused.
            (None, Some(case)) if nothing_accepted || !case.is_empty() => self.rest_together(again, case),
            (None, _) => self.rest(again),
        }
        None
    }

    /// Tells the ledger what a call came to.
    pub(super) fn book(&mut self, settled: &Settled<T::Entry>) {
        let outcome = &settled.outcome;
        debug!(
            sent = outcome.sent,
            accepted = outcome.accepted,
            throttled = outcome.throttled,
            failed = outcome.failed,
            refused = outcome.refused,
            "call answered"
        );
        self.ledger.call_ended(outcome);
    }

    /// The fault, when calls could not be made once too often.
    fn setup_fault(&mut self, settled: &Settled<T::Entry>, now: Instant) -> Option<Fault> {
        let Some(fault) = settled.setup_fault() else {
            self.setup_failures.succeeded();
            return None;
        };
        let sent_at = settled.outcome.sent_at.into();
        self.setup_failures.failed(sent_at, now).then(|| fault.clone())
    }

    /// Until when a rejected entry has to rest. It is handed back instead when its retries or its time are used up.
    fn try_again(
        &mut self,
        mut entry: Ticketed<T::Entry>,
        rest: Duration,
        now: Instant,
    ) -> Option<(Instant, Ticketed<T::Entry>)> {
        if self.is_outdated(&entry) {
            self.leave(entry.ticket.lane);
            self.ledger.superseded(entry);
            return None;
        }
        let ticket = &mut entry.ticket;
        let until = later(now, rest);
        let out_of_retries = self.options.retries.is_some_and(|retries| ticket.rejections > retries);
        let out_of_time = ticket
            .expiry(self.options.give_up_after)
            .is_some_and(|expiry| until >= expiry);
        if !out_of_retries && !out_of_time {
            ticket.retry = ticket.retry.after(rest);
            return Some((until, entry));
        }
        let fault = ticket.fault.take().unwrap_or_else(|| Fault::new("rejected"));
        let cause = if out_of_retries {
            Cause::RetriesUsedUp(fault)
        } else {
            Cause::TimeUsedUp(fault)
        };
        self.leave(entry.ticket.lane);
        self.ledger.hand_back(entry, cause);
        None
    }

    /// Lets rejected entries rest, each for itself. Of a lane only the first one rests; the others are held behind it.
    fn rest(&mut self, rejected: Vec<(Instant, Ticketed<T::Entry>)>) {
        for (until, entry) in rejected.into_iter().rev() {
            self.ledger.waits();
            if let Some(first) = self.lanes.put_back(entry) {
                self.waiting.rest(until, first);
            }
        }
    }

    /// Lets the rejected entries of a case rest, all of them for as long as the one that needs it most.
    fn rest_together(&mut self, rejected: Vec<(Instant, Ticketed<T::Entry>)>, mut case: Case<T::Entry>) {
        let until = rejected.iter().map(|(until, _)| *until).max();
        let mut chunk = Chunk::with_capacity(rejected.len());
        for (_, entry) in rejected {
            self.ledger.waits();
            chunk.push(entry);
        }
        case.again(chunk);
        self.cases.put(case, until);
    }

    /// A call was refused as a whole: looks for the entries that are at fault.
    fn dispute(&mut self, chunk: Chunk<T::Entry>, mut case: Case<T::Entry>) {
        debug!(entries = chunk.len(), "call refused as a whole: halved");
        (0..chunk.len()).for_each(|_| self.ledger.waits());
        case.halve(chunk);
        self.cases.put(case, None);
    }
}
