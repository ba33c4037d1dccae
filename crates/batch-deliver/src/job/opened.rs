//! A source whose journal is open: the records that are left of it.

use super::inputs::InputReads;
use super::reading::{ReaderHandle, StartFailure};
use super::table_scan::{EntryMaker, OpenedScan, TableScan};
use crate::keeping::{Failures, Journal, LoadState};
use crate::source::Input;
use crate::stop::Stop;

/// A source, and what earlier runs have left of it.
pub(crate) struct OpenedJob<'a, E> {
    pub(super) source: OpenedSource<'a, E>,
    /// What earlier runs have not delivered, and no run of the whole has reported.
    pub(super) failures: Failures,
    /// Records that earlier runs have settled.
    pub(crate) settled: u64,
    /// How many more the last run may have delivered.
    pub(crate) doubtful: u64,
    /// Whether an earlier run has begun.
    pub(crate) has_begun: bool,
}

/// A source with its journal, if it has one.
pub(super) enum OpenedSource<'a, E> {
    Inputs(Vec<Input>, &'a InputReads<E>, Option<Box<LoadState>>),
    Table(TableScan<'a>, EntryMaker<E>, Option<Box<OpenedScan>>),
}

impl<E: Send + Sync + 'static> OpenedJob<'_, E> {
    /// Reads the records that are left, with their text if dead letters are to repeat it. From now on they are in doubt until they are
    /// in the journal.
    pub(super) async fn begin(
        self,
        keeps_text: bool,
        stop: &Stop,
    ) -> Result<(ReaderHandle<E>, Option<Journal>), StartFailure> {
        match self.source {
            OpenedSource::Inputs(inputs, reads, state) => {
                reads
                    .begin(inputs, state.map(|state| *state), self.has_begun, stop)
                    .await
            }
            OpenedSource::Table(scan, entry, opened) => scan
                .begin(opened.map(|opened| *opened), keeps_text, stop, entry)
                .await
                .map_err(StartFailure::Journal),
        }
    }
}
