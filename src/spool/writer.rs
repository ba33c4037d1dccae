//! Writes entries to disk in groups, and removes those that are settled.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::OptionFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::error::SpoolError;
use super::handle::{StoreHandle, blocking};
use super::options::SyncPolicy;
use super::room::{Room, RoomPermit};
use super::settlement::{Settlement, UnwrittenChanges};
use super::store::{Change, NewEntry, Store, Totals, cost};
use crate::events::SPOOL;
use crate::log_limit::LogLimit;
use crate::shutdown::joined;
use crate::time_limit::later;

/// The most entries of one group.
const GROUP: usize = 4_096;

/// The most bytes of one group, unless its first entry has more.
const GROUP_BYTES: usize = 4 << 20;

/// How long what is settled stays on disk if nothing else is written.
const SETTLED_FOR: Duration = Duration::from_secs(1);

/// How long after an error the writer waits before it tries again to write what is settled.
const PAUSE: Duration = Duration::from_secs(1);

/// How long after a removal, or after others were given back, free pages are given back to the file system. Until then later entries
/// may use them.
const GIVEN_BACK_AFTER: Duration = Duration::from_secs(1);

/// What the writer is asked for.
pub(super) enum Request {
    /// Write an entry, and report when that is done.
    Write {
        entry: NewEntry,
        place: RoomPermit,
        written: oneshot::Sender<Result<(), SpoolError>>,
    },
    /// Write what was asked for before, and end.
    Close,
}

/// Writes entries to disk in groups, and removes those that are settled.
pub(super) struct Writer {
    store: StoreHandle,
    requests: UnboundedReceiver<Request>,
    room: Arc<Room>,
    settlement: Arc<Settlement>,
    policy: SyncPolicy,
    drops_oldest: bool,
    totals: Totals,
    /// When what is settled is written at the latest.
    settled_by: Option<Instant>,
    /// When it is written at the latest which entries are in doubt.
    doubts_by: Option<Instant>,
    /// When free pages are given back to the file system.
    shrink_at: Option<Instant>,
    /// Since when the device may not have all that is written.
    unsynced_since: Option<Instant>,
    /// The device is asked for it.
    sync: Option<JoinHandle<Result<(), SpoolError>>>,
    /// The removals before this entry are durable when it has answered.
    synced_until: u64,
    /// How many entries were removed without being delivered.
    dropped: u64,
    /// Whether the last write has failed.
    is_failing: bool,
    warnings: LogLimit,
}

/// Entries that are written together.
#[derive(Default)]
struct Group {
    entries: Vec<NewEntry>,
    answers: Vec<(RoomPermit, oneshot::Sender<Result<(), SpoolError>>)>,
    bytes: usize,
    /// Whether it is the last one.
    closes: bool,
}

impl Group {
    fn add(&mut self, request: Request) {
        match request {
            Request::Write { entry, place, written } => {
                self.bytes += entry.json.len();
                self.entries.push(entry);
                self.answers.push((place, written));
            }
            Request::Close => self.closes = true,
        }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= GROUP || self.bytes >= GROUP_BYTES || self.closes
    }
}

impl Writer {
    pub(super) fn new(
        store: StoreHandle,
        requests: UnboundedReceiver<Request>,
        room: Arc<Room>,
        settlement: Arc<Settlement>,
        (policy, drops_oldest): (SyncPolicy, bool),
        totals: Totals,
    ) -> Self {
        Self {
            store,
            requests,
            room,
            settlement,
            policy,
            drops_oldest,
            totals,
            settled_by: None,
            doubts_by: None,
            // An earlier process may have left a large file.
            shrink_at: Some(Instant::now() + GIVEN_BACK_AFTER),
            unsynced_since: None,
            sync: None,
            synced_until: 0,
            dropped: 0,
            is_failing: false,
            warnings: LogLimit::default(),
        }
    }

    /// Writes until it is asked to close. Returns what is in the folder then, and how many entries were dropped.
    pub(super) async fn run(mut self) -> Result<(Totals, u64), SpoolError> {
        loop {
            let group = self.group().await;
            let closes = group.closes;
            let is_waited_for = self.room.is_waited_for();
            let now = Instant::now();
            let is_due = self.settled_by.take_if(|by| *by <= now).is_some() || closes || is_waited_for;
            let unwritten = if closes {
                self.settlement.last_unwritten()
            } else {
                self.settlement.unwritten()
            };
            let mut unwritten =
                unwritten.filter(|unwritten| is_due || unwritten.is_urgent || !group.entries.is_empty());
            if self.doubts_by.take_if(|by| *by <= now).is_some() || closes {
                let age = if closes { Duration::ZERO } else { SETTLED_FOR };
                let doubts = self.settlement.unwritten_doubts(age);
                if !doubts.is_empty() {
                    unwritten.get_or_insert_default().doubts = doubts;
                }
            }
            let mut written = Ok(());
            if (self.is_failing || is_waited_for) && unwritten.is_some() {
                // What is removed may make the room that the entries need.
                written = self.write(Group::default(), unwritten.take()).await;
            }
            if self.drops_oldest {
                self.make_room().await;
            }
            written = written.and(self.write(group, unwritten).await);
            if closes {
                return self.close(written).await;
            }
        }
    }

    /// Waits for something to write. Without entries, it is time to write what is settled, or to make room.
    async fn group(&mut self) -> Group {
        let mut group = Group::default();
        loop {
            if self.settled_by.is_none() && (self.settlement.has_unwritten() || self.room.is_waited_for()) {
                self.settled_by = Some(Instant::now() + SETTLED_FOR);
            }
            if self.doubts_by.is_none() && self.settlement.has_doubts() {
                self.doubts_by = Some(Instant::now() + SETTLED_FOR);
            }
            let sync_at = match (self.policy, self.unsynced_since, &self.sync) {
                (SyncPolicy::Every(time), Some(since), None) => Some(later(since, time)),
                _ => None,
            };
            if sync_at.is_some_and(|sync_at| sync_at <= Instant::now()) {
                self.begin_sync();
                continue;
            }
            tokio::select! {
                // Requests may be there always.
                biased;
                synced = ended(&mut self.sync) => { let _ = self.synced(synced); }
                request = self.requests.recv() => {
                    // All handles are dropped, and the delivery has ended.
                    group.add(request.unwrap_or(Request::Close));
                    while !group.is_full() && let Ok(request) = self.requests.try_recv() {
                        group.add(request);
                    }
                    return group;
                }
                Some(()) = OptionFuture::from(self.settled_by.map(sleep_until)) => return group,
                Some(()) = OptionFuture::from(self.doubts_by.map(sleep_until)) => return group,
                Some(()) = OptionFuture::from(sync_at.map(sleep_until)) => {}
                Some(()) = OptionFuture::from(self.shrink_at.map(sleep_until)) => self.shrink().await,
                () = self.room.wanted() => {
                    let may_make_room = self.drops_oldest || self.settlement.has_unwritten();
                    if may_make_room && !self.is_failing {
                        return group;
                    }
                }
                () = self.settlement.changed() => {
                    let is_waited_for = self.room.is_waited_for() && self.settlement.has_unwritten();
                    if (is_waited_for || self.settlement.is_urgent()) && !self.is_failing {
                        return group;
                    }
                }
            }
        }
    }

    /// Writes what is new, and removes what is settled. Without anything of both, it has nothing to do.
    async fn write(&mut self, group: Group, unwritten: Option<UnwrittenChanges>) -> Result<(), SpoolError> {
        if group.entries.is_empty() && unwritten.is_none() {
            return Ok(());
        }
        let Group { entries, answers, .. } = group;
        let unwritten = unwritten.unwrap_or_default();
        let taken: u64 = entries.iter().map(|entry| cost(entry.json.len())).sum();
        let change = Change {
            new: entries,
            refusals: unwritten.refusals.clone(),
            settled_until: unwritten.settled_until,
            settled_ahead: unwritten.settled_ahead.clone(),
            doubts: unwritten.doubts.clone(),
        };
        let each_is_durable = self.policy == SyncPolicy::EachGroup;
        // What a window waits for is sent next, and is to be known as sent after a loss of power. A durable commit would ask the device
        // for what was written before only if it changes something itself.
        let syncs = matches!(self.policy, SyncPolicy::Every(_)) && unwritten.is_urgent;
        let durable = each_is_durable || syncs;
        let applied = self.store.with(move |store| {
            let totals = store.apply(&change, each_is_durable)?;
            if syncs {
                store.sync()?;
            }
            Ok(totals)
        });
        match applied.await {
            Ok(totals) => {
                self.count(totals, taken);
                // The device has all that was written before, too.
                self.unsynced_since = (!durable).then(|| self.unsynced_since.unwrap_or_else(Instant::now));
                self.settled_by = None;
                self.is_failing = false;
                self.settlement.written(&unwritten);
                if durable || self.policy == SyncPolicy::Never {
                    self.settlement.durable_until(self.settlement.removed_until());
                }
                self.settlement.spooled_until(totals.next);
                for (place, written) in answers {
                    place.keep();
                    let _ = written.send(Ok(()));
                }
                Ok(())
            }
            Err(error) => {
                self.failed(&error);
                for (_, written) in answers {
                    let _ = written.send(Err(error.clone()));
                }
                Err(error)
            }
        }
    }

    /// This is in the folder now, of which this many bytes had a place before.
    fn count(&mut self, totals: Totals, taken: u64) {
        let before = self.totals.bytes + taken;
        self.totals = totals;
        if before > totals.bytes {
            self.shrink_at.get_or_insert_with(|| Instant::now() + GIVEN_BACK_AFTER);
        }
        if before >= totals.bytes {
            self.room.free(before - totals.bytes);
        } else {
            self.room.take(totals.bytes - before);
        }
    }

    /// What could not be written is tried again after a pause.
    fn failed(&mut self, error: &SpoolError) {
        self.warn(error);
        if matches!(error, SpoolError::Damaged { .. }) {
            self.settlement.damaged(error);
        }
        self.is_failing = true;
        self.settled_by = Some(Instant::now() + PAUSE);
    }

    /// Removes the oldest entries that were not read, until there is room for all that waits.
    async fn make_room(&mut self) {
        let missing = self.room.missing(self.totals.bytes);
        if missing == 0 {
            return;
        }
        let removed = self.store.with(move |store| {
            let dropped = store.drop_oldest(missing)?;
            Ok((dropped, store.totals()))
        });
        match removed.await {
            Ok((dropped, totals)) => {
                self.count(totals, 0);
                self.dropped += dropped;
                if dropped > 0 && self.warnings.permits() {
                    let dropped = self.dropped;
                    warn!(target: SPOOL, dropped, "the spool is full: its oldest entries were removed without being delivered");
                }
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Gives some free pages back to the file system, and others later if there are more and no entry waits for them.
    async fn shrink(&mut self) {
        self.shrink_at = Some(Instant::now() + GIVEN_BACK_AFTER);
        if self.room.is_waited_for() {
            return;
        }
        let shrunk = self.store.with(Store::shrink).await;
        if let Err(error) = &shrunk {
            self.warn(error);
        }
        if !shrunk.is_ok_and(|may_be_more| may_be_more) {
            self.shrink_at = None;
        }
    }

    fn begin_sync(&mut self) {
        self.unsynced_since = None;
        self.synced_until = self.settlement.removed_until();
        let store = self.store.clone();
        self.sync = Some(tokio::spawn(async move {
            let Some(log) = store.with(Store::log_to_sync).await? else {
                return Ok(());
            };
            // The device is asked while others write.
            let synced = blocking(move || log.sync_data()).await;
            store.with(|store| store.synced(synced)).await
        }));
    }

    fn synced(&mut self, synced: Result<(), SpoolError>) -> Result<(), SpoolError> {
        self.sync = None;
        match &synced {
            Ok(()) => self.settlement.durable_until(self.synced_until),
            Err(error) => {
                self.warn(error);
                self.unsynced_since.get_or_insert_with(Instant::now);
            }
        }
        synced
    }

    /// Closes the file after the last write, even if that has failed.
    async fn close(mut self, written: Result<(), SpoolError>) -> Result<(Totals, u64), SpoolError> {
        let mut synced = Ok(());
        if self.sync.is_some() {
            let ended = ended(&mut self.sync).await;
            synced = self.synced(ended);
        }
        if matches!(self.policy, SyncPolicy::Every(_)) && self.unsynced_since.is_some() {
            // The close does not move the log into the file while another process inspects it.
            self.begin_sync();
            let ended = ended(&mut self.sync).await;
            synced = self.synced(ended);
        }
        let closed = self.store.close().await;
        written.and(synced).and(closed)?;
        Ok((self.totals, self.dropped))
    }

    fn warn(&mut self, error: &SpoolError) {
        if self.warnings.permits() {
            warn!(target: SPOOL, error = error.to_string(), "the spool could not be written");
        }
    }
}

/// The result of the task, if there is one. Cancel-safe.
async fn ended(task: &mut Option<JoinHandle<Result<(), SpoolError>>>) -> Result<(), SpoolError> {
    match task {
        Some(task) => joined(task.await).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
