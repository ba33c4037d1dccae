//! All entries that were read and wait, except fresh ones that are sendable.
//!
//! - `decision`: whether and when a rejected entry is sent again.
//! - `queue`: rejected entries, before and after the moment of their retry.
//! - `bisection`, `bisections`: refused calls, halved until the entries at fault are alone.
//! - `disputed`: those whose next entry was refused alone, while it is open whether it is at fault.
//! - `key_queues`: entries that wait by partition key.
//! - `expiries`: when to look for entries whose time is used up.

mod bisection;
mod bisections;
mod decision;
mod disputed;
mod expiries;
mod key_queues;
mod queue;

use std::sync::Arc;

use tokio::time::Instant;

use self::bisections::Bisections;
use self::key_queues::KeyQueues;
use self::queue::RetryQueue;
use super::entry::{Chunk, EntryState, Space, TrackedEntry};
use super::order::Lanes;
use crate::contract::Lane;
use crate::options::DeliveryOptions;
use crate::pace::Gate;
use crate::time_limit::later;

pub(crate) use bisection::Bisection;
pub(crate) use decision::{Decision, RetryDecisions};
pub(crate) use expiries::{Expiries, Search};

/// A rejected entry, and the moment of its retry.
type Rejected<E> = (Instant, TrackedEntry<E>);

/// Whether entries that wait by key may linger for others that could share their call.
pub(crate) enum Linger {
    Until(Instant),
    No,
    /// None wait by key.
    NoneWait,
}

/// Entries that were read and wait: rejected ones, those held in their lanes, those that wait by key, and the parts of
/// refused calls.
pub(crate) struct Backlog<E> {
    gate: Arc<Gate>,
    retry_queue: RetryQueue<E>,
    pub(crate) lanes: Lanes<E>,
    key_queues: KeyQueues<E>,
    /// The calls that were refused as a whole.
    pub(crate) bisections: Bisections<E>,
    /// The strategy's count of hot keys at the last update. Once it is above zero, entries wait by key.
    hot_key_changes: u64,
}

impl<E> Backlog<E> {
    pub(crate) fn new(gate: &Arc<Gate>) -> Self {
        Self {
            gate: Arc::clone(gate),
            retry_queue: RetryQueue::new(),
            lanes: Lanes::new(),
            key_queues: KeyQueues::new(),
            bisections: Bisections::new(),
            hot_key_changes: 0,
        }
    }

    /// How many entries wait.
    pub(crate) fn len(&self) -> usize {
        self.retry_queue.len() + self.key_queues.len() + self.bisections.len() + self.lanes.held()
    }

    /// The bytes of the entries that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.retry_queue.bytes() + self.key_queues.bytes() + self.bisections.bytes() + self.lanes.bytes()
    }

    /// Whether no entry waits, except those held behind entries that are elsewhere.
    pub(crate) fn is_empty(&self) -> bool {
        self.retry_queue.len() + self.key_queues.len() + self.bisections.len() == 0
    }

    /// Whether entries wait by key.
    pub(crate) fn is_by_key(&self) -> bool {
        self.hot_key_changes > 0
    }

    /// Whether another key has become hot since the last update.
    pub(crate) fn has_new_hot_key(&self) -> bool {
        self.gate.strategy.hot_key_changes() != self.hot_key_changes
    }

    /// Updates which queues are hot. Returns the rejected entries whose key is hot, for [`release`](Self::release).
    pub(crate) fn update_hot_keys(&mut self) -> Vec<TrackedEntry<E>> {
        let strategy = &self.gate.strategy;
        self.hot_key_changes = strategy.hot_key_changes();
        self.key_queues.update_hot(|key| strategy.is_hot(key));
        self.retry_queue
            .take_if(|state| state.key.is_some_and(|key| strategy.is_hot(key)))
    }

    /// Makes an entry sendable: in the queue of its key, or among the rejected ones. Returns it if it belongs to the fresh
    /// ones.
    pub(crate) fn release(&mut self, entry: TrackedEntry<E>) -> Option<TrackedEntry<E>> {
        let is_fresh = entry.state.history.is_none();
        let key = entry.state.key.filter(|_| self.is_by_key());
        match key.map(|key| (key, self.gate.strategy.is_hot(key))) {
            Some((key, is_hot)) if is_hot || is_fresh => self.key_queues.push(key, is_hot, entry),
            _ if is_fresh => return Some(entry),
            _ => self.retry_queue.push_ready(entry),
        }
        None
    }

    /// An entry is settled: makes the next one of its lane sendable. Returns it if it belongs to the fresh ones.
    pub(crate) fn leave(&mut self, lane: Option<Lane>) -> Option<TrackedEntry<E>> {
        let next = lane.and_then(|lane| self.lanes.leave(lane))?;
        self.release(next)
    }

    /// Keeps rejected entries until their retries. Of a lane only the first one waits for its retry; the others are held
    /// behind it.
    pub(crate) fn retry_later(&mut self, rejected: Vec<Rejected<E>>) {
        for (until, entry) in rejected.into_iter().rev() {
            let Some(first) = self.lanes.put_back(entry) else {
                continue;
            };
            let is_delayed = until > Instant::now();
            let is_hot = |key: &u64| !is_delayed && self.gate.strategy.is_hot(*key);
            match first.state.key.filter(is_hot) {
                Some(key) => self.key_queues.push(key, true, first),
                None => self.retry_queue.push(until, first),
            }
        }
    }

    /// A part of a bisection was not refused: the bisection continues without the rejected entries.
    ///
    /// If some entries of the part were accepted, the rejected ones are not at fault and leave the bisection. If none was
    /// accepted, it is not known whether the part would be refused. So it must not share a call with other entries, and
    /// entries that must not pass it wait behind it.
    pub(crate) fn continue_bisection(
        &mut self,
        mut bisection: Bisection<E>,
        rejected: Vec<Rejected<E>>,
        accepted: bool,
    ) {
        let is_free = |entry: &TrackedEntry<E>| accepted && !bisection.has_behind(&entry.state);
        let (free, bound): (Vec<_>, Vec<_>) = rejected.into_iter().partition(|(_, entry)| is_free(entry));
        let until = bound.iter().map(|(until, _)| *until).max();
        let mut first = Chunk::with_capacity(bound.len());
        for (_, entry) in bound {
            first.push(entry);
        }
        let mut behind = bisection.take_behind(&first);
        behind.push(first);
        self.bisections.put(behind, until);
        self.bisections.put(bisection, None);
        self.retry_later(free);
    }

    /// A call was refused as a whole: starts or continues the search for the entries at fault.
    pub(crate) fn bisect(&mut self, chunk: Chunk<E>, bisection: Option<Bisection<E>>) {
        let origin = chunk.states.first().map_or(0, |state| state.position);
        let mut bisection = bisection.unwrap_or_else(|| Bisection::of(origin));
        bisection.halve(chunk);
        self.bisections.put(bisection, None);
    }

    /// An entry was refused alone, and it is open whether it is at fault. Entries of its bisection that must not pass it
    /// wait for it.
    pub(crate) fn dispute(&mut self, entry: TrackedEntry<E>, bisection: Option<Bisection<E>>, now: Instant) {
        let mut bisection = bisection.unwrap_or_else(|| Bisection::of(entry.state.position));
        let mut alone = Chunk::with_capacity(1);
        alone.push(entry);
        let mut disputed = bisection.take_behind(&alone);
        disputed.push(alone);
        self.bisections.dispute(disputed, now);
        self.bisections.put(bisection, None);
    }

    /// Whether nothing waits that may be sent, except entries that were refused alone.
    pub(crate) fn is_quiet(&self) -> bool {
        self.retry_queue.len() + self.key_queues.len() == 0 && self.bisections.are_all_disputed()
    }

    /// Makes the entries ready whose delay is over, unless the strategy adds an extra delay. No entry waits beyond its
    /// time.
    pub(crate) fn wake(&mut self, now: Instant, options: &DeliveryOptions) {
        let strategy = &self.gate.strategy;
        let delayed_until = |state: &EntryState<E>| {
            let until = later(now, strategy.extra_delay(now));
            let expiry = state.expiry(options);
            expiry.map_or(until, |expiry| expiry.min(until))
        };
        for entry in self.retry_queue.take_due(now, delayed_until) {
            self.lanes.open(entry.state.lane);
            match entry.state.key.filter(|key| strategy.is_hot(*key)) {
                Some(key) => self.key_queues.push(key, true, entry),
                None => self.retry_queue.push_ready(entry),
            }
        }
        self.bisections.wake(now);
    }

    /// Makes all entries ready at once, and starts their retries from 1.
    pub(crate) fn wake_all(&mut self) {
        self.retry_queue.wake_all(|lane| self.lanes.open(lane));
        self.bisections.wake_all();
        self.key_queues.wake_all();
    }

    /// Removes the entries whose time is used up, except those that are held in lanes. `has_waited` says whether an entry has
    /// waited for as long as one may be tried.
    pub(crate) fn take_expired(
        &mut self,
        mut is_expired: impl FnMut(&EntryState<E>) -> bool,
        has_waited: impl Fn(&EntryState<E>) -> bool,
    ) -> Vec<TrackedEntry<E>> {
        let mut expired = self.bisections.take_if(&mut is_expired);
        expired.extend(self.retry_queue.take_if(&mut is_expired));
        expired.extend(self.key_queues.take_expired(is_expired, has_waited));
        expired
    }

    /// The next moments at which an entry may leave without an event.
    pub(crate) fn next_events(&self, now: Instant) -> impl Iterator<Item = Instant> {
        let events = [
            self.retry_queue.next_wake(),
            self.bisections.next_wake(),
            self.bisections.next_asked(now),
            self.key_queues.next_due(now),
        ];
        events.into_iter().flatten()
    }

    /// How many rejected entries are ready, plus how many wait by key.
    pub(crate) fn may_soon_go(&self) -> usize {
        self.retry_queue.ready() + self.key_queues.len()
    }

    /// How many entries are sendable without a bisection, as far as is known without asking the strategy; at most `most` of
    /// those that wait by key.
    pub(crate) fn ready(&self, most: usize) -> usize {
        self.retry_queue.ready() + self.ready_by_key(most)
    }

    /// How many of the entries that wait by key are sendable.
    pub(crate) fn ready_by_key(&self, most: usize) -> usize {
        if self.key_queues.len() == 0 {
            return 0;
        }
        self.key_queues.ready(Instant::now(), most)
    }

    /// The states of the rejected entries that are ready, in their order.
    pub(crate) fn ready_states(&self) -> impl Iterator<Item = &EntryState<E>> {
        self.retry_queue.iter_ready().map(|entry| &entry.state)
    }

    /// Whether entries are ready that were rejected or refused: they do not linger.
    pub(crate) fn is_urgent(&self) -> bool {
        self.retry_queue.ready() > 0 || self.bisections.next_len().is_some()
    }

    /// Whether entries that wait by key may linger. Those before the position `hurried` may not.
    pub(crate) fn linger(&self, now: Instant, options: &DeliveryOptions, hurried: u64) -> Linger {
        match self.key_queues.lingers_until(now, options.linger, hurried) {
            Some(until) => Linger::Until(until),
            None if self.key_queues.len() > 0 => Linger::No,
            None => Linger::NoneWait,
        }
    }

    /// Moves entries that go before fresh ones into the chunk while there is space: rejected ones first, then those that
    /// wait by key.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk<E>, space: &mut Space) {
        while self.retry_queue.peek().is_some_and(|next| space.take(&next.state))
            && let Some(entry) = self.retry_queue.pop()
        {
            chunk.push(entry);
        }
        if self.key_queues.len() == 0 {
            return;
        }
        let (now, strategy) = (Instant::now(), &self.gate.strategy);
        self.key_queues.take_due(
            now,
            |key, wanted| strategy.admit_key(now, key, wanted),
            |key, cost| strategy.depart_key(now, key, cost),
            |next| space.take(&next.state),
            |entry| chunk.push(entry),
        );
        self.key_queues
            .take_drawn(|next| space.take(&next.state), |entry| chunk.push(entry));
    }

    /// Lets entries that are held join a chunk that has others of their lanes, as long as there is space. They have no partition
    /// key: a lane that shares calls is not split by key.
    pub(crate) fn join(&mut self, chunk: &mut Chunk<E>, space: &mut Space) {
        self.lanes.join(chunk, |next| space.take(&next.state));
    }

    /// All entries that wait.
    pub(crate) fn take_all(&mut self) -> Vec<TrackedEntry<E>> {
        let mut all = self.key_queues.take_all();
        all.extend(self.retry_queue.take_all());
        all.extend(self.bisections.take_all());
        all
    }
}
