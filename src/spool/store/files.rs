//! Whether the files that are open are still those of the folder.

use std::io;
use std::path::{Path, PathBuf};

/// Files by their paths, as they were found first.
#[derive(Debug)]
pub(super) struct Files(Vec<(PathBuf, FileIdentity)>);

impl Files {
    /// Those of these that are there.
    pub(super) fn of<const N: usize>(paths: [PathBuf; N]) -> Self {
        let found = |path: PathBuf| found(&path).ok().map(|found| (path, found));
        Self(paths.into_iter().filter_map(found).collect())
    }

    /// Whether all of them are where they were. What is written to a file that was removed is lost with the process, although each
    /// write and each sync of it succeeds.
    pub(super) fn are_there(&self) -> io::Result<()> {
        for (path, before) in &self.0 {
            if found(path).ok().as_ref() != Some(before) {
                let name = path.file_name().unwrap_or_default().display();
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("{name} was removed or replaced while it was open"),
                ));
            }
        }
        Ok(())
    }
}

/// The device and the number of the file.
#[cfg(unix)]
type FileIdentity = (u64, u64);

#[cfg(unix)]
fn found(path: &Path) -> io::Result<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
type FileIdentity = ();

#[cfg(not(unix))]
fn found(path: &Path) -> io::Result<FileIdentity> {
    std::fs::metadata(path).map(drop)
}
