//! The loop: one delivery from its first entry to its last.
//!
//! - `end`: what a delivery does when it ends, early or not.

mod end;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use futures::future::OptionFuture;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::calls::{AttemptTimeout, Call, CallTasks, EndedCall, Slot, Slots};
use super::entry::Chunk;
use super::health::{Health, OtherEntries, Ruling};
use super::input::DynInput;
use super::outcome::{Delivered, DeliveryEnd, Ledger};
use super::preparation::{RepeatedPreparation, prepare};
use super::retry::Bisection;
use super::supply::Supply;
use crate::backoff::Waiter;
use crate::contract::ErasedTarget;
use crate::guarded::destination;
use crate::metrics::Metrics;
use crate::options::DeliveryOptions;
use crate::pace::{Departure, Permit, QueuedUp};
use crate::time_limit::{GRACE, is_held_up, later};

/// The strategy learns that there is [`more`](Waiter::more) when the known entries fill at least this many calls.
const MANY_CALLS: usize = 10;

/// The most calls that are settled in a row before the loop checks whether the delivery has to end.
const SETTLED_TOGETHER: usize = 64;

/// The most entries that are read before the loop looks at other events.
const READS_AT_ONCE: usize = 10_000;

/// Delivers every entry of the input, or hands it back.
pub(super) async fn deliver<E: Send + Sync + 'static>(
    target: Arc<dyn ErasedTarget<E>>,
    input: DynInput<'_, E>,
    options: DeliveryOptions,
) -> Delivered<E> {
    let started = Instant::now();
    // Boxed because it is several kilobytes large, and every future that contains it would be as large.
    let mut delivery = Box::new(DeliveryLoop::new(target, input, options));
    // Boxed, because it happens once and takes more memory than the loop.
    let ending = match Box::pin(delivery.prepare()).await {
        None if delivery.is_done() => None,
        None => delivery.run().await,
        early => early,
    };
    let ending = Box::pin(delivery.end(ending)).await;
    let DeliveryLoop {
        options,
        supply,
        ledger,
        ..
    } = *delivery;
    let pace = options.gate.strategy.snapshot().map(|pace| (pace.state, pace.reason));
    ledger.close(started.elapsed(), supply.fresh.has_finished(), ending.as_ref(), pace)
}

/// The state of one running delivery.
struct DeliveryLoop<'a, E: Send + Sync + 'static> {
    target: Arc<dyn ErasedTarget<E>>,
    options: DeliveryOptions,
    supply: Supply<'a, E>,
    preparation: RepeatedPreparation<E>,
    slots: Slots,
    calls: CallTasks<E>,
    health: Health,
    ledger: Ledger<E>,
    /// Until when no entry is given up for its time, after the process was frozen.
    patient_until: Option<Instant>,
}

impl<'a, E: Send + Sync + 'static> DeliveryLoop<'a, E> {
    fn new(target: Arc<dyn ErasedTarget<E>>, input: DynInput<'a, E>, options: DeliveryOptions) -> Self {
        options.progress.figures().begin(&options.gate);
        let destination = destination(&*target);
        let metrics = Metrics::of(&destination, Some(&options.gate));
        let attempt_timeout = AttemptTimeout::new(options.clone());
        Self {
            supply: Supply::new(Arc::clone(&target), input, options.clone()),
            preparation: RepeatedPreparation::new(Arc::clone(&target)),
            slots: Slots::new(options.concurrency),
            calls: CallTasks::new(Arc::clone(&target), attempt_timeout, metrics.clone()),
            health: Health::of(destination),
            ledger: Ledger::new(options.progress.clone(), metrics),
            patient_until: None,
            target,
            options,
        }
    }

    /// Lets the target prepare. Returns why the delivery ends before its first call, if it does.
    async fn prepare(&mut self) -> Option<DeliveryEnd> {
        let prepared = prepare(
            &self.target,
            &mut self.supply.fresh,
            &mut self.ledger,
            &self.options,
            &mut self.health.watch,
        )
        .await;
        prepared
            .map(|prepared| {
                self.supply.limits = prepared.limits;
                self.health.watch.has_failed_since(prepared.failing_since);
            })
            .err()
    }

    /// Whether every entry is settled.
    fn is_done(&self) -> bool {
        self.supply.is_exhausted() && self.calls.is_empty()
    }

    /// Delivers until every entry is settled, or until the delivery has to end early.
    async fn run(&mut self) -> Option<DeliveryEnd> {
        let options = self.options.clone();
        let mut cancelled = pin!(options.cancellation.cancelled());
        let mut deadline = pin!(OptionFuture::from(options.deadline.map(sleep_until)));
        let mut look = pin!(sleep_until(self.health.watch.next_look()));
        let mut resets = options.gate.strategy.resets();
        let mut queued_up: Option<QueuedUp> = None;
        loop {
            let now = Instant::now();
            if let Some(ending) = self.ordered_end(now) {
                return Some(ending);
            }
            match self.preparation.changed_limits(now) {
                Ok(None) => {}
                Ok(Some(limits)) => self.supply.limits = limits,
                Err(panic) => return Some(DeliveryEnd::Stopped(panic)),
            }
            self.supply.update_hot_keys();
            self.supply.backlog.wake(now, &options);
            self.supply.is_patient = self.is_patient(now);
            self.supply.give_up_expired(now, &mut self.ledger, self.health.outage());
            let refilled = self.refill(now).await;
            let has_entries = self.ledger.underway() != (0, 0) || self.supply.may_send_soon();
            self.health.watch.has_entries(now, has_entries, &options.gate);
            self.ledger.hand_back_awaited(&self.target, options.attempt_timeout);
            // The target may have panicked in a method that `refill` called.
            if let Some(ending) = self.ordered_end(now) {
                return Some(ending);
            }
            if let Some(ending) = self.ask_disputed(now) {
                return Some(ending);
            }
            if !self.health.breaker.may_leave(now) {
                queued_up = None;
            } else if queued_up.is_none() {
                queued_up = self.send_what_may_go(now).await;
            }
            if self.is_done() {
                return None;
            }
            self.ledger.reads_ahead(self.supply.read_ahead());
            if !refilled {
                yield_now().await;
            }
            let waiter = self.wanted();
            let next_event = self.next_event(now);
            let next_look = (self.ledger.underway() != (0, 0)).then(|| look.deadline());
            let due = next_event.into_iter().chain(next_look).filter(|due| *due > now).min();
            let was_held_up = || due.is_some_and(|due| is_held_up(due, Instant::now()));
            let next_event = OptionFuture::from(next_event.map(sleep_until));
            tokio::select! {
                biased;
                () = &mut cancelled => {}
                Some(()) = &mut deadline => {}
                Some(settled) = self.calls.next() => {
                    if let Some(ending) = self.settle_all_ended(settled).await {
                        return Some(ending);
                    }
                }
                Some(permit) = OptionFuture::from(
                    queued_up.as_mut().map(|queued_up| poll_fn(|context| queued_up.poll_permit(context, &waiter)))
                ) => {
                    queued_up = None;
                    self.send(permit);
                }
                Some(()) = self.ledger.next_handed_back() => {}
                () = poll_fn(|context| self.supply.fresh.poll_news(context)),
                    if self.supply.wants_more(&self.ledger) => {}
                Ok(()) = resets.changed() => {
                    self.supply.backlog.wake_all();
                    self.slots.wake_all();
                    self.health.breaker.wake(Instant::now());
                }
                Some(()) = next_event => {}
                limits = self.preparation.prepared() => match limits {
                    Ok(limits) => self.supply.limits = limits,
                    Err(panic) => return Some(DeliveryEnd::Stopped(panic)),
                },
                () = &mut look, if next_look.is_some() => if !was_held_up() {
                    let (in_flight, waiting) = self.ledger.underway();
                    look.as_mut().reset(self.health.watch.look(&options, in_flight, waiting));
                }
            }
            if was_held_up() {
                self.goes_on(Instant::now());
                look.as_mut().reset(self.health.watch.next_look());
            }
        }
    }

    /// The process was frozen up to now. That time says nothing about the service: each entry that waits is tried again
    /// before its time counts as used up, and a stall is not longer than before.
    fn goes_on(&mut self, now: Instant) {
        self.patient_until = Some(later(now, GRACE));
        self.health.watch.goes_on(now);
    }

    /// Whether the process has just gone on after it was frozen.
    fn is_patient(&self, now: Instant) -> bool {
        self.patient_until.is_some_and(|until| now < until)
    }

    /// When only entries are left that were refused alone, they are sent again. Returns why the delivery has to end if
    /// nothing was accepted before.
    fn ask_disputed(&mut self, now: Instant) -> Option<DeliveryEnd> {
        if !self.calls.is_empty() || !self.supply.has_only_disputed() {
            return None;
        }
        let fault = self.supply.backlog.bisections.first_disputed()?;
        let is_all = self.supply.fresh.has_ended();
        if self.ledger.processed() == 0 && self.health.disputes.stops(fault, is_all, now) {
            return Some(DeliveryEnd::Stopped(fault.clone()));
        }
        self.supply.backlog.bisections.ask_again(now);
        None
    }

    /// Sends calls while there are entries and slots and the strategy permits it. Returns the place in the queue when the
    /// strategy makes the next call wait.
    async fn send_what_may_go(&mut self, now: Instant) -> Option<QueuedUp> {
        while self.may_send(now) {
            let Some(permit) = Permit::at_once(&self.options.gate, &self.wanted()) else {
                return Some(QueuedUp::at(&self.options.gate));
            };
            self.send(permit);
            self.refill(now).await;
        }
        None
    }

    /// Reads entries while more are available and wanted. Returns `false` when more may be available at once.
    async fn refill(&mut self, now: Instant) -> bool {
        let mut reads = READS_AT_ONCE;
        loop {
            let outage = self.health.outage();
            let refilled = self.supply.refill(now, &mut reads, &mut self.ledger, outage);
            if !refilled || !self.supply.wants_more(&self.ledger) || self.supply.fresh.poll_answer().is_ready() {
                return refilled;
            }
            poll_fn(|_| self.supply.fresh.poll_answer()).await;
        }
    }

    /// Whether there is something to send, and a free slot.
    fn may_send(&mut self, now: Instant) -> bool {
        self.supply.gather(now, !self.calls.is_empty());
        let may_leave = self.health.breaker.may_leave(now) && self.supply.lingers_until(now, &self.ledger).is_none();
        let is_free = may_leave && self.slots.has_free(now);
        is_free && self.supply.next_len() > 0
    }

    /// The request for the next call, as it is passed to the strategy.
    fn wanted(&self) -> Waiter {
        let entries = || self.supply.next_len().min(self.health.most());
        Waiter {
            entries: self.supply.next_cost().unwrap_or_else(entries).max(1),
            more: self.supply.fills_calls(MANY_CALLS),
        }
    }

    /// Delivers the next chunk in the next free slot.
    fn send(&mut self, permit: Permit) {
        let most = permit.entries().min(self.health.most());
        if let Some((chunk, bisection)) = self.supply.next_chunk(most, &mut self.ledger) {
            let departure = permit.depart(chunk.cost);
            let (in_flight, _) = self.ledger.underway();
            self.health.call_leaves(departure.sent_at(), in_flight);
            let idle_since = self.slots.take().and_then(|slot| slot.idle_since);
            let delay = idle_since.map(|since| since.elapsed());
            self.ledger.call_leaves(&chunk, delay.unwrap_or_default());
            self.deliver(chunk, bisection, departure);
        }
    }

    /// Starts a call with the chunk.
    ///
    /// Leftovers of the call wait in the backlog; a later call of this function carries them, topped up with fresh entries.
    /// Each call is a future in a task of its own, not nested in this one, so that 100,000 calls in a row need neither more
    /// stack nor more memory.
    fn deliver(&mut self, chunk: Chunk<E>, bisection: Option<Bisection<E>>, departure: Departure) {
        let call = Call {
            chunk,
            bisection,
            departure,
        };
        self.calls.start(call);
    }

    /// Settles a call that has ended, and up to [`SETTLED_TOGETHER`] more that have ended as well, before new calls leave.
    /// Returns why the delivery has to end, if it has to.
    async fn settle_all_ended(&mut self, first: EndedCall<E>) -> Option<DeliveryEnd> {
        let mut ending = self.settle(first);
        for _ in 1..SETTLED_TOGETHER {
            if ending.is_some() {
                break;
            }
            let next = self.calls.next_ended().await?;
            ending = self.settle(next);
        }
        ending
    }

    /// Counts the result of a call and puts its leftovers into the backlog. Returns why the delivery has to end, if it has
    /// to.
    fn settle(&mut self, settled: EndedCall<E>) -> Option<DeliveryEnd> {
        let now = Instant::now();
        self.book(&settled);
        let others = match () {
            () if !self.calls.is_empty() => OtherEntries::InFlight,
            () if self.supply.has_only_disputed() => OtherEntries::None,
            () => OtherEntries::Waiting,
        };
        let findings = match self.health.answered(&settled, self.ledger.processed(), others, now) {
            Ruling::Continue(findings) => findings,
            Ruling::Stop(fault) => {
                let ending = DeliveryEnd::Stopped(fault);
                self.hand_back(settled, &ending);
                return Some(ending);
            }
        };
        let outage = self.health.outage();
        let delay = self.supply.settle(settled, findings, now, &mut self.ledger, outage);
        self.slots.put(Slot::after_call(now, delay));
        None
    }

    fn book(&mut self, settled: &EndedCall<E>) {
        self.ledger.call_ended(settled, &self.health.watch.destination);
        self.health.watch.call_ended(settled);
    }

    /// The next moment at which something changes without an event.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        let of_calls = [self.slots.next_free(), self.health.breaker.next_probe()];
        let of_calls = of_calls.into_iter().flatten().filter(|_| self.supply.may_send_soon());
        self.supply
            .next_events(now, &self.ledger)
            .chain(of_calls)
            .chain(self.outage_ends())
            .chain(self.patient_until)
            // A slot whose delay is over may still wait for the strategy; that wait has its own deadline.
            .filter(|event| *event > now)
            .min()
    }
}
