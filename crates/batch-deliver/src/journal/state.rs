//! The journal of a load, wherever it is.

#[cfg(feature = "distributed")]
use std::fs;

use super::Identity;
use super::content::Found;
use super::file::JournalFile;
#[cfg(feature = "s3")]
use super::object::JournalObject;
use crate::arguments::{Location, Service};
#[cfg(all(feature = "distributed", feature = "s3"))]
use crate::connect;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::Settled;

/// By what right a process goes on with a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It was named. What is of another load, or in use by another run, is left alone.
    Named,
    /// The load was handed to this process alone: another run of it is at its end, and what is of another load is of no use.
    #[cfg(feature = "distributed")]
    Granted,
}

/// A journal that this process alone writes.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) storage: Storage,
    pub(crate) settled: Settled,
    /// Entries that the last run may have sent without a record of it.
    pub(crate) doubtful: u64,
}

#[derive(Debug)]
pub(super) enum Storage {
    File(JournalFile),
    #[cfg(feature = "s3")]
    Object(Box<JournalObject>),
}

impl State {
    /// Opens the journal of a load, or begins one. For a thread that may block.
    pub(crate) fn open(
        location: &Location,
        identity: Identity,
        claim: Claim,
        service: &Service,
        console: &Console,
    ) -> Result<Self, Failure> {
        let (storage, found) = match location {
            Location::File(path) => {
                let (file, found) = JournalFile::open(path, identity, claim != Claim::Named)?;
                (Storage::File(file), found)
            }
            #[cfg(feature = "s3")]
            Location::Object { .. } => {
                let (object, found) = JournalObject::open(location, identity, claim, service, console)?;
                (Storage::Object(Box::new(object)), found)
            }
            #[cfg(not(feature = "s3"))]
            Location::Object { .. } => {
                let _ = (service, console);
                return Err(location.without_s3());
            }
        };
        let Found { settled, doubtful } = found;
        Ok(Self {
            storage,
            settled,
            doubtful,
        })
    }
}

/// Removes a journal that is of no use any more.
#[cfg(feature = "distributed")]
pub(crate) async fn remove(location: &Location, service: &Service) -> Result<(), String> {
    let removed = match location {
        Location::File(path) => fs::remove_file(path).map_err(|error| error.to_string()),
        #[cfg(feature = "s3")]
        Location::Object { bucket, key } => {
            let client = connect::buckets(service).await.map_err(|failure| failure.to_string())?;
            let deleted = client.delete_object().bucket(bucket).key(key).send().await;
            deleted.map(|_| ()).map_err(|error| connect::words(&error))
        }
        #[cfg(not(feature = "s3"))]
        Location::Object { .. } => {
            let _ = service;
            Err(location.without_s3().to_string())
        }
    };
    removed.map_err(|words| format!("{location} cannot be removed: {words}"))
}
