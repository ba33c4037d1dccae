//! The result of a run in a task of its own.

use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::shutdown::{is_underway, joined};

/// The result of a task, which many may wait for.
pub(crate) struct Completion<R>(Mutex<Task<R>>);

enum Task<R> {
    Running(JoinHandle<R>),
    Ended(R),
}

impl<R: Clone> Completion<R> {
    pub(crate) fn of(task: JoinHandle<R>) -> Self {
        Self(Mutex::new(Task::Running(task)))
    }

    /// Waits for the result. `dropped` is the result of a task that was dropped with its runtime. Cancel-safe.
    ///
    /// # Panics
    /// When the task has panicked, and when it was dropped and nothing is the result then.
    pub(crate) async fn wait(&self, dropped: Option<R>) -> R {
        let mut task = self.0.lock().await;
        let result = match &mut *task {
            Task::Ended(result) => return result.clone(),
            Task::Running(running) => match (running.await, dropped) {
                (Err(ended), Some(dropped)) if ended.is_cancelled() && !is_underway() => dropped,
                (ended, _) => joined(ended).await,
            },
        };
        *task = Task::Ended(result.clone());
        result
    }
}
