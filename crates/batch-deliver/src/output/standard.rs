//! The standard output as a place for what a command has read.

#[cfg(unix)]
use std::fs::File;
use std::path::Path;

use super::identity::FileIdentity;
use super::kind::followed;
use crate::outcome::Failure;

/// Names of the standard output. On Linux, `/dev/stdout` and `/dev/fd/1` are links to the last one.
const NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Whether this name leads to the standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    let is_named = |path: &Path| NAMES.iter().any(|name| path == Path::new(name));
    is_named(path) || followed(path).is_ok_and(|path| is_named(&path))
}

/// What is printed about a standard output that is closed.
pub(crate) const CLOSED: &str =
    "the standard output is closed (or it is /dev/null and opened to be read as well): redirect it";

/// Checks that the standard output is open, which is named as a file.
pub(crate) fn check_standard() -> Result<(), Failure> {
    if is_standard_closed() {
        let words = format!("{CLOSED}, or name /dev/null as the file if nothing is to be kept");
        return Err(Failure::WrongUse(words));
    }
    Ok(())
}

/// Whether the standard output is closed. Before `main`, Rust opens `/dev/null` in place of one that is, so that what is written there is
/// lost without an error. It is opened to be read as well, which `>/dev/null` of a shell is not.
#[cfg(unix)]
pub(crate) fn is_standard_closed() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{OFlags, fcntl_getfl, fstat};

    let output = std::io::stdout();
    let output = output.as_fd();
    let is_null = || {
        let null = std::fs::metadata("/dev/null").ok()?;
        let found = fstat(output).ok()?;
        // The type of a device number is another one on each system.
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_sign_loss)]
        let is_null = (found.st_rdev as u64, found.st_ino as u64) == (null.rdev(), null.ino());
        Some(is_null)
    };
    match fcntl_getfl(output) {
        Ok(flags) => flags & OFlags::RWMODE == OFlags::RDWR && is_null() == Some(true),
        Err(_) => true,
    }
}

#[cfg(not(unix))]
pub(crate) fn is_standard_closed() -> bool {
    false
}

/// The files that are the standard output and the standard error, with their names for people.
#[cfg(unix)]
pub(crate) fn standard_files() -> Vec<(FileIdentity, &'static str)> {
    use std::os::fd::{AsFd, BorrowedFd};

    let identity = |stream: BorrowedFd<'_>| {
        let metadata = File::from(stream.try_clone_to_owned().ok()?).metadata().ok()?;
        FileIdentity::of(&metadata).filter(|_| metadata.is_file())
    };
    let output = identity(std::io::stdout().as_fd()).map(|identity| (identity, "the standard output"));
    let error = identity(std::io::stderr().as_fd()).map(|identity| (identity, "the standard error"));
    output.into_iter().chain(error).collect()
}

#[cfg(not(unix))]
pub(crate) fn standard_files() -> Vec<(FileIdentity, &'static str)> {
    Vec::new()
}
