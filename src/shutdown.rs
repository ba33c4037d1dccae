//! The end of the runtime.

use std::future::pending;
use std::panic::resume_unwind;

use futures::FutureExt;
use tokio::task::{JoinError, try_id, unconstrained};

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

/// The result of a task. The task catches the panics of the target, so a panic that gets through is a bug in this crate.
///
/// # Panics
/// For such a bug, and if the runtime has shut down and the delivery is awaited outside of it.
pub(crate) async fn joined<R>(ended: Result<R, JoinError>) -> R {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => resume_unwind(panic),
        // This delivery is dropped next.
        Err(Err(_)) if is_underway() => pending().await,
        Err(Err(cancelled)) => panic!("the runtime shuts down: {cancelled}"),
    }
}
