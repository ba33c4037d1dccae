//! Where the files of a spool are.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf, absolute};

use super::error::SpoolError;

/// Locked as long as a spool is open.
const LOCK: &str = "spool.lock";

/// Only its owner may read and write a file.
#[cfg(unix)]
const OF_OWNER: u32 = 0o600;

/// Options that create a file for its owner alone.
pub(super) fn private() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, OF_OWNER);
    options
}

/// A folder for the files of a spool, by a path that does not depend on the current folder.
#[derive(Debug)]
pub(super) struct Location {
    folder: PathBuf,
    /// What of its path was there before.
    existed: PathBuf,
}

impl Location {
    /// The folder, which is created if it does not exist, with those around it.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        if folder.as_os_str().is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path of the folder is empty",
            ));
        }
        let folder = absolute(folder)?;
        let existed = folder.ancestors().find(|folder| folder.exists());
        let existed = existed.unwrap_or(&folder).to_owned();
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, existed })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates this file for its owner alone, if it is missing.
    pub(super) fn create_private(&self, name: &str) {
        // Whoever opens it next gets the error, if there is one.
        let _ = private().create(true).append(true).open(self.folder.join(name));
    }

    /// Lets only their owner read and write these files and the lock, as far as the file system has such rights: also files that were
    /// there, for example from a backup.
    pub(super) fn keep_private(&self, files: &[&Path]) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let lock = self.folder.join(LOCK);
            for file in files.iter().chain([&&*lock]) {
                let _ = fs::set_permissions(file, fs::Permissions::from_mode(OF_OWNER));
            }
        }
        #[cfg(not(unix))]
        let _ = files;
    }

    /// Locks the folder for one spool.
    pub(super) fn lock(&self) -> Result<FolderLock, SpoolError> {
        let mut options = private();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.open(self.folder.join(LOCK));
        let lock = lock.map_err(|error| SpoolError::storage(&self.folder, error))?;
        #[expect(clippy::incompatible_msrv, reason = "the feature `spool` needs Rust 1.89")]
        match lock.try_lock() {
            Ok(()) => Ok(FolderLock(lock)),
            Err(TryLockError::WouldBlock) => Err(SpoolError::InUse {
                folder: self.folder.clone(),
            }),
            Err(TryLockError::Error(error)) => Err(SpoolError::storage(&self.folder, error)),
        }
    }

    /// Makes the names of the files in the folder durable, and those of the folders that were created.
    pub(super) fn sync(&self) -> io::Result<()> {
        // Elsewhere the names of files are as durable as the files.
        if !cfg!(unix) {
            return Ok(());
        }
        for folder in self.folder.ancestors() {
            File::open(folder)?.sync_all()?;
            if folder == self.existed {
                break;
            }
        }
        // An earlier process may have created the folder and ended before this. The parent may be one that cannot be opened or synced.
        if self.folder == self.existed
            && let Some(parent) = self.folder.parent()
            && let Ok(parent) = File::open(parent)
        {
            let _ = parent.sync_all();
        }
        Ok(())
    }
}

/// Keeps the folder locked until it is dropped.
#[derive(Debug)]
pub(super) struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // To close the file does not suffice: a child process has a copy of it between its fork and its exec, and the lock with it.
        #[expect(clippy::incompatible_msrv, reason = "the feature `spool` needs Rust 1.89")]
        let _closed_unlocks_it_later = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn the_folders_that_were_created_are_known() {
        let temporary = tempdir().unwrap();
        let folder = temporary.path().join("some").join("spool");
        let location = Location::create(&folder).unwrap();
        assert_eq!((location.folder(), &*location.existed), (&*folder, temporary.path()));
        location.sync().unwrap();
        let again = Location::create(&folder).unwrap();
        assert_eq!(again.existed, folder);
        again.sync().unwrap();
    }

    #[test]
    fn a_copy_of_the_file_in_a_child_process_keeps_no_folder_locked() {
        let temporary = tempdir().unwrap();
        let location = Location::create(temporary.path()).unwrap();
        let lock = location.lock().unwrap();
        let _copy = lock.0.try_clone().unwrap();
        assert!(matches!(location.lock(), Err(SpoolError::InUse { .. })));
        drop(lock);
        location.lock().unwrap();
    }
}
