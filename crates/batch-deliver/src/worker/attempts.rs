//! What delivers the shards of a worker, one after another.

use serde_json::json;

use super::shard_result::ShardResult;
use crate::connection::Connection;
use crate::console::Console;
use crate::keeping::{Location, remove};
use crate::stop::Stop;

/// Delivers shards.
pub(crate) trait Attempts: Sync {
    fn console(&self) -> &Console;

    fn connection(&self) -> &Connection;

    /// Delivers a shard. Returns the answer, and the place of its checkpoint.
    fn attempt(&self, input: &str, stop: Stop) -> impl Future<Output = (ShardResult, Option<Location>)> + Send;

    /// Removes the checkpoint of a delivered shard, so that another run of the same plan starts from the beginning.
    fn remove_checkpoint(&self, checkpoint: Option<Location>) -> impl Future<Output = ()> + Send {
        async {
            if let Some(checkpoint) = checkpoint
                && let Err(words) = remove(&checkpoint, self.connection()).await
            {
                self.console().warn(&words);
            }
        }
    }

    /// The answer, which is printed.
    fn told(&self, answer: ShardResult) -> ShardResult {
        match &answer {
            ShardResult::Delivered(counts) => {
                let event = json!({"event": "shard", "counts": counts});
                // The answer has the counts, too.
                let _ = self.console().emit(&event);
            }
            ShardResult::Failed { error, cause, .. } => {
                self.console().warn(&format!("the shard has failed: {error}: {cause}"));
            }
        }
        answer
    }
}
