//! The segments of a table as shards.

use std::sync::Arc;

use super::delivering::Worker;
use super::plan::Planned;
use super::shard_result::{CHECKPOINT, ShardResult, UNREADABLE};
use crate::job::{DELIVERED_AGAIN, Delivering, Kept, Scanning};
use crate::keeping::{Claim, Location};
use crate::outcome::Failure;
use crate::sink::Target;
use crate::source::{Segments, TableReads};
use crate::stop::Stop;

impl<T: Target> Worker<T> {
    /// Delivers the items of segments.
    pub(super) async fn deliver_segments(
        &self,
        shard: &Planned,
        segments: &Segments,
        checkpoint: Option<&Location>,
        stop: Stop,
    ) -> Result<ShardResult, ShardResult> {
        let unreadable = |failure: Failure| ShardResult::unread(&failure);
        let Some(from) = &self.tables else {
            let words = "the items of a table are for another table: this worker has a queue".to_owned();
            return Err(ShardResult::failed(UNREADABLE, words));
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
            unsure: DELIVERED_AGAIN,
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
        let opened = opened.map_err(|failure| ShardResult::unopened(CHECKPOINT, &failure))?;
        let settled_before = opened.as_ref().map_or(0, |opened| opened.settled);
        let earlier = opened.as_ref().map(|opened| opened.failures.clone());
        let entry = Arc::clone(&from.entry);
        let read = scanning.read(opened, dead_letter.is_some(), &stop, move |item| entry(item));
        let (reading, journal) = read.map_err(|error| ShardResult::of_checkpoint(&error))?;
        let kept = Kept {
            options,
            journal,
            earlier: earlier.unwrap_or_default(),
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
