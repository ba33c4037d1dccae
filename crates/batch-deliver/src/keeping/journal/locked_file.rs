//! A file that only this process writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use super::super::location::check_is_file;
use super::content;
use crate::outcome::Failure;
use crate::output::{TemporaryFile, is_mounted};

/// A file with a lock.
#[derive(Debug)]
pub(super) struct LockedFile(File);

impl LockedFile {
    /// Opens or creates the file with this name, and locks it for this process. Also returns the path to which symbolic links lead: the file
    /// is replaced there, and so the lock is the same one under each of its names.
    pub(super) fn open(path: &Path) -> Result<(Self, PathBuf), Failure> {
        let name = path.display();
        check_is_file(path).map_err(|words| Failure::WrongUse(format!("--resume {name}: {words}")))?;
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let unusable = |error| Failure::WrongUse(format!("the journal {name} cannot be written: {error}"));
        let in_use = || Failure::InUse(content::in_use(&name.to_string()));
        let file = options.open(path).map_err(unusable)?;
        let file = match file.try_lock() {
            Ok(()) => Self(file),
            Err(TryLockError::WouldBlock) => return Err(in_use()),
            Err(TryLockError::Error(error)) => {
                return Err(Failure::WrongUse(format!(
                    "the journal {name} cannot be locked: {error}"
                )));
            }
        };
        let resolved = path.canonicalize().map_err(unusable)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let identity = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
            let here = file.metadata().map_err(unusable)?;
            // Another load may have replaced this file before it was locked.
            if std::fs::metadata(&resolved).ok().as_ref().map(identity) != Some(identity(&here)) {
                return Err(in_use());
            }
            // A replaced file has another content below each name, and two loads could each have one of them.
            if here.nlink() > 1 {
                return Err(Failure::WrongUse(format!(
                    "the journal {name} has {} names (hard links), and may have only one: remove the others",
                    here.nlink()
                )));
            }
        }
        Ok((file, resolved))
    }

    /// Replaces the file by one with this content, which is locked. Without the sync, a loss of power could leave an empty file with its name.
    pub(super) fn replacing(path: &Path, content: &[u8]) -> io::Result<Self> {
        // The file is locked before it is renamed, so it is never without a lock.
        let temporary = TemporaryFile::beside(path)?;
        temporary.file().write_all(content)?;
        temporary.replace().map_err(of_mounted)?;
        Ok(Self(temporary.into_file()))
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for LockedFile {
    /// A process that is being started has this file as well, until it is another program. Its lock would outlast this one.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// What is written over in place could be half of a journal after a kill.
fn of_mounted(error: io::Error) -> io::Error {
    if is_mounted(&error) {
        io::Error::other(format!(
            "{error}: a journal is replaced as a whole, and a file that is mounted cannot be: mount its folder instead"
        ))
    } else {
        error
    }
}
