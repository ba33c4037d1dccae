//! The loop: one delivery from its first entry to its last.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use futures::future::OptionFuture;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::bisection::Bisection;
use super::call::Call;
use super::delivered::Delivered;
use super::delivering::Delivering;
use super::ending::Ending;
use super::gate::QueuedUp;
use super::input::Input;
use super::permit::{Departure, Permit};
use super::settle::Settled;
use super::slots::later;
use super::tracked_entry::{Chunk, EntryState, TrackedEntry};
use crate::backoff::Waiter;
use crate::options::DeliveryOptions;
use crate::report::Cause;
use crate::targets::{BatchTarget, Fault};

/// Calls, of all the entries that are known to be there, from which on they are many to the strategy.
const MANY_CALLS: usize = 10;

/// Calls that are settled before the next look at whether the delivery has to end.
const SETTLED_TOGETHER: usize = 64;

/// Delivers every entry of the input, or hands it back.
pub(crate) async fn deliver<T, I>(target: Arc<T>, input: I, options: DeliveryOptions) -> Delivered<T::Entry>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    let started = Instant::now();
    // Boxed, since it has kilobytes, and so would every future around this one.
    let mut delivery = Box::new(Delivering::new(target, input, options));
    let ending = match delivery.prepare().await {
        None if delivery.is_done() => None,
        None => delivery.run().await,
        early => early,
    };
    if let Some(ending) = &ending {
        delivery.await_in_flight(ending).await;
        delivery.hand_back_the_rest(ending).await;
    }
    delivery.calls.close().await;
    delivery.take_back(ending.is_some()).await;
    let stopped = match ending {
        Some(Ending::Stopped(fault) | Ending::OutOfTime(fault)) => Some(fault),
        _ => delivery.fresh.fault().cloned(),
    };
    let finished = delivery.fresh.has_finished();
    let pace = delivery.options.gate.pace().map(|pace| (pace.state, pace.reason));
    delivery.ledger.close(started.elapsed(), finished, stopped, pace)
}

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    /// Delivers until everything is settled, or until it has to end early.
    async fn run(&mut self) -> Option<Ending> {
        let options = self.options.clone();
        let mut cancelled = pin!(options.cancellation.cancelled());
        let mut deadline = pin!(OptionFuture::from(options.deadline.map(sleep_until)));
        let mut look = pin!(sleep_until(self.watch.next_look()));
        let mut resets = options.gate.resets();
        let capacity = self.calls.capacity_signal();
        let mut queued_up: Option<QueuedUp> = None;
        loop {
            let now = Instant::now();
            if let Some(ending) = self.ordered_end(now) {
                return Some(ending);
            }
            self.heed_hot_keys();
            self.wake(now);
            self.bisections.wake(now);
            self.give_up_expired(now);
            let refilled = self.refill(now);
            self.hand_back_awaited();
            // The target may have panicked over an entry that was read.
            if let Some(ending) = self.ordered_end(now) {
                return Some(ending);
            }
            if !self.setup.may_leave(now) {
                queued_up = None;
            } else if queued_up.is_none() {
                queued_up = self.send_what_may_go(now);
            }
            if self.is_done() {
                return None;
            }
            self.tell_read_ahead();
            if !refilled {
                yield_now().await;
            }
            let waiter = self.wanted();
            let next_event = OptionFuture::from(self.next_event(now).map(sleep_until));
            tokio::select! {
                biased;
                () = &mut cancelled => {}
                Some(()) = &mut deadline => {}
                Some(settled) = self.calls.next() => {
                    if let Some(ending) = self.settle_all_ended(settled) {
                        return Some(ending);
                    }
                }
                Some(permit) = OptionFuture::from(
                    queued_up.as_mut().map(|queued_up| poll_fn(|context| queued_up.poll_permit(context, &waiter)))
                ) => {
                    queued_up = None;
                    self.send(permit);
                }
                Some(unheard) = self.hand_backs.next() => self.unheard.extend(unheard),
                () = capacity.freed() => {}
                () = poll_fn(|context| self.fresh.poll_news(context)), if self.wants_more() => {}
                Ok(()) = resets.changed() => {
                    self.retry_queue.wake_all(|lane| self.lanes.open(lane));
                    self.bisections.wake_all();
                    self.key_lines.wake_all();
                    self.slots.wake_all();
                    self.setup.wake(Instant::now());
                }
                Some(()) = next_event => {}
                () = &mut look, if self.is_underway() => look.as_mut().reset(self.look()),
            }
        }
    }

    /// Whether anything is on its way, so that it may be stalled.
    fn is_underway(&self) -> bool {
        self.ledger.underway() != (0, 0)
    }

    /// Looks whether it is stalled. Returns when to look again.
    fn look(&mut self) -> Instant {
        let (in_flight, waiting) = self.ledger.underway();
        self.watch.look(&self.options, in_flight, waiting)
    }

    /// Settles a call that has ended, and others that have ended meanwhile, which share the way back to where calls leave.
    /// Returns why the delivery has to end, if it has to.
    fn settle_all_ended(&mut self, first: Settled<T::Entry>) -> Option<Ending> {
        let mut ending = self.settle(first);
        for _ in 1..SETTLED_TOGETHER {
            if ending.is_some() {
                break;
            }
            let next = self.calls.next_ended()?;
            ending = self.settle(next);
        }
        ending
    }

    /// The end, when it was ordered from outside.
    fn ordered_end(&self, now: Instant) -> Option<Ending> {
        if self.options.cancellation.is_cancelled() {
            return Some(Ending::Cancelled);
        }
        if let Some(fault) = self.fault.get().or(self.options.gate.fault()) {
            return Some(Ending::Stopped(fault.clone()));
        }
        if self.options.deadline.is_some_and(|deadline| deadline <= now) {
            return Some(Ending::DeadlineReached);
        }
        let out_of_time = self.setup.out_of_time(now, self.options.patience());
        out_of_time.map(|fault| Ending::OutOfTime(fault.clone()))
    }

    /// Makes entries ready whose delay is over, unless the strategy holds them for longer. No entry is held beyond its time.
    fn wake(&mut self, now: Instant) {
        let Self {
            retry_queue,
            lanes,
            options,
            ..
        } = self;
        let hold = |state: &EntryState<T::Entry>| {
            let until = later(now, options.gate.hold(now));
            let expiry = state.expiry(options.patience());
            expiry.map_or(until, |expiry| expiry.min(until))
        };
        retry_queue.wake(now, hold, |lane| lanes.open(lane));
    }

    /// Hands back what was rejected and whose time is used up.
    fn give_up_expired(&mut self, now: Instant) {
        let patience = self.options.patience();
        let is_expired = |state: &EntryState<T::Entry>| state.expiry(patience).is_some_and(|expiry| expiry <= now);
        while self.retry_queue.peek().is_some_and(|entry| is_expired(&entry.state)) {
            if let Some(entry) = self.retry_queue.pop() {
                self.give_up(entry);
            }
        }
        let of_keys = self.key_lines.take_expired(|entry| is_expired(&entry.state));
        for entry in self.bisections.take_expired(is_expired).into_iter().chain(of_keys) {
            self.give_up(entry);
        }
    }

    /// The time of an entry that waited is used up.
    fn give_up(&mut self, mut entry: TrackedEntry<T::Entry>) {
        if self.is_outdated(&entry) {
            return self.supersede(entry);
        }
        self.ledger.waits_no_more();
        self.leave(entry.state.lane);
        let fault = entry.state.take_fault().unwrap_or_else(|| Fault::new("not sent again"));
        self.ledger.hand_back(entry, Cause::TimeUsedUp(fault));
    }

    /// Sends as long as there are entries, slots, and no word from the strategy to wait. Returns the wait.
    fn send_what_may_go(&mut self, now: Instant) -> Option<QueuedUp> {
        while let Some(waiter) = self.waiter(now) {
            let Some(permit) = self.options.gate.try_admit(&waiter) else {
                return Some(self.options.gate.queue_up());
            };
            self.send(permit);
            self.refill(now);
        }
        None
    }

    /// What to ask the strategy for, if there is something to send, a free slot, and a task that can make the call soon.
    fn waiter(&self, now: Instant) -> Option<Waiter> {
        let may_leave = self.setup.may_leave(now) && self.lingers_until(now).is_none();
        let is_free = may_leave && self.calls.has_capacity() && self.slots.has_free(now);
        (self.next_len() > 0 && is_free).then(|| self.wanted())
    }

    /// What the next call would like to carry.
    fn wanted(&self) -> Waiter {
        let known =
            (self.retry_queue.ready() + self.key_lines.len() + self.fresh.len()).saturating_add(self.fresh.known());
        Waiter {
            entries: self.next_cost().max(1),
            more: known >= self.limits.entries.saturating_mul(MANY_CALLS),
        }
    }

    /// What the next call would like to carry counts for.
    fn next_cost(&self) -> usize {
        if self.bisections.next_len().is_none() && self.options.gate.counts_units() {
            self.sendable_cost()
        } else {
            self.next_len()
        }
    }

    /// How many entries the next call would like to carry.
    fn next_len(&self) -> usize {
        let entries = self.bisections.next_len().unwrap_or_else(|| self.sendable());
        entries.min(self.most())
    }

    /// How many entries a call may carry at most, by what the last ones came to.
    fn most(&self) -> usize {
        self.refusals.most().min(self.setup.most())
    }

    /// Delivers the next chunk in the slot that goes next.
    fn send(&mut self, permit: Permit) {
        let most = permit.entries().min(self.most());
        let (chunk, bisection) = match self.bisections.next(most) {
            Some((chunk, bisection)) => (chunk, Some(bisection)),
            None => (self.pack(most), None),
        };
        if chunk.len() > 0 {
            let departure = permit.depart(chunk.cost);
            let (in_flight, waiting) = self.ledger.underway();
            self.watch.call_leaves(departure.sent_at(), in_flight, waiting);
            let delay = self
                .slots
                .take()
                .and_then(|slot| slot.idle_since)
                .map(|since| since.elapsed());
            self.ledger.call_leaves(&chunk, delay.unwrap_or_default());
            self.setup.leaves();
            self.deliver(chunk, bisection, departure);
        }
    }

    /// Delivers a chunk.
    ///
    /// What is left over of it rests, and is then delivered by this same function, in a chunk topped up with fresh entries.
    /// Each call is a future of its own in a task that the runtime polls for itself, not one inside the other, so that 100,000
    /// calls cost neither stack nor memory.
    fn deliver(&mut self, chunk: Chunk<T::Entry>, bisection: Option<Bisection<T::Entry>>, departure: Departure) {
        let call = Call {
            chunk,
            bisection,
            departure,
        };
        self.calls.start(call);
    }

    /// The next moment at which something changes by itself.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        let patience = self.options.patience();
        let next_expiry = self.retry_queue.peek().and_then(|entry| entry.state.expiry(patience));
        let bisection_expiry = self.bisections.next_expiry(|state| state.expiry(patience));
        let key_expiry = self.key_lines.first_sent().and_then(|sent| sent.checked_add(patience));
        let has_entries = self.retry_queue.ready() + self.key_lines.len() + self.fresh.len() > 0
            || self.bisections.next_len().is_some();
        let next_free = self.slots.next_free().filter(|_| has_entries);
        let next_probe = self.setup.next_probe().filter(|_| has_entries);
        let setup_expiry = self.setup.expiry(patience).filter(|_| has_entries);
        let next_wake = [self.retry_queue.next_wake(), self.bisections.next_wake()];
        next_wake
            .into_iter()
            .chain([
                next_expiry,
                bisection_expiry,
                key_expiry,
                self.key_lines.next_due(now),
                next_free,
                next_probe,
                setup_expiry,
                self.lingers_until(now),
            ])
            .flatten()
            // A slot that has rested may still have to wait for the strategy; that wait ends otherwise.
            .filter(|event| *event > now)
            .min()
    }
}
