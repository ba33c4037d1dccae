//! What there is to send: read, lined up in its lane, packed.

use super::deliver::Delivering;
use super::pack::pack;
use super::ticket::{Chunk, Ticketed};
use crate::report::Cause;
use crate::target::{BatchTarget, Lane};

/// Entries of one delivery that may wait, rejected ones and those held in their lanes, before no more are read, so that a
/// long input cannot pile up in memory behind a service that takes nothing. Far more than can be in flight, so that some
/// blocked keys hold nothing up: at 1,000 writes/s and one blocked key in ten it is full after 100 s.
const WAITING_ENTRIES: usize = 10_000;

/// The same in bytes: four calls of the largest size that any of the services takes.
const WAITING_BYTES: usize = 64 << 20;

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Iterator<Item = T::Entry>,
{
    /// Reads and checks fresh entries for the next chunk, unless too many wait.
    pub(super) fn refill(&mut self) {
        let wanted = self.limits.entries.max(1);
        if self.fresh.len() >= wanted {
            return;
        }
        let elsewhere = (
            self.waiting.len() + self.cases.len(),
            self.waiting.bytes().saturating_add(self.cases.bytes()),
        );
        // Entries that are superseded as soon as they are read would be read without end.
        let mut reads = 0..WAITING_ENTRIES;
        while self.fresh.len() < wanted
            && elsewhere.0 + self.lanes.held() < WAITING_ENTRIES
            && elsewhere.1.saturating_add(self.lanes.bytes()) < WAITING_BYTES
        {
            match self.fresh.read(&*self.target, &self.limits) {
                None => return,
                Some(Err((entry, invalid))) => self.ledger.hand_back(entry, Cause::Invalid(invalid)),
                Some(Ok(mut entry)) => {
                    if self.options.gate.counts_units() {
                        entry.ticket.cost = self.target.units(&entry.entry).max(1);
                    }
                    self.line_up(entry);
                    // Whoever is not at hand is held behind someone who is out, so that there is a next time.
                    if reads.next().is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// An entry was read: it may go, or is held in its lane.
    fn line_up(&mut self, entry: Ticketed<T::Entry>) {
        if self.options.last_write_wins {
            let target = &*self.target;
            let superseded = self
                .lanes
                .supersede(&entry, |newer, older| target.supersedes(newer, older));
            self.ledger.superseded(superseded);
        }
        if let Some(entry) = self.lanes.enter(entry) {
            self.fresh.push(entry);
        }
    }

    /// Whether an entry that is out of its lane need not arrive any more.
    pub(super) fn is_outdated(&self, entry: &Ticketed<T::Entry>) -> bool {
        let supersedes = |newer: &T::Entry, older: &T::Entry| self.target.supersedes(newer, older);
        self.options.last_write_wins && self.lanes.is_superseded(entry, supersedes)
    }

    /// The fate of an entry is known: the next one of its lane may go.
    pub(super) fn leave(&mut self, lane: Option<Lane>) {
        let Some(next) = lane.and_then(|lane| self.lanes.leave(lane)) else {
            return;
        };
        if next.ticket.attempts == 0 {
            self.fresh.let_out(next);
        } else {
            self.waiting.let_out(next);
        }
    }

    /// How many entries the next chunk may have, if they are small.
    pub(super) fn sendable(&self) -> usize {
        let ready = self.waiting.ready() + self.fresh.len();
        // Nobody rides where nobody drives.
        let riders = if ready > 0 { self.lanes.riders() } else { 0 };
        (ready + riders).min(self.limits.entries.max(1))
    }

    /// What the entries of the next chunk count for with the strategy, without those that ride.
    pub(super) fn sendable_cost(&self) -> usize {
        let ready = self.waiting.iter_ready().chain(self.fresh.iter());
        let next = ready.take(self.limits.entries.max(1));
        next.map(|entry| entry.ticket.cost).sum()
    }

    /// Packs a chunk whose entries count for at most `cost`, none of which is outdated.
    pub(super) fn pack(&mut self, cost: usize) -> Chunk<T::Entry> {
        let expected = cost.min(self.sendable());
        let mut chunk = Chunk::with_capacity(expected);
        loop {
            let Self {
                limits,
                waiting,
                fresh,
                lanes,
                ..
            } = self;
            pack(&mut chunk, cost, limits, waiting, fresh, lanes);
            if !self.options.last_write_wins || self.lanes.held() == 0 || !self.drop_outdated(&mut chunk) {
                return chunk;
            }
        }
    }

    /// Drops what need not arrive any more. Returns whether there was any.
    fn drop_outdated(&mut self, chunk: &mut Chunk<T::Entry>) -> bool {
        let packed = chunk.len();
        let taken = std::mem::replace(chunk, Chunk::with_capacity(packed));
        for entry in taken.into_ticketed() {
            if self.is_outdated(&entry) {
                self.supersede(&entry);
            } else {
                chunk.push(entry);
            }
        }
        chunk.len() < packed
    }

    /// An entry that waited need not arrive any more.
    pub(super) fn supersede(&mut self, entry: &Ticketed<T::Entry>) {
        if entry.ticket.attempts > 0 {
            self.ledger.waits_no_more();
        }
        self.ledger.superseded(1);
        self.leave(entry.ticket.lane);
    }
}
