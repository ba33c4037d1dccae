//! All bisections of which nothing is in flight.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::bisection::Bisection;
use super::disputed::DisputedBisections;
use crate::contract::Fault;
use crate::engine::entry::{Chunk, EntryState, TrackedEntry};

/// The bisections of which nothing is in flight.
pub(crate) struct Bisections<E> {
    waiting: Vec<(Instant, Bisection<E>)>,
    ready: VecDeque<Bisection<E>>,
    disputed: DisputedBisections<E>,
    /// Entries in all of them, and their bytes.
    len: usize,
    bytes: usize,
}

impl<E> Bisections<E> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            ready: VecDeque::new(),
            disputed: DisputedBisections::none(),
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
        self.count(&bisection);
        match until {
            Some(until) => self.waiting.push((until, bisection)),
            None => self.ready.push_back(bisection),
        }
    }

    /// The next entry of the bisection was refused alone, and it is open whether it is at fault.
    pub(crate) fn dispute(&mut self, bisection: Bisection<E>, now: Instant) {
        self.count(&bisection);
        self.disputed.add(bisection, now);
    }

    fn count(&mut self, bisection: &Bisection<E>) {
        self.len += bisection.len();
        self.bytes = self.bytes.saturating_add(bisection.bytes());
    }

    /// An entry of a call that left at `sent_at` was accepted: see [`DisputedBisections::accepted`].
    pub(crate) fn accepted(&mut self, sent_at: Instant, of_all: bool, now: Instant) {
        self.ready.extend(self.disputed.accepted(sent_at, of_all, now));
    }

    /// Sends one of the entries again that were refused alone, if its delay is over.
    pub(crate) fn ask_again(&mut self, now: Instant) {
        self.ready.extend(self.disputed.take_due(now));
    }

    /// Whether no other bisection waits.
    pub(crate) fn are_all_disputed(&self) -> bool {
        self.waiting.is_empty() && self.ready.is_empty()
    }

    /// The fault of the first entry that was refused alone, if there is one.
    pub(crate) fn first_disputed(&self) -> Option<&Fault> {
        self.disputed.first_fault()
    }

    /// Makes the bisections ready whose delay is over.
    pub(crate) fn wake(&mut self, now: Instant) {
        let due = self.waiting.extract_if(.., |(until, _)| *until <= now);
        self.ready.extend(due.map(|(_, bisection)| bisection));
    }

    /// Makes all bisections ready at once, and starts the retries of their entries from 1.
    pub(crate) fn wake_all(&mut self) {
        let waiting = self.waiting.drain(..).map(|(_, bisection)| bisection);
        self.ready.extend(waiting.chain(self.disputed.take_all()));
        self.ready.iter_mut().for_each(Bisection::start_over);
    }

    /// When the next delay is over.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.waiting.iter().map(|(until, _)| *until).min()
    }

    /// When an entry that was refused alone may be sent again.
    pub(crate) fn next_asked(&self, now: Instant) -> Option<Instant> {
        self.disputed.next_due(now)
    }

    /// How many entries the next chunk has; `None` when no bisection is ready.
    pub(crate) fn next_len(&self) -> Option<usize> {
        self.ready.front()?.next_len()
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
        let waiting = self.waiting.iter_mut().map(|(_, bisection)| bisection);
        let all = self.ready.iter_mut().chain(waiting).chain(self.disputed.iter_mut());
        let taken: Vec<_> = all.flat_map(|bisection| bisection.take_if(&mut goes)).collect();
        self.ready.retain(|bisection| !bisection.is_empty());
        self.waiting.retain(|(_, bisection)| !bisection.is_empty());
        self.ready.extend(self.disputed.take_free());
        self.len -= taken.len();
        let bytes = taken.iter().map(|entry| entry.state.weight).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }

    /// All entries, ready or not.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = TrackedEntry<E>> + use<E> {
        (self.len, self.bytes) = (0, 0);
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let waiting = waiting.map(|(_, bisection)| bisection).chain(self.disputed.take_all());
        let ready = std::mem::take(&mut self.ready);
        ready.into_iter().chain(waiting).flat_map(Bisection::into_entries)
    }
}

#[cfg(test)]
mod tests;
