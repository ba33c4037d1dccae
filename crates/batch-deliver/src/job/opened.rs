//! A source whose journal is open: the records that are left of it.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::table_scan::OpenedScan;
use super::{EntryOf, InputReads, TableScan};
use crate::keeping::{Failures, Journal, State};
use crate::outcome::Failure;
use crate::source::{Counts, Input, Received};
use crate::stop::Stop;

/// A source, and what earlier runs have left of it.
pub(crate) struct Opened<'a, E> {
    pub(super) source: OpenedSource<'a, E>,
    /// What earlier runs have not delivered, and no run of the whole has reported.
    pub(super) failures: Failures,
    /// Records that earlier runs have settled.
    pub(crate) settled: u64,
    /// Whether an earlier run has begun.
    pub(crate) has_begun: bool,
}

/// A source with its journal, if it has one.
pub(super) enum OpenedSource<'a, E> {
    Inputs(Vec<Input>, &'a InputReads<E>, Option<State>),
    Table(TableScan<'a>, EntryOf<E>, Option<OpenedScan>),
}

/// Why a delivery has not begun.
#[derive(Debug)]
pub(crate) enum StartFailure {
    /// Its journal cannot be written.
    Journal(io::Error),
    /// Its first entries are not as they should be.
    Entries(Failure),
}

/// The records that are being read.
pub(super) struct Reading<E> {
    pub(super) receiver: mpsc::Receiver<Received<E>>,
    pub(super) read: Counts,
    /// The names of the inputs.
    pub(super) names: Arc<[String]>,
    /// Bytes of the inputs, if they are known.
    pub(super) total: Option<u64>,
}

impl<E: Send + Sync + 'static> Opened<'_, E> {
    /// Reads the records that are left, with their text if dead letters are to repeat it. From now on they are in doubt until they are
    /// in the journal.
    pub(super) async fn begin(
        self,
        keeps_text: bool,
        stop: &Stop,
    ) -> Result<(Reading<E>, Option<Journal>), StartFailure> {
        match self.source {
            OpenedSource::Inputs(inputs, reads, state) => reads.begin(inputs, state, self.has_begun, stop).await,
            OpenedSource::Table(scan, entry, opened) => scan
                .begin(opened, keeps_text, stop, entry)
                .map_err(StartFailure::Journal),
        }
    }
}
