//! The groups of a FIFO queue of which messages are held.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

/// The groups of which a message is ready, handed out or released, and the messages that wait behind it.
#[derive(Default)]
pub(super) struct Groups {
    groups: HashMap<Arc<str>, Group>,
    /// When messages that wait behind a released one are given up, if that does not come again.
    overdue: BTreeSet<(Instant, Arc<str>)>,
}

#[derive(Default)]
struct Group {
    waiting: VecDeque<u64>,
    released: Option<ReleasedMessage>,
}

/// A message that was released, and is the next one of its group when it comes again.
struct ReleasedMessage {
    id: String,
    until: Instant,
}

impl Groups {
    /// A message was received. Returns whether it is the next one of its group.
    pub(super) fn enter(&mut self, name: &Arc<str>, number: u64, id: &str) -> bool {
        let Some(group) = self.groups.get_mut(name) else {
            self.groups.insert(Arc::clone(name), Group::default());
            return true;
        };
        if let Some(released) = group.released.take_if(|released| released.id == id) {
            self.overdue.remove(&(released.until, Arc::clone(name)));
            return true;
        }
        group.waiting.push_back(number);
        false
    }

    /// The first message of the group does not come again. Returns the next one.
    pub(super) fn leave(&mut self, name: &Arc<str>) -> Option<u64> {
        let next = self.groups.get_mut(name)?.waiting.pop_front();
        if next.is_none() {
            self.groups.remove(name);
        }
        next
    }

    /// The first message of the group was released. What waits behind it waits on, until this moment.
    pub(super) fn release(&mut self, name: &Arc<str>, id: &str, until: Instant) {
        let Some(group) = self.groups.get_mut(name) else { return };
        if group.waiting.is_empty() {
            self.groups.remove(name);
            return;
        }
        let id = id.to_owned();
        group.released = Some(ReleasedMessage { id, until });
        self.overdue.insert((until, Arc::clone(name)));
    }

    /// The group is given up. Returns the messages that have waited.
    pub(super) fn remove(&mut self, name: &Arc<str>) -> VecDeque<u64> {
        let Some(group) = self.groups.remove(name) else {
            return VecDeque::new();
        };
        if let Some(released) = group.released {
            self.overdue.remove(&(released.until, Arc::clone(name)));
        }
        group.waiting
    }

    /// The messages behind released ones that have not come again in time. Their groups are given up.
    pub(super) fn take_overdue(&mut self, now: Instant) -> Vec<u64> {
        let mut given_up = Vec::new();
        while self.next_overdue().is_some_and(|until| until <= now)
            && let Some((_, name)) = self.overdue.pop_first()
        {
            given_up.extend(self.groups.remove(&name).into_iter().flat_map(|group| group.waiting));
        }
        given_up
    }

    /// The messages behind all released ones. Their groups are given up.
    pub(super) fn take_released(&mut self) -> Vec<u64> {
        let released = std::mem::take(&mut self.overdue);
        let groups = released.into_iter().filter_map(|(_, name)| self.groups.remove(&name));
        groups.flat_map(|group| group.waiting).collect()
    }

    pub(super) fn next_overdue(&self) -> Option<Instant> {
        self.overdue.first().map(|(until, _)| *until)
    }

    /// Messages that wait behind others.
    pub(super) fn waiting(&self) -> usize {
        self.groups.values().map(|group| group.waiting.len()).sum()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
