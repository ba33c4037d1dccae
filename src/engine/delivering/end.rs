//! The end of a delivery: why it ends early; calls in flight are awaited, and what is not delivered is handed back.

use std::future::{pending, poll_fn};
use std::pin::pin;

use futures::FutureExt;
use tokio::task::consume_budget;
use tokio::time::Instant;

use super::DeliveryLoop;
use crate::engine::calls::EndedCall;
use crate::engine::entry::{Chunk, TrackedEntry};
use crate::engine::outcome::DeliveryEnd;
use crate::engine::retry::Bisection;
use crate::options::DeliveryOptions;
use crate::report::Cause;
use crate::time_limit::passed;

impl<E: Send + Sync + 'static> DeliveryLoop<'_, E> {
    /// Why the delivery has to end now, if it has to.
    pub(super) fn ordered_end(&self, now: Instant) -> Option<DeliveryEnd> {
        if self.options.cancellation.is_cancelled() {
            return Some(DeliveryEnd::Cancelled);
        }
        if let Some(fault) = self.supply.fault().or(self.options.gate.strategy.fault()) {
            return Some(DeliveryEnd::Stopped(fault.clone()));
        }
        if self.options.deadline.is_some_and(|deadline| deadline <= now) {
            return Some(DeliveryEnd::DeadlineReached);
        }
        let outage = self.health.outage().filter(|_| !self.is_patient(now))?;
        (self.outage_ends()? <= now).then(|| DeliveryEnd::Outage {
            lasted: now - outage.since,
            fault: outage.fault.clone(),
        })
    }

    /// Until when the delivery continues while nothing is accepted; `None` without a limit, or if it has nothing to try. In a
    /// producer each entry has a limit of its own.
    pub(super) fn outage_ends(&self) -> Option<Instant> {
        let since = self.health.outage()?.since;
        if self.options.counts_from_hand_over {
            return None;
        }
        let ends = since.checked_add(self.options.patience())?;
        let (in_flight, waiting) = self.ledger.underway();
        if waiting > 0 || self.supply.may_send_soon() {
            return Some(ends);
        }
        // Calls in flight end by themselves, unless their timeouts have grown.
        let is_last = in_flight > 0;
        is_last.then(|| ends.checked_add(self.options.attempt_timeout))?
    }

    /// Hands back everything that is not delivered. Returns why the delivery has ended early, if it has.
    pub(super) async fn end(&mut self, ending: Option<DeliveryEnd>) -> Option<DeliveryEnd> {
        let ending = match (ending, self.supply.fresh.stop()) {
            (Some(DeliveryEnd::Cancelled), Some(fault)) => Some(DeliveryEnd::Stopped(fault)),
            (ending, _) => ending,
        };
        if let Some(ending) = &ending {
            self.supply.fresh.ends_early();
            self.await_in_flight(ending).await;
        }
        let hurry = self.ledger.hurry();
        let limit = time_to_clean_up(self.options.clone(), ending.is_some());
        let limit = limit.map(|()| hurry.cancel()).then(|()| pending());
        tokio::select! {
            biased;
            () = self.hand_back_everything(ending.as_ref()) => {}
            () = limit => {}
        }
        let fault = self.supply.fresh.fault().cloned().or_else(|| self.supply.fresh.stop());
        ending.or(fault.map(DeliveryEnd::Stopped))
    }

    /// Hands back the rest of the input if the delivery ends early, and waits until all receipts and handlers have their
    /// entries.
    async fn hand_back_everything(&mut self, ending: Option<&DeliveryEnd>) {
        if let Some(ending) = ending {
            self.hand_back_the_rest(ending).await;
        }
        self.calls.close().await;
        let patience = match ending {
            Some(_) => self.options.grace,
            None => self.options.attempt_timeout,
        };
        self.ledger.hand_back_all(&self.target, patience).await;
    }

    /// Waits for the calls in flight, for at most the grace period.
    async fn await_in_flight(&mut self, ending: &DeliveryEnd) {
        let mut grace = pin!(passed(self.options.grace));
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

    /// Hands back everything that a call did not deliver, after the delivery was asked to end.
    pub(super) fn hand_back(&mut self, settled: EndedCall<E>, ending: &DeliveryEnd) {
        for (entry, fault) in settled.refused {
            self.ledger.hand_back(entry, Cause::Refused(fault));
        }
        let refused = settled.refused_chunk.into_iter().flat_map(Chunk::into_tracked);
        let rejected = settled.rejected.into_iter().map(|(entry, _)| entry);
        for entry in rejected.chain(settled.disputed).chain(refused) {
            self.give_back(entry, ending);
        }
        for entry in settled.bisection.into_iter().flat_map(Bisection::into_entries) {
            self.give_back_waiting(entry, ending);
        }
    }

    /// Hands back everything that was not in flight when the delivery was asked to end, up to the last entry of the input.
    async fn hand_back_the_rest(&mut self, ending: &DeliveryEnd) {
        for entry in self.supply.take_all() {
            self.give_back_waiting(entry, ending);
        }
        let unsent = ending.cause(None);
        poll_fn(|context| self.supply.fresh.poll_hand_back(context, &unsent)).await;
        loop {
            while let Some(entry) = self.supply.pop_unread() {
                self.give_back(entry, ending);
                self.ledger.spare_memory(&self.target, &self.options).await;
                consume_budget().await;
            }
            if self.supply.fresh.poll_answer().is_ready() {
                break;
            }
            poll_fn(|_| self.supply.fresh.poll_answer()).await;
        }
        for entry in self.supply.backlog.lanes.take_all() {
            self.give_back_waiting(entry, ending);
        }
    }

    fn give_back_waiting(&mut self, entry: TrackedEntry<E>, ending: &DeliveryEnd) {
        self.ledger.no_longer_waits(&entry.state);
        self.give_back(entry, ending);
    }

    fn give_back(&mut self, mut entry: TrackedEntry<E>, ending: &DeliveryEnd) {
        if self.supply.is_superseded(&entry) {
            return self.ledger.superseded(entry);
        }
        let last = entry.state.take_fault();
        self.ledger.hand_back(entry, ending.cause(last));
    }
}

/// How long the target may clean up: for the grace period after an early end, which may come only now, and otherwise as long
/// as a call may take.
async fn time_to_clean_up(options: DeliveryOptions, is_early: bool) {
    let ends = async {
        if !is_early {
            options.ended().await;
        }
        passed(options.grace).await;
    };
    tokio::select! {
        () = ends => {}
        () = passed(options.attempt_timeout), if !is_early => {}
    }
}
