//! Space on the disk that is kept for removals.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::Rng;

use super::location::private;

/// Its file.
const FILE: &str = "spool.reserve";

/// What a removal may take before it frees anything: the log up to its next checkpoint, the largest group of entries that is also
/// in it, and what the file grows by when both are moved into it.
pub(super) const BYTES: usize = 16 << 20;

/// Bytes that are written at a time.
const BLOCK: usize = 1 << 20;

/// How long after a failure it is not tried again to make it.
const PAUSE: Duration = Duration::from_secs(1);

/// Space on the disk that is kept for removals.
///
/// To remove an entry from a database takes space first. On a disk that the entries themselves have filled, none could be removed, however
/// many were delivered. So this file goes when the disk is full, and no entry is taken until there is room for it again.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    is_there: bool,
    failed_at: Option<Instant>,
}

impl Reserve {
    /// In this folder, made if there is space.
    pub(super) fn of(folder: &Path) -> Self {
        let mut reserve = Self {
            path: folder.join(FILE),
            is_there: false,
            failed_at: None,
        };
        // Without it, the first entry is refused.
        let _ = reserve.make();
        reserve
    }

    /// Removes what an earlier process has left of it, which was killed. Returns whether that has freed its space.
    pub(super) fn release_old(folder: &Path) -> bool {
        fs::remove_file(folder.join(FILE)).is_ok()
    }

    /// Makes it, if it is not there.
    ///
    /// # Errors
    /// When the disk has no space for it, and for a moment after that.
    pub(super) fn make(&mut self) -> io::Result<()> {
        if self.is_there {
            return Ok(());
        }
        if self.failed_at.is_some_and(|failed_at| failed_at.elapsed() < PAUSE) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let made = self.write();
        self.is_there = made.is_ok();
        if made.is_err() {
            self.failed_at = Some(Instant::now());
            let _ = fs::remove_file(&self.path);
        }
        made
    }

    fn write(&self) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|file| file.len() == BYTES as u64) {
            return Ok(());
        }
        // Some file systems take no space for what they can compress.
        let mut block = vec![0; BLOCK];
        rand::rng().fill_bytes(&mut block);
        let mut file = private().write(true).create(true).truncate(true).open(&self.path)?;
        for _ in 0..BYTES / BLOCK {
            file.write_all(&block)?;
        }
        Ok(())
    }

    /// Removes it. Returns whether that has freed its space.
    pub(super) fn release(&mut self) -> bool {
        self.is_there = false;
        fs::remove_file(&self.path).is_ok()
    }
}

/// Nothing needs it now.
impl Drop for Reserve {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_its_space_until_it_is_released_and_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::of(folder.path());
        let bytes = || fs::metadata(folder.path().join(FILE)).map(|file| file.len()).ok();
        assert_eq!(bytes(), Some(BYTES as u64));
        assert!(reserve.release() && !reserve.release());
        assert_eq!(bytes(), None);
        reserve.make().unwrap();
        assert_eq!(bytes(), Some(BYTES as u64));
        drop(reserve);
        assert_eq!(bytes(), None);
    }

    #[test]
    fn it_is_not_made_again_and_again_where_it_cannot_be() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let mut reserve = Reserve::of(&missing);
        fs::create_dir(&missing).unwrap();
        assert!(reserve.failed_at.is_some());
        // However long this test takes.
        reserve.failed_at = Some(Instant::now() + Duration::from_secs(60 * 60));
        let error = reserve.make().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!missing.join(FILE).exists());
    }
}
