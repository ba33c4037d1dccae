//! The end of a delivery before everything is delivered.

use std::pin::pin;

use tokio::time::sleep;

use super::bisection::Bisection;
use super::delivering::Delivering;
use super::hand_backs::take_back;
use super::input::Input;
use super::settle::Settled;
use super::tracked_entry::{Chunk, TrackedEntry};
use crate::report::Cause;
use crate::targets::{BatchTarget, Fault};

/// Entries of the input that are handed back together when a delivery ends early.
const HANDED_BACK_TOGETHER: usize = 1_000;

/// Why a delivery ends before everything is delivered.
pub(crate) enum Ending {
    Cancelled,
    DeadlineReached,
    Stopped(Fault),
    /// No call could be made for as long as an entry may be tried.
    OutOfTime(Fault),
}

impl Ending {
    /// The cause for an entry whose last rejection was `last`.
    pub(crate) fn cause(&self, last: Option<Fault>) -> Cause {
        match self {
            Self::Cancelled => Cause::Cancelled(last),
            Self::DeadlineReached => Cause::DeadlineReached(last),
            Self::Stopped(fault) => Cause::Stopped(fault.clone()),
            Self::OutOfTime(fault) => Cause::TimeUsedUp(last.unwrap_or_else(|| fault.clone())),
        }
    }
}

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    /// Waits for the calls in flight, which have the grace to end.
    pub(super) async fn await_in_flight(&mut self, ending: &Ending) {
        let mut grace = pin!(sleep(self.options.grace));
        while !self.calls.is_empty() {
            tokio::select! {
                biased;
                Some(settled) = self.calls.next() => {
                    self.book(&settled);
                    self.hand_back(settled, ending);
                }
                () = &mut grace, if !self.calls.are_given_up() => self.calls.give_up(),
            }
        }
    }

    /// Hands back all of a call that was not accepted, after the end was ordered.
    pub(super) fn hand_back(&mut self, settled: Settled<T::Entry>, ending: &Ending) {
        for (entry, fault) in settled.refused {
            let cause = match &settled.stop {
                Some(stop) => Cause::Stopped(stop.clone()),
                None => Cause::Refused(fault),
            };
            self.ledger.hand_back(entry, cause);
        }
        let disputed = settled.disputed.into_iter().flat_map(Chunk::into_tracked);
        for entry in settled.rejected.into_iter().map(|(entry, _)| entry).chain(disputed) {
            self.give_back(entry, ending);
        }
        for entry in settled.bisection.into_iter().flat_map(Bisection::into_entries) {
            self.ledger.waits_no_more();
            self.give_back(entry, ending);
        }
    }

    /// Hands back what was not in flight when the end was ordered, to the last entry of the input.
    pub(super) async fn hand_back_the_rest(&mut self, ending: &Ending) {
        let waiting = self.retry_queue.take_all();
        for entry in waiting.chain(self.bisections.take_all()) {
            self.ledger.waits_no_more();
            self.give_back(entry, ending);
        }
        for entry in self.key_lines.take_all() {
            if entry.state.history.is_some() {
                self.ledger.waits_no_more();
            }
            self.give_back(entry, ending);
        }
        for entry in self.fresh.take_all() {
            self.give_back(entry, ending);
        }
        while let Some(entry) = self.fresh.pop_unread() {
            self.give_back(entry, ending);
            self.await_hand_backs().await;
        }
        for entry in self.lanes.take_all() {
            if entry.state.history.is_some() {
                self.ledger.waits_no_more();
            }
            self.give_back(entry, ending);
        }
    }

    /// Hands back at once what receipts and handlers wait for.
    pub(super) fn hand_back_awaited(&mut self) {
        let awaited = self.ledger.take_awaited();
        self.hand_backs
            .begin(&self.target, awaited, self.options.attempt_timeout);
    }

    /// Waits until there is memory for more entries on their way back.
    async fn await_hand_backs(&mut self) {
        if self.ledger.awaited() >= HANDED_BACK_TOGETHER {
            self.hand_back_awaited();
        }
        while self.hand_backs.len() >= self.options.read_ahead
            || self.hand_backs.bytes() >= self.options.read_ahead_bytes
        {
            self.unheard.extend(self.hand_backs.next().await.into_iter().flatten());
        }
    }

    /// Makes everything ready to be handed back.
    pub(super) async fn take_back(&mut self, ended_early: bool) {
        let patience = if ended_early {
            self.options.grace
        } else {
            self.options.attempt_timeout
        };
        let awaited = self.ledger.take_awaited();
        self.hand_backs.begin(&self.target, awaited, patience);
        take_back(&*self.target, self.ledger.undelivered(), patience).await;
        let unheard = self.hand_backs.end(patience).await;
        self.ledger.undelivered().extend(self.unheard.drain(..).chain(unheard));
    }

    fn give_back(&mut self, mut entry: TrackedEntry<T::Entry>, ending: &Ending) {
        if self.is_outdated(&entry) {
            return self.ledger.superseded(entry);
        }
        let last = entry.state.take_fault();
        self.ledger.hand_back(entry, ending.cause(last));
    }
}
