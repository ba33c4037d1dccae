//! The entries that are held in a lane.

use std::collections::VecDeque;

use crate::engine::entry::TrackedEntry;

/// The entries that are held in one lane, in the order of the input. Usually there are none; an empty list is as small as a
/// pointer.
#[expect(
    clippy::box_collection,
    reason = "a list of its own is four times as large, and mostly empty"
)]
pub(crate) struct Held<E>(Option<Box<VecDeque<TrackedEntry<E>>>>);

impl<E> Held<E> {
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
        self.0.as_mut()?.pop_front_if(|next| goes(next))
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
