//! The bytes that are left for entries, on disk and in memory.

use std::sync::{Arc, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sync::Mutex;

/// Bytes of entries that are handed over and not on disk. They are some groups of the writer, so that the next one is complete while
/// the device writes the last one.
const IN_MEMORY: usize = 8 << 20;

/// The bytes that are left for entries, on disk and in memory. Those who wait for some get them in the order in which they came.
#[derive(Debug)]
pub(super) struct Room {
    disk: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    /// Bytes on disk beyond the limit.
    debt: Mutex<u64>,
}

/// The place of an entry. What it takes on disk stays taken when it is [kept](Self::keep).
#[derive(Debug)]
pub(super) struct Place {
    disk: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

/// There will be no more room.
#[derive(Debug)]
pub(super) struct NoMore;

impl Room {
    /// Of these bytes, so many are taken.
    pub(super) fn new(max_bytes: u64, taken: u64) -> Self {
        Self {
            disk: Arc::new(Semaphore::new(permits(max_bytes.saturating_sub(taken)))),
            memory: Arc::new(Semaphore::new(IN_MEMORY)),
            debt: Mutex::new(taken.saturating_sub(max_bytes)),
        }
    }

    /// Waits for so many bytes on disk, and so many in memory.
    pub(super) async fn place(&self, disk: u64, memory: usize) -> Result<Place, NoMore> {
        let memory = u32::try_from(memory.min(IN_MEMORY)).map_err(|_| NoMore)?;
        let memory = Arc::clone(&self.memory).acquire_many_owned(memory).await;
        let disk = Arc::clone(&self.disk).acquire_many_owned(u32::try_from(disk).map_err(|_| NoMore)?);
        Ok(Place {
            _memory: memory.map_err(|_| NoMore)?,
            disk: disk.await.map_err(|_| NoMore)?,
        })
    }

    /// Whether there are so many bytes on disk now.
    pub(super) fn has(&self, disk: u64) -> bool {
        self.disk.available_permits() >= permits(disk)
    }

    /// These many bytes on disk are free again.
    pub(super) fn free(&self, bytes: u64) {
        let mut debt = self.debt.lock().unwrap_or_else(PoisonError::into_inner);
        let paid = bytes.min(*debt);
        *debt -= paid;
        self.disk.add_permits(permits(bytes - paid));
    }

    /// These many more bytes on disk are taken, whether there is room or not.
    pub(super) fn take(&self, bytes: u64) {
        let mut debt = self.debt.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = self.disk.forget_permits(permits(bytes)) as u64;
        *debt += bytes - taken;
    }

    /// There will be no more room.
    pub(super) fn close(&self) {
        self.disk.close();
        self.memory.close();
    }
}

impl Place {
    /// The entry is on disk.
    pub(super) fn keep(self) {
        self.disk.forget();
    }
}

fn permits(bytes: u64) -> usize {
    usize::try_from(bytes).map_or(Semaphore::MAX_PERMITS, |bytes| bytes.min(Semaphore::MAX_PERMITS))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_place_that_is_not_kept_is_free_again() {
        let room = Room::new(100, 0);
        let place = room.place(70, 1).now_or_never().unwrap().unwrap();
        assert!(room.has(30) && !room.has(31));
        drop(place);
        assert!(room.has(100));
        room.place(70, 1).now_or_never().unwrap().unwrap().keep();
        assert!(!room.has(31));
        room.free(70);
        assert!(room.has(100));
    }

    #[test]
    fn what_is_taken_beyond_the_limit_is_paid_first() {
        let room = Room::new(100, 150);
        room.free(60);
        assert!(room.has(10) && !room.has(11));
        room.take(30);
        room.free(21);
        assert!(room.has(1) && !room.has(2));
    }

    #[test]
    fn those_who_wait_come_in_order_and_end_with_the_room() {
        let room = Room::new(100, 50);
        let mut large = Box::pin(room.place(80, 1));
        let mut small = Box::pin(room.place(10, 1));
        assert!((&mut large).now_or_never().is_none() && (&mut small).now_or_never().is_none());
        room.close();
        assert!(large.now_or_never().unwrap().is_err() && small.now_or_never().unwrap().is_err());
    }
}
