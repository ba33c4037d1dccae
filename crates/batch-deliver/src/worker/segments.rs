//! The segments of a table as shards.

use std::sync::Arc;

use super::delivering::Worker;
use super::plan::PlannedShard;
use super::shard_result::{ShardResult, UNREADABLE};
use crate::job::{DELIVERED_AGAIN, Source, TableScan};
use crate::keeping::Location;
use crate::outcome::Failure;
use crate::sink::Target;
use crate::source::Segments;
use crate::stop::Stop;

impl<T: Target> Worker<T> {
    /// Delivers the items of segments.
    pub(super) async fn deliver_segments(
        &self,
        shard: &PlannedShard,
        segments: &Segments,
        checkpoint: Option<&Location>,
        stop: Stop,
    ) -> Result<ShardResult, ShardResult> {
        let unreadable = |failure: Failure| ShardResult::unread(&failure);
        let Some(from) = &self.tables else {
            let words = "the items of a table are for another table: this worker has a queue".to_owned();
            return Err(ShardResult::failed(UNREADABLE, words));
        };
        let table = from
            .table(&segments.table, &self.job.destination, &self.job.connection)
            .await
            .map_err(unreadable)?;
        let reads = from.reads.of_segments(segments);
        let scan = TableScan {
            reads: &reads,
            table: &table,
            segments: Some(segments),
            unsure: DELIVERED_AGAIN,
        };
        let name = format!("{}@{}-{}", shard.input, shard.part.begin, shard.part.end);
        let source = Source::Table(scan, Arc::clone(&from.entry));
        let (answer, _) = self.deliver(shard, &name, source, checkpoint, stop).await?;
        Ok(answer)
    }
}
