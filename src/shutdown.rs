//! The end of the runtime.

use futures::FutureExt;
use tokio::task::{try_id, unconstrained};

/// Whether the current task is about to be dropped because its runtime shuts down. What it waits for may never come then,
/// because the tasks of a runtime are dropped in any order.
///
/// `false` outside of a task: a future that is awaited there is not dropped with a runtime.
pub(crate) fn is_underway() -> bool {
    try_id().is_some() && {
        // A runtime that shuts down takes no more tasks.
        let task = unconstrained(tokio::spawn(async {})).now_or_never();
        task.is_some_and(|task| task.is_err_and(|error| error.is_cancelled()))
    }
}
