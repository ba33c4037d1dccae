//! The order of entries that must not pass each other: which entries of each lane are out, and which are held behind them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::entry::{Chunk, TrackedEntry};
use crate::contract::Lane;

/// After a call was accepted in part: the number of calls in which no two entries of one lane share a call.
///
/// In such a call, accepted entries may have passed rejected ones of their lane. A service that accepts one call in a
/// thousand in part never shares calls; one that does so in one call in ten thousand loses a tenth of the sharing.
const UNSHARED_CALLS: u32 = 1_000;

/// Which entries of each lane are out, and which are held behind them.
///
/// An entry is out from the moment that it is sendable until it is settled. While one is out, later entries of the lane
/// are held, in the order of the input; when none is out, the first held one is released. Only in a lane that
/// shares calls do held entries join the call of the one that is out.
///
/// An entry costs one insertion and one removal; lanes without entries take no memory.
pub(crate) struct Lanes<E> {
    occupied: HashMap<u64, LaneState<E>, BuildHasherDefault<AlreadyHashed>>,
    held: usize,
    bytes: usize,
    /// Held entries that may join the next call of the entry before them.
    joinable: usize,
    /// For how many more calls entries of one lane do not share a call.
    unshared_calls: u32,
    /// Whether an entry whose lane is known waits behind those whose lanes are not.
    is_learning: bool,
}

/// The state of one lane.
struct LaneState<E> {
    /// Entries that were released and that are not settled: sendable, in flight, or waiting for a retry.
    out: u32,
    /// Whether the one entry that is out may leave with the next call, so that held ones may join it.
    is_open: bool,
    held: HeldInLane<E>,
}

impl<E> Lanes<E> {
    pub(crate) fn new() -> Self {
        Self {
            occupied: HashMap::default(),
            held: 0,
            bytes: 0,
            joinable: 0,
            unshared_calls: 0,
            is_learning: false,
        }
    }

    /// Whether no more entries should be read, until those whose lanes are not known are settled: those that come next have
    /// lanes that are known, and could pass them.
    pub(crate) fn is_learning(&self) -> bool {
        self.is_learning
    }

    /// The lane that a new entry enters: while entries are there whose lanes are not known, it waits behind them.
    pub(crate) fn lane_now(&mut self, lane: Lane) -> Lane {
        if lane.is_known() && self.occupied.contains_key(&Lane::unknown().hash()) {
            self.is_learning = true;
            return Lane::unknown();
        }
        lane
    }

    /// How many entries are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The bytes of the held entries.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many held entries may leave with the next call, together with the one that they are held behind.
    pub(crate) fn joinable(&self) -> usize {
        if self.unshared_calls > 0 { 0 } else { self.joinable }
    }

    /// The held entries without a known lane that may leave with the next call, in their order.
    pub(crate) fn joinable_of_unknown(&self) -> impl Iterator<Item = &TrackedEntry<E>> {
        let state = self.occupied.get(&Lane::unknown().hash());
        state
            .into_iter()
            .filter(|state| state.is_open)
            .flat_map(|state| state.held.iter())
    }

    /// A call was accepted in part: for some calls, no entries of one lane share a call.
    pub(crate) fn stop_sharing(&mut self) {
        self.unshared_calls = UNSHARED_CALLS;
    }

    /// An entry was read. If its lane is free, the entry occupies it and stays where it is; otherwise `take` moves it here
    /// and it is held.
    pub(crate) fn enter(&mut self, lane: Option<Lane>, take: impl FnOnce() -> Option<TrackedEntry<E>>) {
        let Some(lane) = lane else {
            return;
        };
        match self.occupied.entry(lane.hash()) {
            Entry::Vacant(free) => {
                free.insert(LaneState {
                    out: 1,
                    is_open: true,
                    held: HeldInLane::none(),
                });
            }
            Entry::Occupied(mut state) => {
                let Some(entry) = take() else {
                    return;
                };
                let state = state.get_mut();
                self.held += 1;
                self.bytes = self.bytes.saturating_add(entry.state.weight);
                self.joinable += usize::from(state.is_open && lane.shares_calls());
                state.held.push_back(entry);
            }
        }
    }

    /// How many are held in the lane.
    pub(crate) fn held_in(&self, lane: Option<Lane>) -> usize {
        if self.held == 0 {
            return 0;
        }
        let state = lane.map(Lane::hash).and_then(|hash| self.occupied.get(&hash));
        state.map_or(0, |state| state.held.len())
    }

    /// Removes the held entries that `newer`, which comes next, supersedes.
    ///
    /// Each new entry removes the one before it, so few are held and the search is short.
    pub(crate) fn supersede(
        &mut self,
        newer: &E,
        lane: Option<Lane>,
        supersedes: impl Fn(&E, &E) -> bool,
    ) -> Vec<TrackedEntry<E>> {
        let hash = lane.map(Lane::hash);
        let state = hash.and_then(|hash| self.occupied.get_mut(&hash));
        let Some(state) = state.filter(|state| state.held.len() > 0) else {
            return Vec::new();
        };
        let dropped = state.held.take_if(|older| supersedes(newer, &older.entry));
        self.held -= dropped.len();
        self.bytes -= dropped.iter().map(|older| older.state.weight).sum::<usize>();
        if state.is_open && lane.is_some_and(Lane::shares_calls) {
            self.joinable -= dropped.len();
        }
        dropped
    }

    /// Whether a held entry supersedes `older`, which is out.
    pub(crate) fn is_superseded(&self, older: &TrackedEntry<E>, supersedes: impl Fn(&E, &E) -> bool) -> bool {
        if self.held == 0 {
            return false;
        }
        let hash = older.state.lane.map(Lane::hash);
        let state = hash.and_then(|hash| self.occupied.get(&hash));
        state.is_some_and(|state| state.held.iter().any(|newer| supersedes(&newer.entry, &older.entry)))
    }

    /// The entry that is out is ready to be sent again.
    pub(crate) fn open(&mut self, lane: Option<Lane>) {
        let Some(state) = self.shared(lane) else {
            return;
        };
        if !state.is_open {
            state.is_open = true;
            let joinable = state.held.len();
            self.joinable += joinable;
        }
    }

    /// The state of the lane, if it shares calls.
    fn shared(&mut self, lane: Option<Lane>) -> Option<&mut LaneState<E>> {
        let hash = lane.filter(|lane| lane.shares_calls())?.hash();
        self.occupied.get_mut(&hash)
    }

    /// Lets the held entries that fit join the chunk, which is about to leave; after that no more may join.
    pub(crate) fn join(&mut self, chunk: &mut Chunk<E>, mut fits: impl FnMut(&TrackedEntry<E>) -> bool) {
        let shared = self.unshared_calls == 0;
        for place in 0..chunk.len() {
            let Some(lane) = chunk.states[place].lane.filter(|lane| lane.shares_calls()) else {
                continue;
            };
            let hash = lane.hash();
            let Some(state) = self.occupied.get_mut(&hash).filter(|state| state.is_open) else {
                continue;
            };
            state.is_open = false;
            self.joinable -= state.held.len();
            while let Some(joined) = state.held.pop_front_if(|next| shared && fits(next)) {
                state.out += 1;
                self.held -= 1;
                self.bytes = self.bytes.saturating_sub(joined.state.weight);
                chunk.push(joined);
            }
        }
        self.unshared_calls = self.unshared_calls.saturating_sub(1);
    }

    /// Puts a rejected entry in front of the held ones if an earlier entry of the lane is still out; returns it otherwise.
    ///
    /// Called for the last entry of a call first, so that the first one stays out and the others are held behind it in
    /// order.
    pub(crate) fn put_back(&mut self, entry: TrackedEntry<E>) -> Option<TrackedEntry<E>> {
        let hash = entry.state.lane.map(Lane::hash);
        let state = hash.and_then(|hash| self.occupied.get_mut(&hash));
        match state.filter(|state| state.out > 1) {
            None => Some(entry),
            Some(state) => {
                state.out -= 1;
                self.held += 1;
                self.bytes = self.bytes.saturating_add(entry.state.weight);
                state.held.push_front(entry);
                None
            }
        }
    }

    /// An entry that was out is settled. If none is out now, the next held one is released and returned.
    pub(crate) fn leave(&mut self, lane: Lane) -> Option<TrackedEntry<E>> {
        let Entry::Occupied(mut occupied) = self.occupied.entry(lane.hash()) else {
            return None;
        };
        let state = occupied.get_mut();
        state.out -= 1;
        if state.out > 0 {
            return None;
        }
        if state.is_open && lane.shares_calls() {
            self.joinable -= state.held.len();
        }
        let Some(next) = state.held.pop_front_if(|_| true) else {
            occupied.remove();
            self.is_learning &= lane.is_known();
            return None;
        };
        state.out = 1;
        state.is_open = true;
        self.held -= 1;
        self.bytes = self.bytes.saturating_sub(next.state.weight);
        if lane.shares_calls() {
            self.joinable += state.held.len();
        }
        Some(next)
    }

    /// Removes the held entries for which `goes` is true.
    pub(crate) fn take_if(&mut self, mut goes: impl FnMut(&TrackedEntry<E>) -> bool) -> Vec<TrackedEntry<E>> {
        if self.held == 0 {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for state in self.occupied.values_mut().filter(|state| state.held.len() > 0) {
            let is_open = state.is_open;
            for entry in state.held.take_if(&mut goes) {
                self.joinable -= usize::from(is_open && entry.state.lane.is_some_and(Lane::shares_calls));
                taken.push(entry);
            }
        }
        self.held -= taken.len();
        let bytes: usize = taken.iter().map(|entry| entry.state.weight).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }

    /// Removes all held entries and forgets those that are out.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = TrackedEntry<E>> + use<E> {
        (self.held, self.bytes, self.joinable, self.is_learning) = (0, 0, 0, false);
        std::mem::take(&mut self.occupied)
            .into_values()
            .flat_map(|state| state.held.take_all())
    }
}

/// A hasher that returns the hash of a lane as it is.
#[derive(Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the hash of a lane is a `u64`")
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The entries that are held in one lane, in the order of the input. Usually there are none; an empty list is as small as a
/// pointer.
#[expect(
    clippy::box_collection,
    reason = "a list of its own is four times as large, and mostly empty"
)]
pub(crate) struct HeldInLane<E>(Option<Box<VecDeque<TrackedEntry<E>>>>);

impl<E> HeldInLane<E> {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |held| held.len())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TrackedEntry<E>> {
        self.0.iter().flat_map(|held| held.iter())
    }

    pub(crate) fn push_back(&mut self, entry: TrackedEntry<E>) {
        self.0.get_or_insert_default().push_back(entry);
    }

    pub(crate) fn push_front(&mut self, entry: TrackedEntry<E>) {
        self.0.get_or_insert_default().push_front(entry);
    }

    pub(crate) fn pop_front_if(&mut self, goes: impl FnOnce(&TrackedEntry<E>) -> bool) -> Option<TrackedEntry<E>> {
        let held = self.0.as_mut()?;
        if goes(held.front()?) { held.pop_front() } else { None }
    }

    pub(crate) fn take_if(&mut self, mut goes: impl FnMut(&TrackedEntry<E>) -> bool) -> Vec<TrackedEntry<E>> {
        let Some(held) = &mut self.0 else {
            return Vec::new();
        };
        let (taken, kept): (VecDeque<_>, _) = std::mem::take(&mut **held).into_iter().partition(|entry| goes(entry));
        **held = kept;
        taken.into()
    }

    pub(crate) fn take_all(self) -> impl Iterator<Item = TrackedEntry<E>> {
        self.0.into_iter().flat_map(|held| *held)
    }
}

#[cfg(test)]
mod tests;
