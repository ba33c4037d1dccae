//! The loop: one delivery from its first entry to its last.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::cases::{Case, Cases};
use super::ending::Ending;
use super::fresh::Fresh;
use super::gate::{Departure, Turn, Wanted};
use super::lanes::Lanes;
use super::ledger::Ledger;
use super::round::{panicked, round};
use super::settle::Settled;
use super::setup::SetupFailures;
use super::slots::{Slots, later};
use super::ticket::{Chunk, Ticket, Ticketed};
use super::waiting::Waiting;
use crate::backoff::Waiter;
use crate::options::DeliveryOptions;
use crate::report::{Cause, DeliveryError, Report};
use crate::target::{BatchTarget, Fault, Limits};

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
    let ending = match delivery.prepare().await {
        None => delivery.run().await,
        early => early,
    };
    if let Some(ending) = ending {
        delivery.await_in_flight(&ending).await;
        delivery.hand_back_the_rest(&ending);
    }
    delivery.ledger.close(started.elapsed())
}

/// One delivery on its way.
pub(super) struct Delivering<T: BatchTarget, I: Iterator<Item = T::Entry>> {
    pub(super) target: Arc<T>,
    pub(super) limits: Limits,
    pub(super) options: DeliveryOptions,
    pub(super) fresh: Fresh<T::Entry, I>,
    pub(super) waiting: Waiting<T::Entry>,
    pub(super) lanes: Lanes<T::Entry>,
    pub(super) cases: Cases<T::Entry>,
    pub(super) slots: Slots,
    /// How many entries the next call would like to carry, for the queue in front of the strategy.
    wanted: Arc<Wanted>,
    pub(super) rounds: JoinSet<Settled<T::Entry>>,
    /// Cancelled when calls in flight are given up.
    pub(super) abandoned: CancellationToken,
    pub(super) setup_failures: SetupFailures,
    pub(super) ledger: Ledger<T::Entry>,
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
            lanes: Lanes::new(),
            cases: Cases::new(),
            slots: Slots::new(options.concurrency),
            wanted: Arc::default(),
            rounds: JoinSet::new(),
            abandoned: CancellationToken::new(),
            setup_failures: SetupFailures::default(),
            ledger: Ledger::new(options.progress.clone()),
            options,
        }
    }

    /// Lets the target get ready, if there is anything to deliver. Returns why the delivery ends before it began.
    async fn prepare(&mut self) -> Option<Ending> {
        if !self.fresh.has_any() {
            return None;
        }
        let deadline = OptionFuture::from(self.options.deadline.map(sleep_until));
        tokio::select! {
            biased;
            () = self.options.cancellation.cancelled() => Some(Ending::Cancelled),
            Some(()) = deadline => Some(Ending::DeadlineReached),
            prepared = AssertUnwindSafe(self.target.prepare()).catch_unwind() => match prepared {
                Ok(()) => None,
                Err(panic) => Some(Ending::Stopped(panicked(&*panic))),
            }
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
            self.wake(now);
            self.cases.wake(now);
            self.give_up_expired(now);
            self.refill();
            if admission.is_none() {
                admission = self.send_what_may_go(now);
            }
            if self.rounds.is_empty() && self.waiting.len() == 0 && self.fresh.len() == 0 && self.cases.is_empty() {
                return None;
            }
            self.wanted.store(self.wanted());
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
                    self.waiting.wake_all(|lane| self.lanes.board(lane));
                    self.cases.wake_all();
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

    /// Makes ready who has rested, unless the strategy holds it for longer. Nobody is held beyond the time it has.
    fn wake(&mut self, now: Instant) {
        let Self {
            waiting,
            lanes,
            options,
            ..
        } = self;
        let hold = |ticket: &Ticket| {
            let until = later(now, options.gate.strategy().hold(now.into_std()));
            let expiry = ticket.expiry(options.give_up_after);
            Some(expiry.map_or(until, |expiry| expiry.min(until)))
        };
        waiting.wake(now, hold, |lane| lanes.board(lane));
    }

    /// Hands back what was rejected and whose time is used up.
    fn give_up_expired(&mut self, now: Instant) {
        let patience = self.options.give_up_after;
        let is_expired = |ticket: &Ticket| ticket.expiry(patience).is_some_and(|expiry| expiry <= now);
        while self.waiting.peek().is_some_and(|entry| is_expired(&entry.ticket)) {
            if let Some(entry) = self.waiting.pop() {
                self.give_up(entry);
            }
        }
        for entry in self.cases.take_expired(is_expired) {
            self.give_up(entry);
        }
    }

    /// The time of an entry that waited is used up.
    fn give_up(&mut self, mut entry: Ticketed<T::Entry>) {
        if self.is_outdated(&entry) {
            return self.supersede(&entry);
        }
        self.ledger.waits_no_more();
        self.leave(entry.ticket.lane);
        let fault = entry
            .ticket
            .fault
            .take()
            .unwrap_or_else(|| Fault::new("not sent again"));
        self.ledger.hand_back(entry, Cause::TimeUsedUp(fault));
    }

    /// Sends as long as there are entries, slots, and no word from the strategy to wait. Returns the wait.
    fn send_what_may_go(&mut self, now: Instant) -> Option<BoxFuture<'static, Turn>> {
        while let Some(waiter) = self.waiter(now) {
            let Some(turn) = self.options.gate.try_admit(waiter) else {
                return Some(Arc::clone(&self.options.gate).admit(Arc::clone(&self.wanted)).boxed());
            };
            self.send(turn);
            self.refill();
        }
        None
    }

    /// Who wants to send, if there is anything to send and a slot for it.
    fn waiter(&self, now: Instant) -> Option<Waiter> {
        let waiter = self.wanted();
        (waiter.entries > 0 && self.slots.has_free(now)).then_some(waiter)
    }

    /// What the next call would like to carry.
    fn wanted(&self) -> Waiter {
        let entries = self.next_len();
        let ready = self.waiting.ready() + self.fresh.len();
        Waiter {
            entries,
            more: ready > entries || self.fresh.has_more(),
        }
    }

    /// How many entries the next call would like to carry.
    fn next_len(&self) -> usize {
        self.cases.next_len().unwrap_or_else(|| self.sendable())
    }

    /// Delivers the next chunk in the slot that goes next.
    fn send(&mut self, turn: Turn) {
        let (chunk, case) = match self.cases.next(turn.entries()) {
            Some((chunk, case)) => (chunk, Some(case)),
            None => (self.pack(turn.entries()), None),
        };
        if chunk.len() > 0 {
            let departure = turn.depart(chunk.len());
            let delay = self
                .slots
                .take()
                .and_then(|slot| slot.idle_since)
                .map(|since| since.elapsed());
            self.ledger.call_leaves(&chunk, delay.unwrap_or_default());
            self.deliver(chunk, case, departure);
        }
    }

    /// Delivers a chunk.
    ///
    /// What is left over of it rests, and is then delivered by this same function, in a chunk topped up with fresh entries.
    /// Each round is a future of its own that the runtime polls for itself, not one inside the other, so that 100,000 rounds
    /// cost neither stack nor memory.
    fn deliver(&mut self, chunk: Chunk<T::Entry>, case: Option<Case<T::Entry>>, departure: Departure) {
        self.rounds.spawn(round(
            Arc::clone(&self.target),
            chunk,
            case,
            departure,
            self.options.attempt_timeout,
            self.abandoned.clone(),
        ));
    }

    /// The next moment at which something changes by itself.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        let patience = self.options.give_up_after;
        let next_expiry = self.waiting.peek().and_then(|entry| entry.ticket.expiry(patience));
        let case_expiry = self.cases.next_expiry(|ticket| ticket.expiry(patience));
        let has_entries = self.waiting.ready() + self.fresh.len() > 0 || self.cases.next_len().is_some();
        let next_free = self.slots.next_free().filter(|_| has_entries);
        let next_wake = [self.waiting.next_wake(), self.cases.next_wake()];
        next_wake
            .into_iter()
            .chain([next_expiry, case_expiry, next_free])
            .flatten()
            // A slot that has rested may still have to wait for the strategy; that wait ends otherwise.
            .filter(|event| *event > now)
            .min()
    }
}

/// A round that has ended. It catches the panics of the target, so that one that comes through is a fault of this crate.
pub(super) fn joined<E>(ended: Result<Settled<E>, JoinError>) -> Settled<E> {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(settled) => settled,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => unreachable!("no round is aborted while its delivery is polled"),
    }
}
