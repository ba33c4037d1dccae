//! Fresh entries: read from the input and not sent yet.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::Instant;

use super::{DynInput, Incoming};
use crate::contract::{ErasedTarget, Fault, Lane, Limits, WantedTraits};
use crate::engine::entry::Confirmation;
use crate::engine::entry::Space;
use crate::engine::entry::{Chunk, EntryState, TrackedEntry};
use crate::guarded::guarded;
use crate::invalid::InvalidEntry;
use crate::report::Cause;

/// The input, and the entries that were read from it, were checked, are not sent yet and are sendable.
pub(crate) struct FreshEntries<'a, E> {
    input: DynInput<'a, E>,
    /// Whether the input yields nothing more.
    ended: bool,
    /// Whether all entries of the input were read.
    finished: bool,
    /// The panic of the input, if there was one; it is not polled again.
    fault: Option<Fault>,
    /// The next entry, already taken from the input.
    next: Option<Incoming<E>>,
    /// Sendable entries that were read last, in a chunk that becomes the chunk of the call: usually no entry has to be
    /// moved.
    checked: Chunk<E>,
    /// Entries that a lane held and has released, by position: they go in the order of the input.
    released: BTreeMap<u64, TrackedEntry<E>>,
    /// The memory that these take, in bytes.
    released_bytes: usize,
    /// The memory that the largest entry so far takes, in bytes.
    largest: usize,
}

/// The result of reading an entry.
pub(crate) enum ReadOutcome<E> {
    /// The entry is valid and measured; it is the newest one of the chunk.
    Checked,
    /// The entry cannot be delivered.
    Invalid(TrackedEntry<E>, InvalidEntry),
    /// The target panicked in a method that was called with the entry.
    Panicked(TrackedEntry<E>, Fault),
}

impl<'a, E> FreshEntries<'a, E> {
    pub(crate) fn new(input: DynInput<'a, E>) -> Self {
        Self {
            input,
            ended: false,
            finished: false,
            fault: None,
            next: None,
            checked: Chunk::with_capacity(0),
            released: BTreeMap::new(),
            released_bytes: 0,
            largest: 0,
        }
    }

    /// Whether the input yields nothing more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether all entries of the input were read.
    pub(crate) fn has_finished(&self) -> bool {
        self.finished
    }

    /// The panic of the input, if there was one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Why the delivery must not continue, if a handler of its entries has failed.
    pub(crate) fn stop(&self) -> Option<Fault> {
        self.input.stop()
    }

    /// The delivery ends before the input does.
    pub(crate) fn ends_early(&self) {
        self.input.ends_early();
    }

    /// Whether the input has an entry that is not read yet.
    pub(crate) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    /// When the entry that is not read yet was submitted, if it was sent to a producer.
    pub(crate) fn next_handed_over(&self) -> Option<Instant> {
        self.next.as_ref()?.handed_over
    }

    /// Reads the next entry, to be handed back without a check, if its time since then is used up.
    pub(crate) fn pop_expired(&mut self, now: Instant, patience: Duration) -> Option<TrackedEntry<E>> {
        let _ = self.poll_news(&mut Context::from_waker(Waker::noop()));
        let next = self.next.as_ref()?;
        let expiry = next.handed_over?.checked_add(patience)?;
        let state = EntryState::new(next.position, 0);
        (expiry <= now).then(|| self.tracked(state))?
    }

    /// How many more entries the input is known to have, without polling it; they may not be available yet.
    pub(crate) fn known(&self) -> usize {
        if self.ended {
            return 0;
        }
        guarded("the input", || self.input.known()).unwrap_or(0)
    }

    /// Ready when the input has an entry, has ended, or is in a hurry.
    pub(crate) fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.next.is_none() && !self.ended {
            let hurried = self.input.hurried();
            // An entry is stored where it stays: it is large, and each return moves it.
            let (input, next) = (&mut self.input, &mut self.next);
            match guarded("the input", || input.poll_next(context).map(|polled| *next = polled)) {
                Ok(Poll::Pending) if self.input.hurried() > hurried => return Poll::Ready(()),
                Ok(polled) => {
                    ready!(polled);
                    self.finished = self.next.is_none();
                }
                Err(fault) => self.fault = Some(fault),
            }
            self.ended = self.next.is_none();
        }
        Poll::Ready(())
    }

    /// Ready when it is known whether the input has an entry now.
    pub(crate) fn poll_answer(&mut self) -> Poll<()> {
        if self.next.is_some() || self.ended {
            return Poll::Ready(());
        }
        self.input.poll_answer()
    }

    /// The delivery has room for this many entries that take as many bytes each as the largest one so far.
    pub(crate) fn want(&mut self, entries: usize, bytes: usize) {
        let by_size = bytes.checked_div(self.largest).unwrap_or(1);
        self.input.want(entries.min(by_size).max(1));
    }

    /// Reads and checks the next entry of the input; `None` when none is available now, as far as is [known](Self::poll_answer).
    pub(crate) fn read(
        &mut self,
        target: &dyn ErasedTarget<E>,
        limits: &Limits,
        wanted: WantedTraits,
        now: Instant,
    ) -> Option<ReadOutcome<E>> {
        // Without a waker: when no entry is available, the loop polls again with its own waker.
        let _ = self.poll_news(&mut Context::from_waker(Waker::noop()));
        let incoming = self.next.as_mut()?;
        let entry = &mut incoming.entry;
        let identity = incoming.confirmation.as_ref().and_then(Confirmation::identity);
        let mut state = EntryState::new(incoming.position, 0);
        state.arrived = Some(incoming.handed_over.unwrap_or(now));
        let checked = guarded("the target's look at an entry", || {
            if let Some(identity) = &identity {
                target.identify(entry, identity);
            }
            state.bytes = measure(entry, target, limits)?;
            let traits = target.complete(entry, state.bytes, wanted);
            state.weight = traits.weight;
            state.lane = traits.lane;
            state.key = traits.partition_key;
            if let Some(units) = traits.units {
                state.cost = units.max(1);
            }
            Ok(())
        });
        match checked {
            Ok(Ok(())) => {
                self.largest = self.largest.max(state.weight);
                let read = self.tracked(state)?;
                self.checked.push(read);
                Some(ReadOutcome::Checked)
            }
            Ok(Err(invalid)) => {
                state.weight = weight_of_invalid(&invalid, limits);
                Some(ReadOutcome::Invalid(self.tracked(state)?, invalid))
            }
            Err(fault) => Some(ReadOutcome::Panicked(self.tracked(state)?, fault)),
        }
    }

    /// The next entry of the input, with its state.
    #[inline]
    fn tracked(&mut self, mut state: EntryState<E>) -> Option<TrackedEntry<E>> {
        let Incoming {
            entry, confirmation, ..
        } = self.next.take()?;
        state.confirmation = confirmation;
        Some(TrackedEntry { entry, state })
    }

    /// The entry that [`read`](Self::read) has just returned as checked, and its state.
    pub(crate) fn newest(&self) -> Option<(&E, &EntryState<E>)> {
        self.checked.entries.last().zip(self.checked.states.last())
    }

    /// Changes the lane of the entry that was read last, if it has one.
    pub(crate) fn change_newest_lane(&mut self, change: impl FnOnce(Lane) -> Lane) {
        let newest = self.checked.states.last_mut();
        if let Some(lane) = newest.and_then(|state| state.lane.as_mut()) {
            *lane = change(*lane);
        }
    }

    /// Removes the entry that was read last, because it is not sendable yet.
    pub(crate) fn pop_newest(&mut self) -> Option<TrackedEntry<E>> {
        self.checked.pop()
    }

    /// Adds an entry that its lane has released.
    pub(crate) fn push_released(&mut self, entry: TrackedEntry<E>) {
        self.released_bytes = self.released_bytes.saturating_add(entry.state.weight);
        self.released.insert(entry.state.position, entry);
    }

    /// How many entries are sendable.
    pub(crate) fn len(&self) -> usize {
        self.checked.len() + self.released.len()
    }

    /// How many bytes of a call the sendable entries need, without those that a lane has released.
    pub(crate) fn bytes(&self) -> usize {
        self.checked.bytes
    }

    /// How much memory the entries that a lane has released take.
    pub(crate) fn released_bytes(&self) -> usize {
        self.released_bytes
    }

    /// The states of the sendable entries, nearly in their order.
    pub(crate) fn states(&self) -> impl Iterator<Item = &EntryState<E>> {
        self.released
            .values()
            .map(|entry| &entry.state)
            .chain(&self.checked.states)
    }

    /// Moves the next sendable entries into the chunk while there is space.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk<E>, space: &mut Space) {
        while let Some(entry) = self.released.first_entry() {
            let position = *entry.key();
            let came_before = |state: &&EntryState<E>| state.position < position;
            let before = self.checked.states.iter().take_while(came_before).count();
            let taken = space.take_all(&self.checked.states[..before]);
            chunk.take_from(&mut self.checked, taken);
            if taken < before || !space.take(&entry.get().state) {
                return;
            }
            let entry = entry.remove();
            self.released_bytes = self.released_bytes.saturating_sub(entry.state.weight);
            chunk.push(entry);
        }
        let taken = space.take_all(&self.checked.states);
        chunk.take_from(&mut self.checked, taken);
    }

    /// The state of the next sendable entry.
    fn next_state(&self) -> Option<&EntryState<E>> {
        let released = self.released.first_key_value().map(|(_, entry)| &entry.state);
        let checked = self.checked.states.first();
        released.into_iter().chain(checked).min_by_key(|state| state.position)
    }

    /// Entries before this position do not linger.
    pub(crate) fn hurried(&self) -> u64 {
        self.input.hurried()
    }

    /// Until when the next sendable entry may wait for others that could share its call.
    pub(crate) fn lingers_until(&self, linger: Duration) -> Option<Instant> {
        let state = self.next_state()?;
        if self.ended || state.position < self.hurried() {
            return None;
        }
        state.arrived?.checked_add(linger)
    }

    /// Removes the sendable entries for which `goes` is true.
    pub(crate) fn take_if(&mut self, mut goes: impl FnMut(&EntryState<E>) -> bool) -> Vec<TrackedEntry<E>> {
        let mut taken = TrackedEntry::take_from(&mut self.released, &mut goes);
        let bytes: usize = taken.iter().map(|entry| entry.state.weight).sum();
        self.released_bytes = self.released_bytes.saturating_sub(bytes);
        taken.extend(self.checked.take_if(goes));
        taken
    }

    /// All sendable entries, to be handed back.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = TrackedEntry<E>> + use<E> {
        let checked = std::mem::replace(&mut self.checked, Chunk::with_capacity(0));
        let released = std::mem::take(&mut self.released).into_values();
        self.released_bytes = 0;
        released.chain(checked.into_tracked())
    }

    /// Lets the input hand back its unread entries without reading them. Ready when it has done so, or cannot.
    pub(crate) fn poll_hand_back(&mut self, context: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        if !self.ended {
            match guarded("the input", || self.input.poll_hand_back(context, cause)) {
                Ok(polled) => {
                    self.finished = ready!(polled);
                    self.ended = self.finished;
                }
                Err(fault) => {
                    self.fault = Some(fault);
                    self.ended = true;
                }
            }
        }
        Poll::Ready(())
    }

    /// The next entry of the input, to be handed back.
    pub(crate) fn pop_unread(&mut self, target: &dyn ErasedTarget<E>, limits: &Limits) -> Option<TrackedEntry<E>> {
        if self.next.is_none() && !self.ended {
            match guarded("the input", || self.input.unread()) {
                Ok(Poll::Ready(unread)) => {
                    self.next = unread;
                    self.finished = self.next.is_none();
                }
                Ok(Poll::Pending) if self.input.poll_answer().is_pending() => return None,
                Ok(Poll::Pending) => {}
                Err(fault) => self.fault = Some(fault),
            }
            self.ended = self.next.is_none();
        }
        let state = EntryState::new(self.next.as_ref()?.position, 0);
        let mut unread = self.tracked(state)?;
        if unread.state.confirmation.is_some() {
            // The entry takes memory until the handler has dealt with it.
            let weigh = || match measure(&unread.entry, target, limits) {
                Ok(bytes) => target.weight(&unread.entry, bytes),
                Err(invalid) => weight_of_invalid(&invalid, limits),
            };
            unread.state.weight = guarded("the target's look at an entry", weigh).unwrap_or_default();
        }
        Some(unread)
    }
}

/// How many bytes of a call the entry needs, or why no call can carry it.
fn measure<E>(entry: &E, target: &dyn ErasedTarget<E>, limits: &Limits) -> Result<usize, InvalidEntry> {
    let bytes = target.check(entry)?;
    if bytes > limits.bytes {
        return Err(InvalidEntry::TooLarge {
            part: "entry",
            limit: limits.bytes,
            actual: bytes,
        });
    }
    Ok(bytes)
}

/// How much memory an invalid entry takes: its size if known, otherwise a full share of a call.
fn weight_of_invalid(invalid: &InvalidEntry, limits: &Limits) -> usize {
    match invalid {
        InvalidEntry::TooLarge { actual, .. } => *actual,
        _ => limits.bytes / limits.entries.max(1),
    }
}

#[cfg(test)]
mod tests;
