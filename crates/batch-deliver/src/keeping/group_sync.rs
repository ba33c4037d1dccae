//! Makes what was written durable, with one sync for many writes.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

/// Syncs what others have written. What is written during a sync waits for the next one, which serves all that wait.
pub(super) struct GroupSync {
    /// Syncs all that was written before the call.
    sync: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    written: AtomicU64,
    /// How many writes are on the disk.
    synced: Mutex<u64>,
    /// The error after which nothing counts as synced: the system may have dropped what it could not write.
    error: OnceLock<io::Error>,
}

/// Something that was written, and may not be on the disk yet.
#[derive(Debug)]
pub(crate) struct UnsyncedWrite {
    group: Arc<GroupSync>,
    number: u64,
}

impl GroupSync {
    pub(super) fn new(sync: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self {
            sync: Box::new(sync),
            written: AtomicU64::new(0),
            synced: Mutex::new(0),
            error: OnceLock::new(),
        }
    }

    /// Something has been written.
    pub(super) fn written(self: &Arc<Self>) -> UnsyncedWrite {
        UnsyncedWrite {
            group: Arc::clone(self),
            number: self.written.fetch_add(1, Ordering::AcqRel) + 1,
        }
    }

    pub(super) fn error(&self) -> Option<&io::Error> {
        self.error.get()
    }
}

impl fmt::Debug for GroupSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupSync")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl UnsyncedWrite {
    /// Returns when it is on the disk.
    pub(super) async fn synced(self) -> io::Result<()> {
        let Self { group, number } = self;
        let mut synced = group.synced.lock().await;
        if let Some(error) = group.error() {
            return Err(error.kind().into());
        }
        if *synced >= number {
            return Ok(());
        }
        let until = group.written.load(Ordering::Acquire);
        let syncing = Arc::clone(&group);
        let sync = move || (syncing.sync)();
        match spawn_blocking(sync).await.map_err(io::Error::other).flatten() {
            Ok(()) => {
                *synced = until;
                Ok(())
            }
            Err(error) => {
                let kind = error.kind();
                group.error.get_or_init(|| error);
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures::future::join_all;

    use super::*;
    use crate::keeping::append_file::AppendFile;

    #[tokio::test]
    async fn one_sync_serves_all_that_wait() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AppendFile::open(&folder.path().join("lines")).unwrap();
        let opened = Arc::clone(file.opened());
        let group = Arc::new(GroupSync::new(move || opened.sync()));
        let mut writes = Vec::new();
        for _ in 0..5 {
            file.write(b"line").unwrap();
            writes.push(group.written());
        }
        writes.remove(0).synced().await.unwrap();
        assert_eq!(*group.synced.lock().await, 5);
        // After an error nothing counts as synced.
        group.error.set(io::ErrorKind::StorageFull.into()).unwrap();
        assert!(
            join_all(writes.into_iter().map(UnsyncedWrite::synced))
                .await
                .iter()
                .all(Result::is_err)
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_is_no_file_needs_no_sync_and_may_be_shared() {
        let _another = AppendFile::open(Path::new("/dev/null")).unwrap();
        let mut file = AppendFile::open(Path::new("/dev/null")).unwrap();
        let opened = Arc::clone(file.opened());
        let group = Arc::new(GroupSync::new(move || opened.sync()));
        file.write(b"line").unwrap();
        group.written().synced().await.unwrap();
    }
}
