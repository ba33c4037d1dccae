//! What an error of the database means for a spool.

use std::path::Path;

use rusqlite::ErrorCode;

use super::rows::is_damage;
use crate::spool::error::SpoolError;

/// Whether the disk may be full. Some file systems have an I/O error then.
pub(super) fn is_without_space(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code.is_some_and(|code| matches!(code, ErrorCode::DiskFull | ErrorCode::SystemIoFailure))
}

pub(super) fn failure(folder: &Path, error: rusqlite::Error) -> SpoolError {
    if is_damage(&error) {
        return damaged(folder, &error);
    }
    SpoolError::storage(folder, error)
}

pub(super) fn damaged(folder: &Path, what: &(impl ToString + ?Sized)) -> SpoolError {
    SpoolError::Damaged {
        folder: folder.to_owned(),
        what: what.to_string(),
    }
}
