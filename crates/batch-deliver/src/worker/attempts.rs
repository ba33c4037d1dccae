//! What delivers the shards of a worker, one after another.

use serde_json::json;

use super::plan::PlannedShard;
use super::shard_result::ShardResult;
use crate::connection::Connection;
use crate::console::Console;
use crate::stop::Stop;

/// Delivers shards.
pub(crate) trait Attempts: Sync {
    fn console(&self) -> &Console;

    fn connection(&self) -> &Connection;

    /// Delivers a shard. Its checkpoint stays when it is delivered, so that a worker that is handed the shard late has nothing to do.
    fn deliver_shard(
        &self,
        shard: &PlannedShard,
        stop: Stop,
    ) -> impl Future<Output = Result<ShardResult, ShardResult>> + Send;

    /// Delivers what was handed out.
    fn attempt(&self, input: &str, stop: Stop) -> impl Future<Output = ShardResult> + Send {
        async move {
            match serde_json::from_str(input) {
                Ok(shard) => self.deliver_shard(&shard, stop).await.unwrap_or_else(|answer| answer),
                Err(error) => ShardResult::no_shard(error),
            }
        }
    }

    /// Prints the answer for a shard.
    fn print(&self, answer: &ShardResult) {
        match answer {
            ShardResult::Delivered(counts) => {
                let event = json!({"event": "shard", "counts": counts});
                // The answer has the counts, too.
                let _ = self.console().emit(&event);
            }
            ShardResult::Failed { error, cause, .. } => {
                self.console().warn(&format!("the shard has failed: {error}: {cause}"));
            }
        }
    }
}
