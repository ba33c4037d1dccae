//! What is settled, what of that is on disk, and how far the delivery may go.

use std::collections::BTreeMap;
use std::mem::take;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures::task::AtomicWaker;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, watch};

use super::clock;
use super::error::SpoolError;
use super::store::Refusal;
use crate::contract::{Doubts, Identity};
use crate::log_limit::LogLimit;
use crate::moment::Moment;
use crate::progress::Mark;
use crate::sync::{Mutex, MutexGuard};

/// The removals of a window are written in this many parts, so that it need not be full before it moves.
const PARTS: u64 = 4;

/// What is settled, what of that is on disk, and how far the delivery may go.
///
/// Entries are counted from 0 on, for as long as the folder exists. Only the entries before the first one that is not settled are
/// removed from the folder. So after a crash all that may have been sent is sent again in its order, and an old value that is sent
/// again is followed by each newer one.
#[derive(Debug)]
pub(super) struct Settlement {
    state: Mutex<SettlementState>,
    /// How many entries may be sent that are still on disk.
    window: u64,
    /// Something is to be written.
    changed: Notify,
    /// Entries do not linger from now on.
    hurried: Notify,
    /// Wakes the delivery when it may read more, or is in a hurry.
    reader: AtomicWaker,
    /// How far the entries are settled.
    until: watch::Sender<SettledPosition>,
    /// By what the entries are distinguished from those of other folders.
    id: u128,
    /// Which entries may have been delivered although no answer has said so.
    doubts: Arc<Doubts>,
}

/// All entries before this one are settled.
#[derive(Debug)]
struct SettledPosition {
    number: u64,
    /// Why no more will be settled, if something is wrong with the folder.
    damage: Option<SpoolError>,
}

/// What a folder has when it is opened.
#[derive(Debug, Default)]
pub(super) struct OpenedStore {
    /// The number of the first entry.
    pub(super) first: u64,
    /// The number of the next new entry.
    pub(super) end: u64,
    pub(super) id: u128,
    /// Entries that may have been delivered, and since when, in milliseconds since 1970.
    pub(super) doubts: Vec<(u64, i64)>,
}

#[derive(Debug)]
struct SettlementState {
    mark: Mark,
    /// All entries before this one are removed from the disk.
    removed_until: u64,
    /// All entries before this one are removed as durably as they need to be.
    gone_until: u64,
    /// Entries that were refused and are not marked so on disk.
    refusals: Vec<Refusal>,
    /// Limits the warnings that an entry was refused.
    warnings: LogLimit,
    /// The doubts as the folder has them.
    doubts_on_disk: BTreeMap<u64, i64>,
    /// How often code of the program has panicked with an entry that is not settled.
    panics: BTreeMap<u64, u32>,
    /// How many entries are settled without being delivered, because of the entries themselves.
    undelivered: u64,
    /// The number of the next new entry.
    end: u64,
    /// Entries before this one were read by a delivery.
    seen_until: u64,
    /// Entries before this one do not linger.
    hurried_until: u64,
}

impl SettlementState {
    /// How many entries are settled whose removal a loss of power may undo.
    fn ahead(&self) -> u64 {
        self.mark.until() - self.gone_until + self.refusals.len() as u64
    }

    fn is_all_written(&self) -> bool {
        self.mark.until() == self.removed_until && self.refusals.is_empty()
    }
}

/// What is to be written.
#[derive(Debug, Clone, Default)]
pub(super) struct UnwrittenChanges {
    pub(super) settled_until: u64,
    /// Settled entries after the first that is not settled, which are removed when nothing is sent.
    pub(super) settled_ahead: Vec<Range<u64>>,
    pub(super) refusals: Vec<Refusal>,
    /// Entries that may have been delivered since these times, in milliseconds since 1970, and those that may no more.
    pub(super) doubts: Vec<(u64, Option<i64>)>,
    /// Whether a part of the window waits for it.
    pub(super) is_urgent: bool,
}

impl Settlement {
    pub(super) fn new(opened: OpenedStore, window: usize) -> Self {
        let OpenedStore { first, end, id, doubts } = opened;
        let doubts_on_disk = doubts.into_iter().collect::<BTreeMap<_, _>>();
        let doubts = doubts_on_disk
            .iter()
            .map(|(number, since)| (*number, Moment::of_time(clock::time(*since))));
        Self {
            id,
            doubts: Arc::new(Doubts::of(doubts)),
            state: Mutex::new(SettlementState {
                mark: Mark::at(first),
                removed_until: first,
                gone_until: first,
                refusals: Vec::new(),
                warnings: LogLimit::default(),
                doubts_on_disk,
                panics: BTreeMap::new(),
                undelivered: 0,
                end,
                seen_until: first,
                hurried_until: 0,
            }),
            window: window as u64,
            changed: Notify::new(),
            hurried: Notify::new(),
            reader: AtomicWaker::new(),
            until: watch::Sender::new(SettledPosition {
                number: first,
                damage: None,
            }),
        }
    }

    /// By what the service recognizes this entry when it is sent again. Another entry that gets its number after a loss of power was
    /// submitted at another time.
    pub(super) fn identity(&self, number: u64, spooled_at: i64) -> Identity {
        let entry = u128::from(number) << u64::BITS | u128::from(spooled_at.cast_unsigned());
        Identity::among(self.id ^ entry, number, &self.doubts)
    }

    /// Something is wrong with the folder, so that no more entries are read.
    pub(super) fn damaged(&self, error: &SpoolError) {
        self.until.send_modify(|until| until.damage = Some(error.clone()));
    }

    /// These entries are settled.
    pub(super) fn settle(&self, entries: Range<u64>) {
        let state = self.state();
        state.mark.settle(entries);
        self.settled(&state);
    }

    /// The entry is refused for good, and a handler has it.
    pub(super) fn handled(&self, number: u64) {
        self.state().undelivered += 1;
        self.settle(number..number + 1);
    }

    /// The entry is refused for good, and is to be kept separately.
    pub(super) fn refuse(&self, refusal: Refusal) {
        let mut state = self.state();
        let number = refusal.number;
        state.refusals.push(refusal);
        state.undelivered += 1;
        state.mark.settle(number..number + 1);
        self.settled(&state);
    }

    /// Whether none was logged for some time.
    pub(super) fn may_warn_of_refusal(&self) -> bool {
        self.state().warnings.permits()
    }

    /// Code of the program has panicked with this entry. It may be another time, or it may be the entry.
    pub(super) fn panicked(&self, number: u64) {
        let mut state = self.state();
        let until = state.mark.until();
        state.panics.retain(|number, _| *number >= until);
        *state.panics.entry(number).or_default() += 1;
    }

    /// Whether each delivery would end at this entry.
    pub(super) fn has_panicked_twice(&self, number: u64) -> bool {
        self.state().panics.get(&number).is_some_and(|panics| *panics >= 2)
    }

    /// How many entries are settled without being delivered, because of the entries themselves.
    pub(super) fn undelivered(&self) -> u64 {
        self.state().undelivered
    }

    fn settled(&self, state: &SettlementState) {
        let until = state.mark.until();
        self.until
            .send_if_modified(|before| std::mem::replace(&mut before.number, until) != until);
        self.changed.notify_one();
    }

    /// Whether this entry, which is on disk, is settled.
    pub(super) fn is_settled(&self, number: u64) -> bool {
        self.state().mark.has(number)
    }

    /// A delivery has read all entries there are in this range, and these are not there.
    pub(super) fn read(&self, range: Range<u64>, missing: impl IntoIterator<Item = Range<u64>>) {
        let mut state = self.state();
        let seen_until = state.seen_until;
        for gap in missing {
            // What was read before is missing because it was refused, and is settled.
            let gap = gap.start.max(seen_until)..gap.end;
            if !gap.is_empty() {
                state.mark.settle(gap);
            }
        }
        state.seen_until = seen_until.max(range.end);
        self.settled(&state);
    }

    /// The first entry that is not settled, with which a delivery begins.
    pub(super) fn until(&self) -> u64 {
        self.state().mark.until()
    }

    /// Waits until all entries before this one are settled.
    ///
    /// # Errors
    /// When they will not be, because the folder is damaged.
    pub(super) async fn settled_until(&self, end: u64) -> Result<(), SpoolError> {
        let mut changes = self.until.subscribe();
        let ended = changes.wait_for(|until| until.number >= end || until.damage.is_some());
        match ended.await {
            Ok(until) if until.number < end => until.damage.clone().map_or(Ok(()), Err),
            // The sender is part of this.
            _ => Ok(()),
        }
    }

    /// Before which entry the delivery may read now. Wakes it when that is more.
    pub(super) fn readable_until(&self, waker: &Waker) -> u64 {
        self.reader.register(waker);
        let state = self.state();
        state.end.min(state.gone_until.saturating_add(self.window))
    }

    /// Entries before this one do not linger. Wakes the delivery when that are more.
    pub(super) fn hurried_until(&self, waker: &Waker) -> u64 {
        self.reader.register(waker);
        self.state().hurried_until
    }

    /// Completes when entries are in a hurry from then on, even if that is before it is awaited.
    pub(super) fn hurried(&self) -> Pin<Box<Notified<'_>>> {
        let mut hurried = Box::pin(self.hurried.notified());
        hurried.as_mut().enable();
        hurried
    }

    /// The entries so far do not linger. Returns the number of the next one.
    pub(super) fn hurry(&self) -> u64 {
        let mut state = self.state();
        state.hurried_until = state.end;
        let end = state.end;
        drop(state);
        self.reader.wake();
        self.hurried.notify_waiters();
        end
    }

    /// Entries before this number are on disk.
    pub(super) fn spooled_until(&self, end: u64) {
        self.state().end = end;
        self.reader.wake();
    }

    /// Waits until something has changed.
    pub(super) async fn changed(&self) {
        tokio::select! {
            () = self.changed.notified() => {}
            () = self.doubts.noted() => {}
        }
    }

    /// Whether something is to be written.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.state().is_all_written()
    }

    /// Whether an entry is in doubt, or known so on disk. Which ones may then change at any time, without a notification.
    pub(super) fn has_doubts(&self) -> bool {
        !self.doubts.is_empty() || !self.state().doubts_on_disk.is_empty()
    }

    /// Which entries have been in doubt for so long, or are gone, and are not known so on disk.
    pub(super) fn unwritten_doubts(&self, age: Duration) -> Vec<(u64, Option<i64>)> {
        let mut state = self.state();
        let until = state.mark.until();
        state.doubts_on_disk = state.doubts_on_disk.split_off(&until);
        let lasting = self.doubts.lasting(until, age);
        let gone = state
            .doubts_on_disk
            .keys()
            .filter(|number| !lasting.contains_key(number));
        let gone: Vec<_> = gone.map(|number| (*number, None)).collect();
        let new = lasting
            .iter()
            .map(|(number, doubt)| (*number, Some(clock::of(doubt.time))));
        let new = new.filter(|(number, since)| state.doubts_on_disk.get(number) != since.as_ref());
        new.chain(gone).collect()
    }

    /// Whether a part of the window waits for a write.
    pub(super) fn is_urgent(&self) -> bool {
        self.is_part(self.state().ahead())
    }

    /// What is to be written; `None` if that is nothing. If it is urgent, what was written before may be part of it.
    pub(super) fn unwritten(&self) -> Option<UnwrittenChanges> {
        let state = self.state();
        let is_urgent = self.is_part(state.ahead());
        (!state.is_all_written() || is_urgent).then(|| UnwrittenChanges {
            settled_until: state.mark.until(),
            settled_ahead: Vec::new(),
            doubts: Vec::new(),
            refusals: state.refusals.clone(),
            is_urgent,
        })
    }

    /// What is to be written when the delivery has ended. No entry was sent while an older one of its key was not settled, so those
    /// that are left are in order without the settled ones between them.
    pub(super) fn last_unwritten(&self) -> Option<UnwrittenChanges> {
        let settled_ahead = self.state().mark.ahead();
        let unwritten = self.unwritten();
        if settled_ahead.is_empty() {
            return unwritten;
        }
        Some(UnwrittenChanges {
            settled_ahead,
            ..unwritten.unwrap_or_default()
        })
    }

    /// This was written. Until its removals are [durable](Self::durable_until), the delivery may not go further because of them.
    pub(super) fn written(&self, written: &UnwrittenChanges) {
        let mut state = self.state();
        state.removed_until = state.removed_until.max(written.settled_until);
        let refusals = take(&mut state.refusals);
        state.refusals = refusals.into_iter().skip(written.refusals.len()).collect();
        for (number, since) in &written.doubts {
            match since {
                Some(since) => _ = state.doubts_on_disk.insert(*number, *since),
                None => _ = state.doubts_on_disk.remove(number),
            }
        }
    }

    /// All entries before this one are removed from the disk.
    pub(super) fn removed_until(&self) -> u64 {
        self.state().removed_until
    }

    /// The removals before this entry are as durable as they need to be.
    pub(super) fn durable_until(&self, number: u64) {
        let mut state = self.state();
        state.gone_until = state.gone_until.max(number);
        drop(state);
        self.reader.wake();
    }

    /// Whether this many entries are a part of the window.
    fn is_part(&self, entries: u64) -> bool {
        entries >= self.window.div_ceil(PARTS)
    }

    fn state(&self) -> MutexGuard<'_, SettlementState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
