//! What there is to send: read, lined up in its lane, packed.

use std::sync::OnceLock;

use tokio::time::Instant;

use super::delivering::Delivering;
use super::fresh::Read;
use super::guarded::guarded;
use super::input::Input;
use super::pack::{Sources, pack};
use super::tracked_entry::{Chunk, TrackedEntry};
use crate::report::Cause;
use crate::targets::{BatchTarget, Fault, Lane};

/// Entries that are read before the loop looks after other things.
const READS_AT_ONCE: usize = 10_000;

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    /// Whether more entries are to be read: for the next chunk, unless too many wait, so that a long input does not pile up in
    /// memory behind a service that takes nothing.
    pub(super) fn wants_more(&self) -> bool {
        let wanted = self.limits.entries.max(1);
        !self.fresh.has_ended()
            && self.fresh.len() < wanted
            && self.fresh.bytes() < self.limits.bytes
            && self.held_back() + self.hand_backs.len() < self.options.read_ahead
            && self.held_back_bytes().saturating_add(self.hand_backs.bytes()) < self.options.read_ahead_bytes
            && self.fault.get().is_none()
    }

    /// How many entries wait that may not go with the next chunk: rejected ones, those held in their lanes, those that wait
    /// by their keys.
    fn held_back(&self) -> usize {
        self.retry_queue.len() + self.key_lines.len() + self.bisections.len() + self.lanes.held()
    }

    /// Their bytes.
    fn held_back_bytes(&self) -> usize {
        self.retry_queue.bytes() + self.key_lines.bytes() + self.bisections.bytes() + self.lanes.bytes()
    }

    /// Shows how many entries were read and are in no call.
    pub(super) fn tell_read_ahead(&mut self) {
        let entries = self.held_back() + self.fresh.len();
        let bytes = self.held_back_bytes() + self.fresh.bytes() + self.fresh.let_out_bytes();
        self.ledger.reads_ahead(entries, bytes);
    }

    /// Reads and checks entries as long as there are some and they are wanted. Returns whether it was enough for now.
    ///
    /// Entries that are superseded as soon as they are read would be read without end; so others have their turn in between.
    pub(super) fn refill(&mut self, now: Instant) -> bool {
        let mut reads = 0..READS_AT_ONCE;
        while self.wants_more() {
            if reads.next().is_none() {
                return false;
            }
            let counts_units = self.options.gate.counts_units();
            let paces_keys = self.paces_keys;
            match self
                .fresh
                .read(&*self.target, &self.limits, counts_units, paces_keys, now)
            {
                None => break,
                Some(Read::Checked) => self.line_up(),
                Some(Read::Invalid(entry, invalid)) => self.ledger.hand_back(entry, Cause::Invalid(invalid)),
                Some(Read::Panicked(entry, fault)) => {
                    self.ledger.hand_back(entry, Cause::Stopped(fault.clone()));
                    self.fault.get_or_init(|| fault);
                }
            }
        }
        true
    }

    /// An entry was read: it may go, or is held in its lane.
    fn line_up(&mut self) {
        let Some((newest, lane)) = self.fresh.newest() else {
            return;
        };
        if self.options.last_write_wins {
            let superseded = self
                .lanes
                .supersede(newest, lane, overwrites(&*self.target, &self.fault));
            for older in superseded {
                self.ledger.superseded(older);
            }
        }
        let mut is_held = false;
        self.lanes.enter(lane, || {
            is_held = true;
            self.fresh.pop_newest()
        });
        if self.hot_keys_seen > 0
            && !is_held
            && let Some(newest) = self.fresh.pop_newest()
        {
            self.let_out(newest);
        }
    }

    /// An entry may go: in its turn, or with the line of its key.
    fn let_out(&mut self, entry: TrackedEntry<T::Entry>) {
        let is_fresh = entry.state.history.is_none();
        let key = entry.state.key.filter(|_| self.hot_keys_seen > 0);
        match key.map(|key| (key, self.options.gate.is_hot(key))) {
            Some((key, is_hot)) if is_hot || is_fresh => self.key_lines.push(key, is_hot, entry),
            _ if is_fresh => self.fresh.let_out(entry),
            _ => self.retry_queue.let_out(entry),
        }
    }

    /// From the first hot key on, what may go waits by its key; and when another key has become hot, it moves to its line.
    pub(super) fn heed_hot_keys(&mut self) {
        let seen = self.options.gate.hot_keys_seen();
        if seen == self.hot_keys_seen || !self.paces_keys {
            return;
        }
        self.hot_keys_seen = seen;
        let Self {
            options,
            fresh,
            retry_queue,
            key_lines,
            ..
        } = self;
        let is_hot = |key| options.gate.is_hot(key);
        key_lines.sort(is_hot);
        let rejected = retry_queue.take_if(|state| state.key.is_some_and(is_hot));
        let may_go: Vec<_> = fresh.take_all().chain(rejected).collect();
        for entry in may_go {
            self.let_out(entry);
        }
    }

    /// Whether an entry that is out of its lane need not arrive any more.
    pub(super) fn is_outdated(&self, entry: &TrackedEntry<T::Entry>) -> bool {
        self.options.last_write_wins && self.lanes.is_superseded(entry, overwrites(&*self.target, &self.fault))
    }

    /// The fate of an entry is known: the next one of its lane may go.
    pub(super) fn leave(&mut self, lane: Option<Lane>) {
        let Some(next) = lane.and_then(|lane| self.lanes.leave(lane)) else {
            return;
        };
        self.let_out(next);
    }

    /// How many entries the next chunk may have, if they are small.
    pub(super) fn sendable(&self) -> usize {
        let ready = self.retry_queue.ready() + self.fresh.len() + self.ready_by_key();
        // Held entries can only share a call that leaves for a ready one.
        let joinable = if ready > 0 { self.lanes.joinable() } else { 0 };
        (ready + joinable).min(self.limits.entries.max(1))
    }

    /// What the entries of the next chunk count for with the strategy, without held ones that share
    /// its call.
    pub(super) fn sendable_cost(&self) -> usize {
        let ready = self.retry_queue.iter_ready().map(|entry| &entry.state);
        let next = ready.chain(self.fresh.states()).take(self.limits.entries.max(1));
        next.map(|state| state.cost).sum::<usize>() + self.ready_by_key()
    }

    /// How many entries may go of those that wait by their keys.
    fn ready_by_key(&self) -> usize {
        if self.key_lines.len() == 0 {
            return 0;
        }
        self.key_lines.ready(Instant::now(), self.limits.entries.max(1))
    }

    /// Packs a chunk whose entries count for at most `cost`, none of which is outdated.
    pub(super) fn pack(&mut self, cost: usize) -> Chunk<T::Entry> {
        let expected = cost.min(self.sendable());
        let mut chunk = self.emptied.pop().unwrap_or_else(|| Chunk::with_capacity(expected));
        loop {
            let Self {
                limits,
                retry_queue,
                key_lines,
                options,
                fresh,
                lanes,
                ..
            } = self;
            let from = Sources {
                retry_queue,
                key_lines,
                gate: &options.gate,
                fresh,
                lanes,
            };
            pack(&mut chunk, cost, limits, from);
            if !self.options.last_write_wins || self.lanes.held() == 0 || !self.drop_outdated(&mut chunk) {
                return chunk;
            }
        }
    }

    /// Drops what need not arrive any more. Returns whether there was any.
    fn drop_outdated(&mut self, chunk: &mut Chunk<T::Entry>) -> bool {
        let packed = chunk.len();
        let taken = std::mem::replace(chunk, Chunk::with_capacity(packed));
        for entry in taken.into_tracked() {
            if self.is_outdated(&entry) {
                self.supersede(entry);
            } else {
                chunk.push(entry);
            }
        }
        chunk.len() < packed
    }

    /// Until when a chunk that is not full waits for more entries; `None` when it does not.
    ///
    /// Entries that were rejected do not wait for more: they have waited enough.
    pub(super) fn lingers_until(&self, now: Instant) -> Option<Instant> {
        let is_full = self.sendable() >= self.limits.entries || self.fresh.bytes() >= self.limits.bytes;
        if is_full || !self.wants_more() || self.retry_queue.ready() > 0 || self.bisections.next_len().is_some() {
            return None;
        }
        let by_key = self.key_lines.lingers_until(now, self.options.linger);
        if self.key_lines.len() > 0 && by_key.is_none() {
            return None;
        }
        let fresh = self.fresh.lingers_until(self.options.linger);
        fresh.into_iter().chain(by_key).min().filter(|until| *until > now)
    }

    /// An entry that waited need not arrive any more.
    pub(super) fn supersede(&mut self, entry: TrackedEntry<T::Entry>) {
        if entry.state.history.is_some() {
            self.ledger.waits_no_more();
        }
        let lane = entry.state.lane;
        self.ledger.superseded(entry);
        self.leave(lane);
    }
}

/// Whether a newer entry leaves nothing of an older one. A target that panics over it has said no.
fn overwrites<T: BatchTarget>(target: &T, fault: &OnceLock<Fault>) -> impl Fn(&T::Entry, &T::Entry) -> bool {
    |newer, older| {
        guarded("the target's `supersedes`", || target.supersedes(newer, older)).unwrap_or_else(|panicked| {
            fault.get_or_init(|| panicked);
            false
        })
    }
}
