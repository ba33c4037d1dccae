//! The journal of a load, in a file or in S3.

use std::io;

use super::super::failures::Failures;
use super::super::location::Location;
use super::content::EarlierRun;
use super::file::JournalFile;
use super::object::JournalObject;
use super::{Claim, Identity};
use crate::blocking::block_in_place;
use crate::connection::Connection;
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::SettledRecords;

/// A journal that only this process writes.
#[derive(Debug)]
pub(crate) struct LoadState {
    pub(super) storage: JournalStorage,
    pub(crate) settled: SettledRecords,
    /// What earlier runs have not delivered, and no run of the whole has reported.
    pub(crate) failures: Failures,
    /// How many entries the last run may have sent without recording them.
    pub(crate) doubtful: u64,
}

#[derive(Debug)]
pub(super) enum JournalStorage {
    File(Box<JournalFile>),
    Object(Box<JournalObject>),
}

impl LoadState {
    /// Whether an earlier run may have delivered something.
    pub(crate) fn has_begun(&self) -> bool {
        self.settled.len() > 0 || self.doubtful > 0
    }

    /// Records that entries may be sent from now on.
    pub(super) async fn begin(&mut self) -> io::Result<()> {
        match &mut self.storage {
            JournalStorage::File(file) => block_in_place(|| file.begin()),
            JournalStorage::Object(object) => object.begin().await,
        }
    }

    /// Opens the journal of a load, or creates one.
    pub(crate) async fn open(
        location: &Location,
        identity: Identity,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<Self, Failure> {
        let (storage, found) = match location {
            Location::File(path) => {
                let (file, found) = block_in_place(|| JournalFile::open(path, identity, claim, console))?;
                (JournalStorage::File(Box::new(file)), found)
            }
            Location::Object { .. } => {
                let (object, found) = JournalObject::open(location, identity, claim, connection, console).await?;
                (JournalStorage::Object(Box::new(object)), found)
            }
        };
        let EarlierRun { kept, doubtful } = found;
        Ok(Self {
            storage,
            settled: kept.settled,
            failures: kept.failures,
            doubtful,
        })
    }
}
