//! The records that are being read, or why they are not.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::outcome::Failure;
use crate::source::{Counts, RecordBatch};

/// Why a delivery has not begun.
#[derive(Debug)]
pub(crate) enum StartFailure {
    /// Its journal cannot be written.
    Journal(io::Error),
    /// Its first entries are not as they should be.
    Entries(Failure),
}

/// The records that are being read.
pub(super) struct ReaderHandle<E> {
    pub(super) receiver: mpsc::Receiver<RecordBatch<E>>,
    pub(super) read: Counts,
    /// The names of the inputs.
    pub(super) names: Arc<[String]>,
    /// Bytes of the inputs, if they are known.
    pub(super) total: Option<u64>,
}
