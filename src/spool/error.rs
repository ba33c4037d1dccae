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
    /// The file does not have what was written to it: a device has changed or lost some of it. The spool takes no more entries, and
    /// delivers none from there on. [`SpoolFolder::salvage`](super::SpoolFolder::salvage) takes out what can be read, as the command
    /// `batch-deliver spool --salvage` does.
    #[error("the spool {} is damaged: {what}; `batch-deliver spool --salvage --to FILE` moves what can be read", folder.display())]
    Damaged {
        /// The folder of the spool.
        folder: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The folder has entries for another destination, and [may not](super::SpoolOptions::any_destination) be opened for this one.
    #[error("the spool {} has entries for {of}, and cannot be opened for {destination}", folder.display())]
    OtherDestination {
        /// The folder of the spool.
        folder: PathBuf,
        /// The [name](crate::targets::BatchTarget::name) of the destination that its entries are for.
        of: String,
        /// The name of the destination that it is to be opened for.
        destination: String,
    },
    /// There was no room for the entry for as long as [`give_up_after`](crate::DeliveryOptions::give_up_after) allows.
    #[error("the spool is full: there was no room for {bytes} of {limit} bytes for {waited:?}{}", of_refused(*refused))]
    Full {
        /// What the entry takes.
        bytes: u64,
        /// What [all entries](super::SpoolOptions::max_bytes) may take.
        limit: u64,
        /// How long it has waited.
        waited: Duration,
        /// How many entries that were [refused for good](super::SpoolFigures::refused) take room in it, until they are taken out.
        refused: u64,
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
    /// What the entry is serialized to cannot be read back as the same value. Not shown is the value of a field that is lost or changed: a
    /// number that is not finite, one with more digits than the type is read with, a field that is only written.
    #[error("a {type_name} is not read back from JSON as it was written: {why}")]
    Unreadable {
        /// The name of its type.
        type_name: &'static str,
        /// In which way.
        why: String,
    },
    /// The spool takes no more entries. One that was submitted before may be in it: if the runtime that started the spool ended while
    /// it was written.
    #[error("the spool is closed")]
    Closed,
}

/// What makes room.
fn of_refused(refused: u64) -> String {
    match refused {
        0 => String::new(),
        refused => format!("; {refused} refused entries are kept in it until they are taken out"),
    }
}

impl SpoolError {
    pub(super) fn storage(folder: &Path, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Storage {
            folder: folder.to_owned(),
            source: Arc::new(source),
        }
    }
}
