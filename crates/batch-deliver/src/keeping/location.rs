//! A place to write to.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::outcome::Failure;
use crate::source::SCHEME;

/// A file or folder, or an object or prefix in S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    File(PathBuf),
    Object { bucket: String, key: String },
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(name) = text.strip_prefix(SCHEME) else {
            return Ok(Self::File(text.into()));
        };
        let (bucket, key) = name.split_once('/').unwrap_or((name, ""));
        if bucket.is_empty() {
            return Err(format!("a bucket is needed, as in {SCHEME}bucket/prefix/"));
        }
        Ok(Self::Object {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Object { bucket, key } => write!(f, "{SCHEME}{bucket}/{key}"),
        }
    }
}

impl Location {
    /// Creates the folder that this option names.
    pub(crate) fn create_folder(&self, option: &str) -> Result<(), Failure> {
        let Self::File(folder) = self else { return Ok(()) };
        fs::create_dir_all(folder)
            .map_err(|error| Failure::WrongUse(format!("{option} {} cannot be created: {error}", folder.display())))
    }

    /// The file in this folder, or the object below this prefix, with this name.
    pub(crate) fn below(&self, name: &str) -> Self {
        match self {
            Self::File(folder) => Self::File(folder.join(name)),
            Self::Object { bucket, key } => Self::Object {
                bucket: bucket.clone(),
                key: match key.trim_end_matches('/') {
                    "" => name.to_owned(),
                    folder => format!("{folder}/{name}"),
                },
            },
        }
    }
}

/// Checks that this is a file on a disk, or can become one: others are written next to it, and it is read again.
pub(super) fn check_is_file(path: &Path) -> Result<(), &'static str> {
    if path == Path::new("-") {
        return Err("the standard output cannot be used here: name a file, or ./- for one with that name");
    }
    let is_other = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_other || path.parent() == Some(Path::new("/dev")) {
        return Err("this is a device or a pipe: name a file");
    }
    Ok(())
}
