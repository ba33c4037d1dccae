//! The segments of a table as shards.

use std::sync::Arc;

use super::attempt::Worker;
use super::plan::Planned;
use super::shard_result::{CHECKPOINT, ShardResult};
use crate::connection::Connection;
use crate::format::Item;
use crate::job::{Delivering, Kept, Scanning};
use crate::keeping::{Claim, Location};
use crate::outcome::Failure;
use crate::sink::{Destination, Existing, TABLE_ARN, Target, existing};
use crate::source::{Flaw, Segments, TableReads};
use crate::stop::Stop;

/// Makes the entry of an item.
pub(crate) type EntryOf<E> = Arc<dyn Fn(Item) -> Result<E, Flaw> + Send + Sync>;

/// What is done with the items of tables.
pub(crate) struct FromTables<E> {
    /// What is read, of whichever table.
    pub(crate) reads: TableReads,
    /// How the tables are reached.
    pub(crate) connection: Connection,
    pub(crate) entry: EntryOf<E>,
    pub(crate) which: Which,
    /// Whether nothing but segments is delivered, because what is read of them is chosen.
    pub(crate) is_only: bool,
}

/// The tables whose items are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// All but the destination, into which they are copied.
    Others,
    /// The destination alone, from which they are deleted or in which they are updated.
    Destination,
}

impl<E> FromTables<E> {
    /// The table, if its items are taken for this destination.
    async fn table<T: Target>(
        &self,
        name: &str,
        destination: &Destination<T>,
        connection: &Connection,
    ) -> Result<Existing, Failure> {
        let refused = |words: String| Err(Failure::WrongUse(words));
        let own = &destination.name;
        if self.which == Which::Destination && own != name {
            return refused(format!(
                "this worker is for the items of {own}, and not for those of {name}: plan and work with the same name"
            ));
        }
        let table = existing(name, &self.connection).await?;
        let arn = destination.settings.iter().find(|(name, _)| *name == TABLE_ARN);
        let is_same = match (table.arn(), arn) {
            (Some(table), Some((_, own))) => table == own,
            _ => own == name && self.connection.profile == connection.profile,
        };
        // Emulators have the same ARNs.
        if self.which == Which::Others && is_same && destination.settings.starts_with(&table.settings) {
            return refused(format!("{name} and {own} are the same table: a copy needs two"));
        }
        Ok(table)
    }
}

impl<T: Target> Worker<T> {
    /// Delivers the items of segments.
    pub(super) async fn deliver_segments(
        &self,
        shard: &Planned,
        segments: &Segments,
        checkpoint: Option<&Location>,
        stop: Stop,
    ) -> Result<ShardResult, ShardResult> {
        let unreadable = |failure: Failure| ShardResult::failed("Unreadable", failure.to_string());
        let Some(from) = &self.tables else {
            let words = "the items of a table are for another table: this worker has a queue".to_owned();
            return Err(ShardResult::failed("Unreadable", words));
        };
        let destination = &self.job.destination;
        let table = from
            .table(&segments.table, destination, &self.job.connection)
            .await
            .map_err(unreadable)?;
        let reads = TableReads {
            table: segments.table.clone(),
            segments: segments.count,
            ..from.reads.clone()
        };
        let scanning = Scanning {
            reads: &reads,
            table: &table,
            segments: Some(segments),
        };
        let dead_letter = self.dead_letter(shard).await?;
        let options = self.options();
        let job = &self.job;
        let opened = checkpoint.map(|place| {
            let settings = job.settings.iter().chain(&destination.settings).cloned().chain([
                ("command", job.command.to_owned()),
                ("destination", destination.name.clone()),
            ]);
            scanning.journal(place, settings.collect(), Claim::Granted, &job.connection, &job.console)
        });
        let opened = opened.transpose();
        let opened = opened.map_err(|failure| ShardResult::failed(CHECKPOINT, failure.to_string()))?;
        let settled_before = opened.as_ref().map_or(0, |opened| opened.settled);
        let entry = Arc::clone(&from.entry);
        let read = scanning.read(opened, dead_letter.is_some(), &stop, move |item| entry(item));
        let (reading, journal) = read.map_err(unreadable)?;
        let kept = Kept {
            options,
            journal,
            dead_letter,
            failed: None,
            stop,
            resumes: None,
            is_repeated: true,
        };
        let delivering = Delivering {
            destination,
            keep_going: job.keep_going,
            every: job.every,
            console: &job.console,
        };
        let summary = delivering.deliver(reading, kept).await;
        let name = format!("{}@{}-{}", shard.input, shard.part.begin, shard.part.end);
        self.tell(&name, &summary);
        Ok(ShardResult::of(shard, settled_before, &summary))
    }
}
