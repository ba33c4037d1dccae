//! The entries to send: reads them, orders them by lane, and packs them into chunks.
//!
//! - `packing`: the next call: when it may leave, and with which entries.
//! - `leftovers`: what a call did not deliver, and entries whose time is used up.

mod leftovers;
mod packing;

use std::sync::{Arc, OnceLock};

use tokio::time::Instant;

use super::entry::{Chunk, TrackedEntry};
use super::health::{Outage, SizeLimit};
use super::input::{DynInput, FreshEntries, ReadOutcome};
use super::outcome::Ledger;
use super::retry::{Backlog, Expiries};
use crate::contract::{ErasedTarget, Fault, Lane, Limits, WantedTraits};
use crate::guarded::guarded;
use crate::options::DeliveryOptions;
use crate::report::Cause;

/// The entries to send: fresh ones, and those in the backlog.
pub(super) struct Supply<'a, E> {
    target: Arc<dyn ErasedTarget<E>>,
    options: Arc<DeliveryOptions>,
    /// Those of the target.
    pub(super) limits: Limits,
    sizes: SizeLimit,
    pub(super) fresh: FreshEntries<'a, E>,
    pub(super) backlog: Backlog<E>,
    /// Chunks whose entries were all delivered; their memory is used again.
    emptied: Vec<Chunk<E>>,
    /// Until when a call that is not full waits for entries that are held behind entries in flight.
    gathering: Option<Instant>,
    /// When to look for entries whose time is used up.
    expiries: Expiries,
    /// Whether no entry is given up for its time, because the process has just gone on after it was frozen.
    pub(super) is_patient: bool,
    /// Whether the strategy paces single partition keys.
    paces_keys: bool,
    /// The panic of the target outside of a call, if there was one.
    fault: OnceLock<Fault>,
}

impl<'a, E: Send + Sync + 'static> Supply<'a, E> {
    pub(super) fn new(target: Arc<dyn ErasedTarget<E>>, input: DynInput<'a, E>, options: DeliveryOptions) -> Self {
        Self {
            target,
            limits: Limits::new(0, 0),
            sizes: SizeLimit::default(),
            fresh: FreshEntries::new(input),
            backlog: Backlog::new(&options.gate),
            emptied: Vec::new(),
            gathering: None,
            expiries: Expiries::default(),
            is_patient: false,
            paces_keys: options.gate.strategy.paces_keys(),
            fault: OnceLock::new(),
            options: Arc::new(options),
        }
    }

    /// The panic of the target outside of a call, if there was one.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.get()
    }

    /// Whether there is nothing left to send and the input has ended.
    pub(super) fn is_exhausted(&self) -> bool {
        self.fresh.len() == 0 && self.backlog.is_empty() && self.fresh.has_ended()
    }

    /// Whether more entries should be read for the next chunk. Not while too many wait, so that a long input does not fill
    /// the memory while the service accepts nothing, or while a handler of undelivered entries is slow.
    pub(super) fn wants_more(&self, ledger: &Ledger<E>) -> bool {
        let wanted = self.limits.entries.max(1);
        let (handed_back, their_bytes) = ledger.handing_back();
        !self.fresh.has_ended()
            && self.fresh.len() < wanted
            && self.fresh.bytes() < self.call_limits().bytes
            && self.backlog.len() + handed_back < self.options.read_ahead
            && self.backlog.bytes().saturating_add(their_bytes) < self.options.read_ahead_bytes
            && self.fault.get().is_none()
            && !self.backlog.lanes.is_learning()
    }

    /// How many entries, and how many of their bytes, may be read for the next chunk.
    fn room(&self, ledger: &Ledger<E>) -> (usize, usize) {
        let (handed_back, their_bytes) = ledger.handing_back();
        let entries = self.limits.entries.max(1).saturating_sub(self.fresh.len());
        let ahead = self.options.read_ahead.saturating_sub(self.backlog.len() + handed_back);
        let bytes = self.call_limits().bytes.saturating_sub(self.fresh.bytes());
        let waiting = self.backlog.bytes().saturating_add(their_bytes);
        (
            entries.min(ahead),
            bytes.min(self.options.read_ahead_bytes.saturating_sub(waiting)),
        )
    }

    /// The limits of the next call, as far as they are known from the target and from the calls before it.
    fn call_limits(&self) -> Limits {
        self.sizes.within(self.limits)
    }

    /// How many entries were read and are in no call, and their bytes.
    pub(super) fn read_ahead(&self) -> (usize, usize) {
        let entries = self.backlog.len() + self.fresh.len();
        let bytes = self.backlog.bytes() + self.fresh.bytes() + self.fresh.released_bytes();
        (entries, bytes)
    }

    /// Reads and checks entries while more are available and wanted. Returns `false` when more may be available at once.
    ///
    /// The number of `reads` is limited, because entries that are superseded at once could otherwise be read without end.
    pub(super) fn refill(
        &mut self,
        now: Instant,
        reads: &mut usize,
        ledger: &mut Ledger<E>,
        outage: Option<Outage<'_>>,
    ) -> bool {
        let wanted = WantedTraits {
            units: self.options.gate.strategy.counts_units(),
            partition_keys: self.paces_keys,
        };
        let (entries, bytes) = self.room(ledger);
        self.fresh.want(entries, bytes);
        while self.wants_more(ledger) {
            if *reads == 0 {
                return false;
            }
            let read = self.fresh.read(&*self.target, &self.limits, wanted, now);
            *reads -= usize::from(read.is_some());
            match read {
                None => break,
                Some(ReadOutcome::Checked) => self.line_up(now, ledger, outage),
                Some(ReadOutcome::Invalid(entry, invalid)) => ledger.hand_back(entry, Cause::Invalid(invalid)),
                Some(ReadOutcome::Panicked(entry, fault)) => {
                    if let Some(confirmation) = &entry.state.confirmation {
                        confirmation.panicked();
                    }
                    ledger.hand_back(entry, Cause::Stopped(fault.clone()));
                    self.fault.get_or_init(|| fault);
                }
            }
        }
        true
    }

    /// An entry was read: it becomes sendable, or is held in its lane.
    fn line_up(&mut self, now: Instant, ledger: &mut Ledger<E>, outage: Option<Outage<'_>>) {
        let lanes = &mut self.backlog.lanes;
        self.fresh.change_newest_lane(|lane| lanes.lane_now(lane));
        let Some((newest, state)) = self.fresh.newest() else {
            return;
        };
        if !self.is_patient && state.expiry(&self.options).is_some_and(|expiry| expiry <= now) {
            if let Some(expired) = self.fresh.pop_newest() {
                ledger.give_up(expired, now, outage);
            }
            return;
        }
        self.expiries.note(state, &self.options);
        let lane = state.lane;
        let lanes = &mut self.backlog.lanes;
        if self.options.last_write_wins {
            for older in lanes.supersede(newest, lane, overwrites(&*self.target, &self.fault)) {
                ledger.no_longer_waits(&older.state);
                ledger.superseded(older);
            }
        }
        let mut is_held = false;
        lanes.enter(lane, || {
            is_held = true;
            self.fresh.pop_newest()
        });
        if self.backlog.is_by_key()
            && !is_held
            && let Some(newest) = self.fresh.pop_newest()
        {
            self.release(newest);
        }
    }

    fn release(&mut self, entry: TrackedEntry<E>) {
        if let Some(fresh) = self.backlog.release(entry) {
            self.fresh.push_released(fresh);
        }
    }

    /// Once a key is hot, sendable entries wait by their key. When another key has become hot, its entries move to the queue
    /// of that key.
    pub(super) fn update_hot_keys(&mut self) {
        if !self.paces_keys || !self.backlog.has_new_hot_key() {
            return;
        }
        let rejected = self.backlog.update_hot_keys();
        let may_go: Vec<_> = self.fresh.take_all().chain(rejected).collect();
        for entry in may_go {
            self.release(entry);
        }
    }

    /// Whether an entry that its lane has released is superseded by one that the lane holds.
    pub(super) fn is_superseded(&self, entry: &TrackedEntry<E>) -> bool {
        let overwrites = overwrites(&*self.target, &self.fault);
        self.options.last_write_wins && self.backlog.lanes.is_superseded(entry, overwrites)
    }

    /// Whether nothing may be sent, except entries that were refused alone.
    pub(super) fn has_only_disputed(&self) -> bool {
        self.fresh.len() == 0 && self.backlog.is_quiet()
    }

    /// An entry is settled: the next one of its lane becomes sendable.
    fn leave(&mut self, lane: Option<Lane>) {
        if let Some(fresh) = self.backlog.leave(lane) {
            self.fresh.push_released(fresh);
        }
    }

    /// The next moments at which something changes without an event.
    pub(super) fn next_events(&self, now: Instant, ledger: &Ledger<E>) -> impl Iterator<Item = Instant> {
        self.backlog
            .next_events(now)
            .chain(self.expiries.next())
            .chain(self.lingers_until(now, ledger))
    }

    /// The next entry of the input, to be handed back.
    pub(super) fn pop_unread(&mut self) -> Option<TrackedEntry<E>> {
        self.fresh.pop_unread(&*self.target, &self.limits)
    }

    /// All entries that were read, except those that are held in lanes.
    pub(super) fn take_all(&mut self) -> Vec<TrackedEntry<E>> {
        let mut all = self.backlog.take_all();
        all.extend(self.fresh.take_all());
        all
    }
}

/// Whether a newer entry overwrites an older one completely. A panic of the target counts as no.
fn overwrites<E>(target: &dyn ErasedTarget<E>, fault: &OnceLock<Fault>) -> impl Fn(&E, &E) -> bool {
    |newer, older| {
        guarded("the target's `supersedes`", || target.supersedes(newer, older)).unwrap_or_else(|panicked| {
            fault.get_or_init(|| panicked);
            false
        })
    }
}
