//! The loop: one delivery from its first entry to its last.

use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::ending::Ending;
use super::fresh::Fresh;
use super::gate::{Departure, Turn};
use super::ledger::Ledger;
use super::pack::pack;
use super::rests::Rests;
use super::round::round;
use super::settle::Settled;
use super::setup::{self, SetupFailures};
use super::slots::{Slot, Slots, later};
use super::ticket::{Chunk, Ticketed};
use super::waiting::Waiting;
use crate::backoff::Waiter;
use crate::options::DeliveryOptions;
use crate::report::{Cause, DeliveryError, Report};
use crate::target::{BatchTarget, Fault, Limits, Rejection};

/// Rejected entries of one delivery that may wait before fresh ones are held back, so that a long input cannot pile up in
/// memory behind a service that takes nothing. Far more than can be in flight, so that some blocked keys hold nothing up:
/// at 1,000 writes/s and one blocked key in ten it is full after 100 s.
const WAITING_ENTRIES: usize = 10_000;

/// The same in bytes: four calls of the largest size that any of the services takes.
const WAITING_BYTES: usize = 64 << 20;

/// Delivers every entry of the input, or hands it back.
///
/// # Errors
/// When any entry was handed back.
pub(crate) async fn deliver<T, I>(
    target: Arc<T>,
    input: I,
    options: DeliveryOptions,
) -> Result<Report, DeliveryError<T::Entry>>
where
    T: BatchTarget,
    I: Iterator<Item = T::Entry>,
{
    let started = Instant::now();
    let mut delivery = Delivering::new(target, input, options);
    if let Some(ending) = delivery.run().await {
        delivery.await_in_flight(&ending).await;
        delivery.hand_back_the_rest(&ending);
    }
    delivery.ledger.close(started.elapsed())
}

/// One delivery on its way.
struct Delivering<T: BatchTarget, I> {
    target: Arc<T>,
    limits: Limits,
    options: DeliveryOptions,
    fresh: Fresh<T::Entry, I>,
    waiting: Waiting<T::Entry>,
    slots: Slots,
    rounds: JoinSet<Settled<T::Entry>>,
    /// Cancelled when calls in flight are given up.
    abandoned: CancellationToken,
    setup_failures: SetupFailures,
    ledger: Ledger<T::Entry>,
}

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Iterator<Item = T::Entry>,
{
    fn new(target: Arc<T>, input: I, options: DeliveryOptions) -> Self {
        Self {
            limits: target.limits(),
            target,
            fresh: Fresh::new(input),
            waiting: Waiting::new(),
            slots: Slots::new(options.concurrency),
            rounds: JoinSet::new(),
            abandoned: CancellationToken::new(),
            setup_failures: SetupFailures::default(),
            ledger: Ledger::new(options.progress.clone()),
            options,
        }
    }

    /// Delivers until everything is settled, or until it has to end early.
    async fn run(&mut self) -> Option<Ending> {
        let options = self.options.clone();
        let mut cancelled = pin!(options.cancellation.cancelled());
        let mut deadline = pin!(OptionFuture::from(options.deadline.map(sleep_until)));
        let mut resets = options.gate.resets();
        let mut admission: Option<BoxFuture<'static, Turn>> = None;
        loop {
            let now = Instant::now();
            if let Some(ending) = self.ordered_end(now) {
                return Some(ending);
            }
            self.give_up_expired(now);
            self.waiting.wake(now);
            self.refill();
            if admission.is_none() {
                admission = self.send_what_may_go(now);
            }
            if self.rounds.is_empty() && self.waiting.len() == 0 && self.fresh.len() == 0 {
                return None;
            }
            let next_event = OptionFuture::from(self.next_event(now).map(sleep_until));
            tokio::select! {
                biased;
                () = &mut cancelled => {}
                Some(()) = &mut deadline => {}
                Some(ended) = self.rounds.join_next() => {
                    if let Some(ending) = self.settle(joined(ended)) {
                        return Some(ending);
                    }
                }
                Some(turn) = OptionFuture::from(admission.as_mut()) => {
                    admission = None;
                    self.send(turn);
                }
                Ok(()) = resets.changed() => {
                    self.waiting.wake_all();
                    self.slots.wake_all();
                }
                Some(()) = next_event => {}
            }
        }
    }

    /// The end, when it was ordered from outside.
    fn ordered_end(&self, now: Instant) -> Option<Ending> {
        if self.options.cancellation.is_cancelled() {
            return Some(Ending::Cancelled);
        }
        let reached = self.options.deadline.is_some_and(|deadline| deadline <= now);
        reached.then_some(Ending::DeadlineReached)
    }

    /// Hands back what was rejected and whose time is used up.
    fn give_up_expired(&mut self, now: Instant) {
        let patience = self.options.give_up_after;
        let expired = |entry: &Ticketed<T::Entry>| entry.ticket.expiry(patience).is_some_and(|expiry| expiry <= now);
        while self.waiting.peek().is_some_and(expired) {
            if let Some(mut entry) = self.waiting.pop() {
                self.ledger.waits_no_more();
                let fault = entry
                    .ticket
                    .fault
                    .take()
                    .unwrap_or_else(|| Fault::new("not sent again"));
                self.ledger.hand_back(entry, Cause::TimeUsedUp(fault));
            }
        }
    }

    /// Reads and checks fresh entries for the next chunk, unless too many wait.
    fn refill(&mut self) {
        if self.waiting.len() >= WAITING_ENTRIES || self.waiting.bytes() >= WAITING_BYTES {
            return;
        }
        let ledger = &mut self.ledger;
        self.fresh.fill(
            self.limits.entries.max(1),
            &*self.target,
            &self.limits,
            |entry, invalid| {
                ledger.hand_back(entry, Cause::Invalid(invalid));
            },
        );
    }

    /// Sends as long as there are entries, slots, and no word from the strategy to wait. Returns the wait.
    fn send_what_may_go(&mut self, now: Instant) -> Option<BoxFuture<'static, Turn>> {
        while let Some(waiter) = self.waiter(now) {
            let Some(turn) = self.options.gate.try_admit(waiter) else {
                return Some(Arc::clone(&self.options.gate).admit(waiter).boxed());
            };
            self.send(turn);
            self.refill();
        }
        None
    }

    /// Who wants to send, if there is anything to send and a slot for it.
    fn waiter(&self, now: Instant) -> Option<Waiter> {
        let entries = (self.waiting.ready() + self.fresh.len()).min(self.limits.entries.max(1));
        (entries > 0 && self.slots.has_free(now)).then_some(Waiter { entries })
    }

    /// Packs a chunk and delivers it in the slot that goes next.
    fn send(&mut self, turn: Turn) {
        let chunk = pack(turn.entries(), &self.limits, &mut self.waiting, &mut self.fresh);
        if chunk.len() > 0 {
            let departure = turn.depart(chunk.len());
            let delay = self
                .slots
                .take()
                .and_then(|slot| slot.idle_since)
                .map(|since| since.elapsed());
            self.ledger.call_leaves(&chunk, delay.unwrap_or_default());
            self.deliver(chunk, departure);
        }
    }

    /// Delivers a chunk.
    ///
    /// What is left over of it rests, and is then delivered by this same function, in a chunk topped up with fresh entries.
    /// Each round is a future of its own that the runtime polls for itself, not one inside the other, so that 100,000 rounds
    /// cost neither stack nor memory.
    fn deliver(&mut self, chunk: Chunk<T::Entry>, departure: Departure) {
        self.rounds.spawn(round(
            Arc::clone(&self.target),
            chunk,
            departure,
            self.options.attempt_timeout,
            self.abandoned.clone(),
        ));
    }

    /// Books what a call came to, and sends its leftovers to rest. Returns why the delivery has to end, if it has to.
    fn settle(&mut self, settled: Settled<T::Entry>) -> Option<Ending> {
        let now = Instant::now();
        self.book(&settled);
        let stop = settled.stop.clone().or_else(|| self.setup_fault(&settled, now));
        if let Some(fault) = stop {
            let ending = Ending::Stopped(fault);
            self.hand_back(settled, &ending);
            return Some(ending);
        }
        for (entry, fault) in settled.refused {
            self.ledger.hand_back(entry, Cause::Refused(fault));
        }
        let mut rests = Rests::default();
        for (entry, rejection) in settled.rejected {
            let retry = entry.ticket.retry;
            let mut rest = rests.before(retry, |retry| self.options.gate.strategy().rest(retry));
            if rejection == Rejection::Setup {
                rest = rest.max(setup::REST);
            }
            self.try_again(entry, rest, now);
        }
        let slot_rests = settled.outcome.throttled > 0 || settled.outcome.accepted == 0;
        let rest = if slot_rests { rests.shortest() } else { Duration::ZERO };
        let pause = self.options.gate.strategy().pause();
        self.slots.put(Slot::after_call(now, rest.max(pause)));
        None
    }

    /// Tells the ledger what a call came to.
    fn book(&mut self, settled: &Settled<T::Entry>) {
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

    /// Lets a rejected entry rest, or hands it back when its retries or its time are used up.
    fn try_again(&mut self, mut entry: Ticketed<T::Entry>, rest: Duration, now: Instant) {
        let ticket = &mut entry.ticket;
        let until = later(now, rest);
        let out_of_retries = self.options.retries.is_some_and(|retries| ticket.attempts > retries);
        let out_of_time = ticket
            .expiry(self.options.give_up_after)
            .is_some_and(|expiry| until >= expiry);
        if !out_of_retries && !out_of_time {
            ticket.retry = ticket.retry.after(rest);
            self.waiting.rest(until, entry);
            self.ledger.waits();
            return;
        }
        let fault = ticket.fault.take().unwrap_or_else(|| Fault::new("rejected"));
        let cause = if out_of_retries {
            Cause::RetriesUsedUp(fault)
        } else {
            Cause::TimeUsedUp(fault)
        };
        self.ledger.hand_back(entry, cause);
    }

    /// The next moment at which something changes by itself.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        let patience = self.options.give_up_after;
        let next_expiry = self.waiting.peek().and_then(|entry| entry.ticket.expiry(patience));
        let has_entries = self.waiting.ready() + self.fresh.len() > 0;
        let next_free = self.slots.next_free().filter(|_| has_entries);
        [self.waiting.next_wake(), next_expiry, next_free]
            .into_iter()
            .flatten()
            // A slot that has rested may still have to wait for the strategy; that wait ends otherwise.
            .filter(|event| *event > now)
            .min()
    }

    /// Waits for the calls in flight, which have the grace to end.
    async fn await_in_flight(&mut self, ending: &Ending) {
        let mut grace = pin!(sleep(self.options.grace));
        while !self.rounds.is_empty() {
            tokio::select! {
                biased;
                Some(ended) = self.rounds.join_next() => {
                    let settled = joined(ended);
                    self.book(&settled);
                    self.hand_back(settled, ending);
                }
                () = &mut grace, if !self.abandoned.is_cancelled() => self.abandoned.cancel(),
            }
        }
    }

    /// Hands back all of a call that was not accepted, after the end was ordered.
    fn hand_back(&mut self, settled: Settled<T::Entry>, ending: &Ending) {
        for (entry, fault) in settled.refused {
            let cause = match &settled.stop {
                Some(stop) => Cause::Stopped(stop.clone()),
                None => Cause::Refused(fault),
            };
            self.ledger.hand_back(entry, cause);
        }
        for (mut entry, _) in settled.rejected {
            let last = entry.ticket.fault.take();
            self.ledger.hand_back(entry, ending.cause(last));
        }
    }

    /// Hands back what was not in flight when the end was ordered, to the last entry of the input.
    fn hand_back_the_rest(&mut self, ending: &Ending) {
        for mut entry in self.waiting.take_all() {
            self.ledger.waits_no_more();
            let last = entry.ticket.fault.take();
            self.ledger.hand_back(entry, ending.cause(last));
        }
        while let Some(entry) = self.fresh.pop_unsent() {
            self.ledger.hand_back(entry, ending.cause(None));
        }
    }
}

/// A round that has ended. It catches the panics of the target, so that one that comes through is a fault of this crate.
fn joined<E>(ended: Result<Settled<E>, JoinError>) -> Settled<E> {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(settled) => settled,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => unreachable!("no round is aborted while its delivery is polled"),
    }
}
