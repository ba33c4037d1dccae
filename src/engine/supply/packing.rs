//! The next call: when it may leave, and with which entries.

use tokio::time::Instant;

use super::Supply;
use crate::engine::entry::{Chunk, Space};
use crate::engine::outcome::Ledger;
use crate::engine::retry::{Bisection, Linger};

/// A chunk, and the bisection that it belongs to.
pub(in crate::engine) type PackedChunk<E> = (Chunk<E>, Option<Bisection<E>>);

impl<E: Send + Sync + 'static> Supply<'_, E> {
    /// How many entries are sendable now or soon, as far as is known.
    fn may_soon_go(&self) -> usize {
        self.backlog.may_soon_go() + self.fresh.len()
    }

    /// Whether an entry may be sendable now or soon.
    pub(in crate::engine) fn may_send_soon(&self) -> bool {
        self.may_soon_go() > 0 || self.backlog.bisections.next_len().is_some()
    }

    /// Whether the known entries fill at least this many calls.
    pub(in crate::engine) fn fills_calls(&self, calls: usize) -> bool {
        let known = self.may_soon_go().saturating_add(self.fresh.known());
        known >= self.limits.entries.saturating_mul(calls)
    }

    /// How many entries the next chunk may have, if they are small.
    pub(in crate::engine) fn next_len(&self) -> usize {
        self.backlog.bisections.next_len().unwrap_or_else(|| self.sendable())
    }

    fn sendable(&self) -> usize {
        let most = self.limits.entries.max(1);
        let ready = self.backlog.ready(most) + self.fresh.len();
        // A held entry can only share a call with a ready one.
        let joinable = if ready > 0 { self.backlog.lanes.joinable() } else { 0 };
        (ready + joinable).min(most)
    }

    /// What the entries of the next chunk count for with a strategy that counts units; `None` when entries are counted. Of the held
    /// ones of known lanes that may join it, each counts for 1, which is the least.
    pub(in crate::engine) fn next_cost(&self) -> Option<usize> {
        if self.backlog.bisections.next_len().is_some() || !self.options.gate.strategy.counts_units() {
            return None;
        }
        let most = self.limits.entries.max(1);
        let lanes = &self.backlog.lanes;
        let of_unknown = || lanes.joinable_of_unknown().map(|entry| &entry.state);
        let next = self
            .backlog
            .ready_states()
            .chain(self.fresh.states())
            .chain(of_unknown())
            .take(most);
        let (ready, cost) = next.fold((0, 0), |(ready, cost), state| (ready + 1, cost + state.cost));
        let by_key = self.backlog.ready_by_key(most);
        let joinable = lanes.joinable().saturating_sub(of_unknown().take(most).count());
        Some(cost + by_key + joinable.min(most.saturating_sub(ready + by_key)))
    }

    /// The next chunk, and the bisection that it belongs to, if it is a part of a refused call. `None` if there is nothing to
    /// send. Its entries count for at most `most`.
    pub(in crate::engine) fn next_chunk(&mut self, most: usize, ledger: &mut Ledger<E>) -> Option<PackedChunk<E>> {
        let bytes = self.call_limits().bytes;
        let (chunk, bisection) = match self.backlog.bisections.next(most, bytes) {
            Some((chunk, bisection)) => (chunk, Some(bisection)),
            None => (self.pack(most, ledger), None),
        };
        if chunk.len() == 0 {
            return None;
        }
        self.sizes.leaves(chunk.bytes);
        Some((chunk, bisection))
    }

    /// Packs a chunk whose entries count for at most `cost` and of which none is superseded. The first entry is packed
    /// whatever it costs.
    ///
    /// Rejected entries go first. Entries that are held in a lane but may share its call go last, so that a call carries
    /// few entries of one lane if possible.
    fn pack(&mut self, cost: usize, ledger: &mut Ledger<E>) -> Chunk<E> {
        let expected = cost.min(self.sendable());
        let mut chunk = self.emptied.pop().unwrap_or_else(|| Chunk::with_capacity(expected));
        loop {
            let mut space = Space::left_in(&chunk, &self.call_limits(), cost);
            self.backlog.fill(&mut chunk, &mut space);
            self.fresh.fill(&mut chunk, &mut space);
            self.backlog.join(&mut chunk, &mut space);
            let may_be_superseded = self.options.last_write_wins && self.backlog.lanes.held() > 0;
            if !may_be_superseded || !self.drop_superseded(&mut chunk, ledger) {
                return chunk;
            }
        }
    }

    /// Drops superseded entries. Returns whether there were any.
    fn drop_superseded(&mut self, chunk: &mut Chunk<E>, ledger: &mut Ledger<E>) -> bool {
        let packed = chunk.len();
        let taken = std::mem::replace(chunk, Chunk::with_capacity(packed));
        for entry in taken.into_tracked() {
            if self.is_superseded(&entry) {
                let lane = entry.state.lane;
                ledger.no_longer_waits(&entry.state);
                ledger.superseded(entry);
                self.leave(lane);
            } else {
                chunk.push(entry);
            }
        }
        chunk.len() < packed
    }

    /// Lets a call that is not full wait, for at most the linger, for entries that are held behind entries in flight.
    ///
    /// Otherwise calls that became small through a few rejections would stay small: the entries of a small call are settled
    /// together and release equally few.
    pub(in crate::engine) fn gather(&mut self, now: Instant, is_in_flight: bool) {
        let may_fill = is_in_flight && self.backlog.lanes.held() > 0 && self.backlog.bisections.next_len().is_none();
        let is_short = may_fill && (1..self.limits.entries).contains(&self.sendable());
        if !is_short {
            self.gathering = None;
        } else if self.gathering.is_none() {
            self.gathering = now.checked_add(self.options.linger);
        }
    }

    /// Until when a chunk that is not full waits for more entries; `None` when it does not wait.
    ///
    /// Rejected entries do not linger: they have already waited for their retry.
    pub(in crate::engine) fn lingers_until(&self, now: Instant, ledger: &Ledger<E>) -> Option<Instant> {
        if let Some(until) = self.gathering.filter(|until| *until > now) {
            return Some(until);
        }
        let is_full = self.sendable() >= self.limits.entries;
        if is_full || !self.wants_more(ledger) || self.backlog.is_urgent() {
            return None;
        }
        let by_key = match self.backlog.linger(now, &self.options, self.fresh.hurried()) {
            Linger::No => return None,
            Linger::Until(until) => Some(until),
            Linger::NoneWait => None,
        };
        let fresh = self.fresh.lingers_until(self.options.linger);
        fresh.into_iter().chain(by_key).min().filter(|until| *until > now)
    }
}
