//! Why a spool could not be opened, or did not take an entry.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::invalid::ConversionError;

/// Why a spool could not be opened, or did not take an entry.
///
/// Neither `Display` nor `Debug` shows an entry's content.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// Another process has the folder open, or another spool of this process.
    #[error("the spool {} is in use, by another process or another spool of this one", folder.display())]
    InUse {
        /// The folder of the spool.
        folder: PathBuf,
    },
    /// The folder is not one of a spool, or one of a version that this one does not know.
    #[error("{} has no spool of the format that this version knows", folder.display())]
    Unknown {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder could not be read or written, for example because the disk is full. An entry with this error is not acknowledged; it
    /// may be in the spool nevertheless. A later entry is a new attempt.
    #[error("the spool {} cannot be used: {source}", folder.display())]
    Storage {
        /// The folder of the spool.
        folder: PathBuf,
        /// What the operating system or the store says.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// There was no room for the entry for as long as [`give_up_after`](crate::DeliveryOptions::give_up_after) allows.
    #[error("the spool is full: there was no room for {bytes} of {limit} bytes for {waited:?}")]
    Full {
        /// What the entry takes.
        bytes: u64,
        /// What [all entries](super::SpoolOptions::max_bytes) may take.
        limit: u64,
        /// How long it has waited.
        waited: Duration,
    },
    /// The entry takes more than the whole spool may.
    #[error("the entry takes {bytes} bytes, and the spool may take {limit}")]
    TooLarge {
        /// What the entry takes.
        bytes: u64,
        /// What [all entries](super::SpoolOptions::max_bytes) may take.
        limit: u64,
    },
    /// The entry cannot be serialized as JSON.
    #[error("a {type_name} could not be serialized")]
    Unserializable {
        /// The name of its type.
        type_name: &'static str,
        /// The error of the serialization.
        #[source]
        error: ConversionError,
    },
    /// The spool takes no more entries. One that was handed over before may be in it: if the runtime that started the spool ended while
    /// it was written.
    #[error("the spool is closed")]
    Closed,
}

impl SpoolError {
    pub(super) fn storage(folder: &Path, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Storage {
            folder: folder.to_owned(),
            source: Arc::new(source),
        }
    }
}
