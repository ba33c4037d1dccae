//! The folder of a spool, in which a service keeps its entries until they are delivered.

use std::path::Path;

pub(crate) use aws_batch_delivery::spool::SpooledEntry;
use aws_batch_delivery::spool::{Salvaged, SpoolError, SpoolFigures, SpoolFolder};

use crate::console::escaped;
use crate::outcome::Failure;

/// Entries that are read together.
const TOGETHER: usize = 1_000;

/// Entries of a spool that no service has open.
pub(crate) struct Spool {
    folder: SpoolFolder,
    /// Those that were refused for good, instead of those that wait to be delivered.
    refused: bool,
}

impl Spool {
    pub(crate) fn open(folder: &Path, refused: bool) -> Result<Self, Failure> {
        let folder = SpoolFolder::open(folder).map_err(|error| wrong(&error))?;
        Ok(Self { folder, refused })
    }

    /// What is in a folder that may be in use.
    pub(crate) fn figures(folder: &Path) -> Result<SpoolFigures, Failure> {
        SpoolFolder::inspect(folder).map_err(|error| wrong(&error))
    }

    /// Takes out what can be read of a damaged folder.
    pub(crate) fn salvage(
        folder: &Path,
        mut keep: impl FnMut(&[SpooledEntry]) -> Result<(), Failure>,
    ) -> Result<Salvaged, Failure> {
        let salvaged = SpoolFolder::salvage(folder, |entries| keep(entries).map_err(Salvage::Kept));
        salvaged.map_err(|error| match error {
            Salvage::Spool(error @ SpoolError::Storage { .. }) => failed(&error),
            Salvage::Spool(error) => wrong(&error),
            Salvage::Kept(failure) => failure,
        })
    }

    /// The first entries; none if there are no more.
    pub(crate) fn first(&self) -> Result<Vec<SpooledEntry>, Failure> {
        let read = if self.refused {
            self.folder.refused(TOGETHER)
        } else {
            self.folder.entries(TOGETHER)
        };
        read.map_err(|error| failed(&error))
    }

    /// Removes the entries up to this one.
    pub(crate) fn remove_until(&mut self, last: &SpooledEntry) -> Result<(), Failure> {
        self.folder.remove_until(last).map_err(|error| failed(&error))
    }

    /// Gives the space of the removed entries back.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.folder.close().map_err(|error| failed(&error))
    }
}

/// Why a damaged folder was not emptied.
enum Salvage {
    Spool(SpoolError),
    Kept(Failure),
}

impl From<SpoolError> for Salvage {
    fn from(error: SpoolError) -> Self {
        Self::Spool(error)
    }
}

/// The folder cannot be opened.
fn wrong(error: &SpoolError) -> Failure {
    Failure::WrongUse(escaped(&error.to_string()).into_owned())
}

fn failed(error: &SpoolError) -> Failure {
    Failure::Failed(escaped(&error.to_string()).into_owned())
}
