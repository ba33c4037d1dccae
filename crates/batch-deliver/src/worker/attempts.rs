//! What delivers the shards of a worker, one after another.

use serde_json::json;

use super::shard_result::ShardResult;
use crate::connection::Connection;
use crate::console::Console;
use crate::stop::Stop;

/// Delivers shards.
pub(crate) trait Attempts: Sync {
    fn console(&self) -> &Console;

    fn connection(&self) -> &Connection;

    /// Delivers a shard. Its checkpoint stays when it is delivered, so that a worker that is handed the shard late has nothing to do.
    fn attempt(&self, input: &str, stop: Stop) -> impl Future<Output = ShardResult> + Send;

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
