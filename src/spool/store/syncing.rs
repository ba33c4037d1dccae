//! Makes what was written durable.

use std::fs::File;
use std::io;

use super::Store;
use super::database::log;
use crate::spool::error::SpoolError;

impl Store {
    /// Asks the device for all that was written.
    pub(in crate::spool) fn sync(&mut self) -> Result<(), SpoolError> {
        match self.log_to_sync()? {
            Some(log) => self.synced(log.sync_data()),
            None => Ok(()),
        }
    }

    /// The log of changes, to be synced while others are made, after which [`synced`](Self::synced) has the result. `None` if all that
    /// was written has been synced now in another way.
    pub(in crate::spool) fn log_to_sync(&mut self) -> Result<Option<File>, SpoolError> {
        self.is_in_place()?;
        if self.is_doubtful {
            self.checkpoint()?;
            self.is_doubtful = false;
            return Ok(None);
        }
        let log = File::options().write(true).open(log(&self.folder, &self.connection));
        log.map(Some).map_err(|error| SpoolError::storage(&self.folder, error))
    }

    /// The result of a sync of the log.
    pub(in crate::spool) fn synced(&mut self, synced: io::Result<()>) -> Result<(), SpoolError> {
        #[cfg(test)]
        let synced = if self.fails_to_sync {
            Err(io::ErrorKind::Other.into())
        } else {
            synced
        };
        self.is_doubtful |= synced.is_err();
        synced.map_err(|error| SpoolError::storage(&self.folder, error))
    }

    /// Moves all that is in the log into the file, and asks the device for that. The log begins again, without what the device may not have.
    fn checkpoint(&self) -> Result<(), SpoolError> {
        #[cfg(test)]
        if self.fails_to_sync {
            return Err(SpoolError::storage(&self.folder, io::Error::from(io::ErrorKind::Other)));
        }
        let is_held_up = self
            .connection
            .query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, bool>(0));
        if is_held_up.map_err(|error| self.failure(error))? {
            let error = io::Error::other("another process looks into it");
            return Err(SpoolError::storage(&self.folder, error));
        }
        Ok(())
    }
}
