//! What the name of an output leads to.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Links that are followed at most, as Linux does.
const MOST_LINKS: usize = 40;

/// What a name leads to.
#[derive(Debug)]
pub(crate) enum OutputKind {
    /// A file, or one that can be created: the name behind all links.
    File(PathBuf),
    /// Something that is there already, and is written directly.
    Direct,
}

impl OutputKind {
    /// What this name leads to, if it can be written.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let followed = followed(path)?;
        if is_of_system(&followed) {
            return Ok(Self::Direct);
        }
        match fs::metadata(&followed) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => Ok(Self::File(followed)),
            Ok(found) if is_disk(&found) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is a disk, not a file on one",
            )),
            Ok(_) => Ok(Self::Direct),
            Err(error) if error.kind() == io::ErrorKind::NotFound && followed.file_name().is_some() => {
                if ends_with_separator(path) {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Ok(Self::File(followed))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens what is written directly.
    pub(crate) fn open_direct(path: &Path) -> io::Result<File> {
        // A descriptor of a file is opened again, at its beginning.
        File::options().append(true).open(path)
    }
}

/// The name to which the links lead that this name may be.
pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        // A link to an open descriptor is not a link to the name that the descriptor once had.
        if let Some(descriptor) = descriptor(&path) {
            return Ok(descriptor);
        }
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Ok(path);
        }
        path = folder_of(&path).join(fs::read_link(&path)?);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is a link that leads to itself, or too many of them",
    ))
}

/// Whether the name is one of the system's, where no file is created.
fn is_of_system(path: &Path) -> bool {
    let Ok(folder) = folder_of(path).canonicalize() else {
        return false;
    };
    folder == Path::new("/dev") || folder == Path::new("/dev/fd") || folder.starts_with("/proc")
}

/// The name in `/proc`, if it leads there. Each process has its own folder of descriptors.
fn descriptor(path: &Path) -> Option<PathBuf> {
    let folder = folder_of(path).canonicalize().ok()?;
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    let folder = match folder.strip_prefix(own) {
        Ok(rest) => Path::new("/proc/self").join(rest),
        Err(_) => folder,
    };
    folder.starts_with("/proc").then_some(folder.join(path.file_name()?))
}

fn ends_with_separator(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes
        .last()
        .is_some_and(|last| std::path::is_separator(char::from(*last)))
}

#[cfg(unix)]
fn is_disk(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type())
}

#[cfg(not(unix))]
fn is_disk(_: &fs::Metadata) -> bool {
    false
}

/// The folder that has this name.
pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns when a name in the folder, which may be new, is on the disk. A folder that may not be read, or on a file system that syncs
/// none, is not an error.
#[cfg(unix)]
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let Ok(folder) = File::open(folder_of(path)) else {
        return Ok(());
    };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(not(unix))]
pub(crate) fn sync_folder_of(_: &Path) -> io::Result<()> {
    Ok(())
}
