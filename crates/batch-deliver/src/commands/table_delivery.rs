//! A delivery whose records are the items of a table.

use std::sync::Arc;

use crate::connection::can_be_renewed;
use crate::format::Item;
use crate::job::{DELIVERED_AGAIN, Job, Occasion, OpenedJob, Run, Source, StartFailure, TableScan};
use crate::keeping::{Claim, DeadLetter, Places};
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{DeliveryOptions, ExistingTable, Target};
use crate::source::{Flaw, TableReads};
use crate::stop::Stop;

/// What is read of a table, and what is kept of the delivery.
pub(super) struct TableDelivery<'a> {
    pub(super) reads: &'a TableReads,
    pub(super) table: &'a ExistingTable,
    pub(super) places: Places,
    /// How a journal of another delivery is treated.
    pub(super) claim: Claim,
    pub(super) options: DeliveryOptions,
    /// What to say if nothing is read, because an expression holds for nothing.
    pub(super) when_nothing_matches: Option<String>,
}

impl<'a> TableDelivery<'a> {
    /// Opens the journal, if one is requested.
    pub(super) async fn open<T: Target>(
        &self,
        job: &Job<T>,
        entry: impl Fn(Item) -> Result<T::Entry, Flaw> + Send + Sync + 'static,
    ) -> Result<OpenedJob<'a, T::Entry>, Failure> {
        let scan = TableScan {
            reads: self.reads,
            table: self.table,
            segments: None,
            unsure: DELIVERED_AGAIN,
        };
        let source = Source::Table(scan, Arc::new(entry));
        job.open(source, self.places.resume.as_ref(), self.claim).await
    }

    /// Delivers the items.
    pub(super) async fn deliver<T: Target>(
        self,
        job: &Job<T>,
        opened: OpenedJob<'_, T::Entry>,
    ) -> Result<CommandOutcome, Failure> {
        let console = &job.console;
        console.info(&format!("reading {}", self.reads.table));
        let dead_letter = match &self.places.dead_letter {
            Some(location) => Some(DeadLetter::open(location, &job.connection, &[]).await?),
            None => None,
        };
        let stop = Stop::of_command(console, can_be_renewed);
        let has_begun = opened.has_begun;
        let run = Run {
            options: self.options,
            dead_letter,
            failed: None,
            stop,
            occasion: Occasion::Command {
                resumes: self.places.resume,
            },
        };
        let delivered = job.deliver(opened, run).await;
        let summary = delivered.map_err(|failure| match failure {
            StartFailure::Journal(error) => Failure::WrongUse(error.to_string()),
            StartFailure::Entries(failure) => failure,
        })?;
        let ended = summary.print(console).await?;
        let words = self.when_nothing_matches.filter(|_| !has_begun && summary.is_empty());
        if let Some(words) = words.filter(|_| ended == CommandOutcome::Delivered) {
            console.warn(&words);
        }
        Ok(ended)
    }
}
