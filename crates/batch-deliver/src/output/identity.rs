//! What distinguishes a file from all others.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// A file, by its device and its number on it. Two names may lead to the same one, and a name to another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Not every system has it.
    #[cfg_attr(unix, expect(clippy::unnecessary_wraps, reason = "this system tells it"))]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(Self {
                device: metadata.dev(),
                inode: metadata.ino(),
            })
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            None
        }
    }

    /// The file to which this name leads.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Self::of(&fs::metadata(path).ok()?)
    }

    /// Whether this name leads to this file. If that cannot be known, it does.
    pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
        let Some(own) = Self::of(&file.metadata()?) else {
            return Ok(true);
        };
        match fs::metadata(path) {
            Ok(found) => Ok(Self::of(&found) == Some(own)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
