//! The bytes that are left for entries, on disk and in memory.

use std::sync::{Arc, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::sync::{Mutex, MutexGuard};

/// Bytes of entries that are submitted and not on disk. They are some groups of the writer, so that the next one is complete while
/// the device writes the last one.
const IN_MEMORY: usize = 8 << 20;

/// The bytes that are left for entries, on disk and in memory. Entries that wait for some get them in the order in which they came.
#[derive(Debug)]
pub(super) struct Room {
    max_bytes: u64,
    disk: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    counts: Arc<Mutex<Counts>>,
    /// An entry has begun to wait for room on disk.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct Counts {
    /// Bytes on disk beyond the limit.
    excess: u64,
    /// Bytes of the entries that have room or wait for it, and are not on disk.
    claimed: u64,
    /// How many entries wait for room on disk.
    waiting: u64,
}

/// The place of an entry. What it takes on disk stays taken when it is [kept](Self::keep).
#[derive(Debug)]
pub(super) struct RoomPermit {
    disk: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
    _claim: Claim,
}

/// Bytes of an entry that is not on disk.
#[derive(Debug)]
struct Claim {
    counts: Arc<Mutex<Counts>>,
    bytes: u64,
    is_waiting: bool,
}

/// There will be no more room.
#[derive(Debug)]
pub(super) struct RoomClosed;

impl Room {
    /// Of these bytes, this many are taken.
    pub(super) fn new(max_bytes: u64, taken: u64) -> Self {
        // More cannot be counted.
        let max_bytes = max_bytes.min(Semaphore::MAX_PERMITS as u64);
        let counts = Counts {
            excess: taken.saturating_sub(max_bytes),
            ..Counts::default()
        };
        Self {
            max_bytes,
            disk: Arc::new(Semaphore::new(permits(max_bytes.saturating_sub(taken)))),
            memory: Arc::new(Semaphore::new(IN_MEMORY)),
            counts: Arc::new(Mutex::new(counts)),
            wanted: Notify::new(),
        }
    }

    /// Waits for this many bytes on disk, and this many in memory.
    pub(super) async fn place(&self, disk: u64, memory: usize) -> Result<RoomPermit, RoomClosed> {
        let memory = u32::try_from(memory.min(IN_MEMORY)).map_err(|_| RoomClosed)?;
        let memory = Arc::clone(&self.memory).acquire_many_owned(memory).await;
        let memory = memory.map_err(|_| RoomClosed)?;
        let permits = u32::try_from(disk).map_err(|_| RoomClosed)?;
        let mut claim = Claim::of(&self.counts, disk);
        let disk = match Arc::clone(&self.disk).try_acquire_many_owned(permits) {
            Ok(disk) => disk,
            Err(TryAcquireError::Closed) => return Err(RoomClosed),
            Err(TryAcquireError::NoPermits) => {
                claim.wait(true);
                self.wanted.notify_one();
                let disk = Arc::clone(&self.disk).acquire_many_owned(permits).await;
                claim.wait(false);
                disk.map_err(|_| RoomClosed)?
            }
        };
        Ok(RoomPermit {
            disk,
            _memory: memory,
            _claim: claim,
        })
    }

    /// Waits until an entry has begun to wait for room on disk.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Whether an entry waits for room on disk.
    pub(super) fn is_waited_for(&self) -> bool {
        counts(&self.counts).waiting > 0
    }

    /// The bytes that are to be removed from the disk, which has this many, until there is room for all that waits.
    pub(super) fn missing(&self, on_disk: u64) -> u64 {
        let counts = counts(&self.counts);
        if counts.waiting == 0 {
            return 0;
        }
        on_disk.saturating_add(counts.claimed).saturating_sub(self.max_bytes)
    }

    /// These many bytes on disk are free again.
    pub(super) fn free(&self, bytes: u64) {
        let mut counts = counts(&self.counts);
        let of_excess = bytes.min(counts.excess);
        counts.excess -= of_excess;
        self.disk.add_permits(permits(bytes - of_excess));
    }

    /// These many more bytes on disk are taken, whether there is room or not.
    pub(super) fn take(&self, bytes: u64) {
        let mut counts = counts(&self.counts);
        let taken = self.disk.forget_permits(permits(bytes)) as u64;
        counts.excess += bytes - taken;
    }

    /// There will be no more room.
    pub(super) fn close(&self) {
        self.disk.close();
        self.memory.close();
    }
}

impl RoomPermit {
    /// The entry is on disk.
    pub(super) fn keep(self) {
        self.disk.forget();
    }
}

impl Claim {
    fn of(shared: &Arc<Mutex<Counts>>, bytes: u64) -> Self {
        counts(shared).claimed += bytes;
        Self {
            counts: Arc::clone(shared),
            bytes,
            is_waiting: false,
        }
    }

    fn wait(&mut self, is_waiting: bool) {
        let mut counts = counts(&self.counts);
        match (self.is_waiting, is_waiting) {
            (false, true) => counts.waiting += 1,
            (true, false) => counts.waiting -= 1,
            _ => {}
        }
        drop(counts);
        self.is_waiting = is_waiting;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.wait(false);
        counts(&self.counts).claimed -= self.bytes;
    }
}

fn counts(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn permits(bytes: u64) -> usize {
    usize::try_from(bytes).map_or(Semaphore::MAX_PERMITS, |bytes| bytes.min(Semaphore::MAX_PERMITS))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// The bytes on disk that are left.
    fn left(room: &Room) -> usize {
        room.disk.available_permits()
    }

    #[test]
    fn a_place_that_is_not_kept_is_free_again() {
        let room = Room::new(100, 0);
        let place = room.place(70, 1).now_or_never().unwrap().unwrap();
        assert_eq!(left(&room), 30);
        drop(place);
        assert_eq!(left(&room), 100);
        room.place(70, 1).now_or_never().unwrap().unwrap().keep();
        assert_eq!(left(&room), 30);
        room.free(70);
        assert_eq!(left(&room), 100);
    }

    #[test]
    fn nothing_is_free_before_the_excess_is_removed() {
        let room = Room::new(100, 150);
        room.free(60);
        assert_eq!(left(&room), 10);
        room.take(30);
        room.free(21);
        assert_eq!(left(&room), 1);
    }

    #[test]
    fn a_limit_beyond_all_numbers_is_none() {
        let room = Room::new(u64::MAX, 100);
        room.free(100);
        assert_eq!(left(&room), Semaphore::MAX_PERMITS);
    }

    #[test]
    fn all_that_waits_misses_its_sum_and_the_excess() {
        let room = Room::new(100, 130);
        assert_eq!((room.missing(130), room.is_waited_for()), (0, false));
        let mut first = Box::pin(room.place(40, 1));
        let mut second = Box::pin(room.place(20, 1));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        assert!(room.wanted().now_or_never().is_some());
        assert_eq!(room.missing(130), 90);
        room.free(70);
        let place = first.now_or_never().unwrap().unwrap();
        assert_eq!((room.missing(60), room.is_waited_for()), (20, true));
        drop(second);
        assert_eq!((room.missing(60), room.is_waited_for()), (0, false));
        place.keep();
        assert_eq!(counts(&room.counts).claimed, 0);
    }

    #[test]
    fn entries_that_wait_for_room_end_with_it() {
        let room = Room::new(100, 50);
        let mut large = Box::pin(room.place(80, 1));
        let mut small = Box::pin(room.place(10, 1));
        assert!((&mut large).now_or_never().is_none() && (&mut small).now_or_never().is_none());
        room.close();
        assert!(large.now_or_never().unwrap().is_err() && small.now_or_never().unwrap().is_err());
        assert!(!room.is_waited_for());
    }
}
