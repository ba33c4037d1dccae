//! Refused calls, which are halved until the entries at fault are alone.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::contract::Fault;
use crate::engine::entry::{Chunk, EntryState, TrackedEntry};

/// The shortest and the longest delay before an entry that was refused alone is sent again when no other can be compared with it. In
/// between it is as long as that has lasted, so that it doubles.
const DISPUTE_DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// The entries of a call that was refused as a whole.
///
/// The answer does not say which of them are at fault. The chunk is halved and each half is sent by itself, until the
/// entries at fault are alone. Halves are not topped up, because an entry at fault would cause more entries to be refused.
/// They are sent one after the other, so that entries keep their order, including those that were refused because one call
/// cannot carry both. An entry at fault among n costs two calls for each halving, of which there are log2(n), rounded up.
///
/// When an entry is rejected meanwhile, only entries that must not pass it wait for it: they become a bisection of their
/// own.
pub(crate) struct Bisection<E> {
    /// The chunks that are still to be sent, the last one next.
    open: Vec<Chunk<E>>,
    /// The position of an entry of the refused call, which tells it from others.
    origin: u64,
}

impl<E> Bisection<E> {
    /// Of the call with the entry at this position.
    pub(crate) fn of(origin: u64) -> Self {
        Self {
            open: Vec::new(),
            origin,
        }
    }

    /// The position of an entry of the refused call.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Entries that are still to be sent.
    fn len(&self) -> usize {
        self.open.iter().map(Chunk::len).sum()
    }

    fn bytes(&self) -> usize {
        self.states().map(|state| state.weight).sum()
    }

    /// The chunk was refused: its halves are sent next.
    pub(crate) fn halve(&mut self, mut chunk: Chunk<E>) {
        let second = chunk.split_off(chunk.len().div_ceil(2));
        self.push(second);
        self.push(chunk);
    }

    /// The chunk is sent next.
    pub(crate) fn push(&mut self, chunk: Chunk<E>) {
        if chunk.len() > 0 {
            self.open.push(chunk);
        }
    }

    /// The next chunk, of at most `count` entries and, unless it is one, at most `bytes`.
    fn next(&mut self, count: usize, bytes: usize) -> Option<Chunk<E>> {
        let mut chunk = self.open.pop()?;
        let sizes = chunk.states.iter().scan(0_usize, |sum, state| {
            *sum = sum.saturating_add(state.bytes);
            Some(*sum)
        });
        let count = sizes.take_while(|sum| *sum <= bytes).count().max(1).min(count);
        if chunk.len() > count {
            self.open.push(chunk.split_off(count));
        }
        Some(chunk)
    }

    /// Removes the entries that must not leave before `first` is settled.
    pub(crate) fn take_behind(&mut self, first: &Chunk<E>) -> Self {
        let mut behind = Self::of(self.origin);
        for chunk in std::mem::take(&mut self.open) {
            let (mut held, mut free) = (Chunk::with_capacity(0), Chunk::with_capacity(chunk.len()));
            for entry in chunk.into_tracked() {
                let waits = first.states.iter().any(|state| is_behind(&entry.state, state));
                if waits { &mut held } else { &mut free }.push(entry);
            }
            self.push(free);
            behind.push(held);
        }
        behind
    }

    /// Whether any entry must not leave before this one is settled.
    pub(crate) fn has_behind(&self, first: &EntryState<E>) -> bool {
        self.states().any(|state| is_behind(state, first))
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &EntryState<E>> {
        self.open.iter().flat_map(|chunk| &chunk.states)
    }

    /// The state of the next entry.
    fn next_state(&self) -> Option<&EntryState<E>> {
        self.open.last()?.states.first()
    }

    /// When its next entry was first refused alone.
    fn disputed_since(&self) -> Option<Instant> {
        self.next_state()?.history.as_ref()?.disputed_since
    }

    /// Whether its next entry was refused by the service itself.
    fn is_of_service(&self) -> bool {
        let history = self.next_state().and_then(|state| state.history.as_ref());
        let fault = history.and_then(|history| history.fault.as_ref());
        fault.is_none_or(|fault| !fault.is_ambiguous())
    }

    /// That its next entry was refused tells nothing of it.
    fn forget_dispute(&mut self) {
        let next = self.open.last_mut().and_then(|chunk| chunk.states.first_mut());
        if let Some(history) = next.and_then(|state| state.history.as_mut()) {
            history.disputed_since = None;
        }
    }

    pub(crate) fn into_entries(self) -> impl Iterator<Item = TrackedEntry<E>> {
        self.open.into_iter().flat_map(Chunk::into_tracked)
    }
}

/// Whether an entry of the bisection must not leave before an earlier one is settled.
fn is_behind<E>(later: &EntryState<E>, earlier: &EntryState<E>) -> bool {
    later.lane.is_some() && later.lane == earlier.lane
}

/// The bisections of which nothing is in flight.
pub(crate) struct Bisections<E> {
    waiting: Vec<(Instant, Bisection<E>)>,
    ready: VecDeque<Bisection<E>>,
    /// Those whose next entry was refused alone, while it is open whether it is at fault. They wait until another entry is
    /// accepted, or until there is nothing else to send.
    disputed: Vec<(Instant, Bisection<E>)>,
    /// Entries in all of them, and their bytes.
    len: usize,
    bytes: usize,
}

impl<E> Bisections<E> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            ready: VecDeque::new(),
            disputed: Vec::new(),
            len: 0,
            bytes: 0,
        }
    }

    /// Entries in all bisections.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all bisections.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Continues the bisection, at once or after a delay.
    pub(crate) fn put(&mut self, bisection: Bisection<E>, until: Option<Instant>) {
        if bisection.is_empty() {
            return;
        }
        self.len += bisection.len();
        self.bytes = self.bytes.saturating_add(bisection.bytes());
        match until {
            Some(until) => self.waiting.push((until, bisection)),
            None => self.ready.push_back(bisection),
        }
    }

    /// The next entry of the bisection was refused alone, and it is open whether it is at fault.
    pub(crate) fn dispute(&mut self, bisection: Bisection<E>, now: Instant) {
        self.len += bisection.len();
        self.bytes = self.bytes.saturating_add(bisection.bytes());
        let since = bisection.disputed_since().unwrap_or(now);
        let (shortest, longest) = DISPUTE_DELAYS;
        self.disputed
            .push((now + (now - since).clamp(shortest, longest), bisection));
    }

    /// An entry of a call that left at `sent_at` was accepted: those that were refused alone before are sent again. What is not
    /// the service's own answer has its delay as well, so that it is not asked for at every acceptance.
    ///
    /// If all calls were refused before (`of_all`), and not by the service, that tells nothing of the entries.
    pub(crate) fn accepted(&mut self, sent_at: Instant, of_all: bool, now: Instant) {
        let goes = |until: Instant, bisection: &Bisection<E>| {
            let is_older = bisection.disputed_since().is_none_or(|since| since < sent_at);
            is_older && (until <= now || bisection.is_of_service())
        };
        let older = self
            .disputed
            .extract_if(.., |(until, bisection)| goes(*until, bisection));
        self.ready.extend(older.map(|(_, mut bisection)| {
            if of_all && !bisection.is_of_service() {
                bisection.forget_dispute();
            }
            bisection
        }));
    }

    /// Sends one of the entries again that were refused alone, if its delay is over. Others may be accepted meanwhile.
    pub(crate) fn ask_again(&mut self, now: Instant) {
        if let Some(due) = self.disputed.iter().position(|(until, _)| *until <= now) {
            let (_, bisection) = self.disputed.remove(due);
            self.ready.push_back(bisection);
        }
    }

    /// Whether no other bisection waits.
    pub(crate) fn are_all_disputed(&self) -> bool {
        self.waiting.is_empty() && self.ready.is_empty()
    }

    /// The fault of the first entry that was refused alone, if there is one.
    pub(crate) fn first_disputed(&self) -> Option<&Fault> {
        let (_, bisection) = self.disputed.first()?;
        bisection.next_state()?.history.as_ref()?.fault.as_ref()
    }

    /// Makes the bisections ready whose delay is over.
    pub(crate) fn wake(&mut self, now: Instant) {
        let due = self.waiting.extract_if(.., |(until, _)| *until <= now);
        self.ready.extend(due.map(|(_, bisection)| bisection));
    }

    /// Makes all bisections ready at once, and starts the retries of their entries from 1.
    pub(crate) fn wake_all(&mut self) {
        self.ready.extend(
            self.waiting
                .drain(..)
                .chain(self.disputed.drain(..))
                .map(|(_, bisection)| bisection),
        );
        let chunks = self.ready.iter_mut().flat_map(|bisection| &mut bisection.open);
        let states = chunks.flat_map(|chunk| &mut chunk.states);
        states.for_each(EntryState::start_over);
    }

    /// When the next delay is over.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.waiting.iter().map(|(until, _)| *until).min()
    }

    /// When an entry that was refused alone may be sent again.
    pub(crate) fn next_asked(&self, now: Instant) -> Option<Instant> {
        let asked = self.disputed.iter().map(|(until, _)| *until);
        asked.filter(|until| *until > now).min()
    }

    /// How many entries the next chunk has; `None` when no bisection is ready.
    pub(crate) fn next_len(&self) -> Option<usize> {
        Some(self.ready.front()?.open.last()?.len())
    }

    /// The next chunk, with at most `count` entries and `bytes`, and its bisection.
    pub(crate) fn next(&mut self, count: usize, bytes: usize) -> Option<(Chunk<E>, Bisection<E>)> {
        let mut bisection = self.ready.pop_front()?;
        self.len -= bisection.len();
        self.bytes = self.bytes.saturating_sub(bisection.bytes());
        let chunk = bisection.next(count, bytes)?;
        Some((chunk, bisection))
    }

    /// Removes the entries for which `goes` is true.
    pub(crate) fn take_if(&mut self, mut goes: impl FnMut(&EntryState<E>) -> bool) -> Vec<TrackedEntry<E>> {
        let mut taken = Vec::new();
        let waiting = self
            .waiting
            .iter_mut()
            .chain(&mut self.disputed)
            .map(|(_, bisection)| bisection);
        for bisection in self.ready.iter_mut().chain(waiting) {
            for chunk in &mut bisection.open {
                taken.extend(chunk.take_if(&mut goes));
            }
            bisection.open.retain(|chunk| chunk.len() > 0);
        }
        self.ready.retain(|bisection| !bisection.is_empty());
        self.waiting.retain(|(_, bisection)| !bisection.is_empty());
        self.disputed.retain(|(_, bisection)| !bisection.is_empty());
        // Entries that waited behind one that has expired were not refused themselves.
        let is_free = |bisection: &Bisection<E>| bisection.disputed_since().is_none();
        let free = self.disputed.extract_if(.., |(_, bisection)| is_free(bisection));
        self.ready.extend(free.map(|(_, bisection)| bisection));
        self.len -= taken.len();
        let bytes = taken.iter().map(|entry| entry.state.weight).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }

    /// All entries, ready or not.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = TrackedEntry<E>> + use<E> {
        (self.len, self.bytes) = (0, 0);
        let disputed = std::mem::take(&mut self.disputed);
        let waiting = std::mem::take(&mut self.waiting)
            .into_iter()
            .chain(disputed)
            .map(|(_, bisection)| bisection);
        let ready = std::mem::take(&mut self.ready);
        ready.into_iter().chain(waiting).flat_map(Bisection::into_entries)
    }
}

#[cfg(test)]
mod tests;
