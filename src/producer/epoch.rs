//! The entries that were sent before a flush.

use std::sync::{Arc, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::sync::{Mutex, MutexGuard};

/// The entries between two flushes.
///
/// Each entry holds its epoch until its outcome is known, and each epoch holds the next one. So an epoch is dropped when all
/// entries up to it have ended; nothing has to be counted.
#[derive(Debug, Default)]
pub(crate) struct Epoch {
    ended: CancellationToken,
    next: OnceLock<Arc<Epoch>>,
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.ended.cancel();
        // Dropped in a loop, not recursively, because there may be many epochs.
        let mut next = self.next.take();
        while let Some(mut epoch) = next.and_then(Arc::into_inner) {
            next = epoch.next.take();
        }
    }
}

/// The epoch of the entries that are sent now.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    current: Mutex<CurrentEpoch>,
}

#[derive(Debug, Default)]
struct CurrentEpoch {
    epoch: Arc<Epoch>,
    /// No further entry belongs to it.
    is_closed: bool,
}

/// Completes when an epoch has ended.
pub(super) struct End(CancellationToken);

impl Epochs {
    /// Runs `put` with the current epoch; with none after the close. No new epoch begins meanwhile.
    pub(super) fn in_current<R>(&self, put: impl FnOnce(Option<Arc<Epoch>>) -> R) -> R {
        let current = self.current();
        put((!current.is_closed).then(|| Arc::clone(&current.epoch)))
    }

    /// No entry is put from now on, also by those that have room already.
    pub(super) fn close(&self) {
        self.current().is_closed = true;
    }

    fn current(&self) -> MutexGuard<'_, CurrentEpoch> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a new epoch, and calls `mark` between the old one and the new one. Returns the end of the old one.
    pub(super) fn turn_over(&self, mark: impl FnOnce()) -> End {
        let next = Arc::new(Epoch::default());
        let mut current = self.current();
        mark();
        let old = std::mem::replace(&mut current.epoch, Arc::clone(&next));
        drop(current);
        let end = End(old.ended.clone());
        // Set only once: each epoch is replaced once.
        old.next.get_or_init(|| next);
        end
    }
}

impl End {
    pub(super) async fn ended(self) {
        self.0.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_with_the_last_entry_up_to_it() {
        let epochs = Epochs::default();
        let early = epochs.in_current(|epoch| epoch).unwrap();
        let first = epochs.turn_over(|| ());
        let late = epochs.in_current(|epoch| epoch).unwrap();
        let second = epochs.turn_over(|| ());
        assert!(!first.0.is_cancelled());
        drop(late);
        assert!(!second.0.is_cancelled(), "an earlier entry is still on its way");
        drop(early);
        assert!(first.0.is_cancelled() && second.0.is_cancelled());
    }

    #[test]
    fn a_hundred_thousand_epochs_may_wait_for_one_entry() {
        let epochs = Epochs::default();
        let entry = epochs.in_current(|epoch| epoch).unwrap();
        let ends: Vec<_> = (0..100_000).map(|_| epochs.turn_over(|| ())).collect();
        drop(entry);
        assert!(ends.iter().all(|end| end.0.is_cancelled()));
    }

    #[test]
    fn an_epoch_without_entries_ends_at_once() {
        assert!(Epochs::default().turn_over(|| ()).0.is_cancelled());
    }
}
