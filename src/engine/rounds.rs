//! The calls in flight.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::thread;

use futures::FutureExt;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use super::round::{Round, round};
use super::settle::Settled;
use crate::target::BatchTarget;

/// Makes calls, each in a task that the runtime polls for itself, and tells what they came to.
///
/// A task that has made its call waits for the next one. The SDK's future of a call has ten kilobytes: to make room for each
/// and to move it there costs more than the rest of this crate does for the call.
pub(super) struct Rounds<T: BatchTarget> {
    tasks: JoinSet<()>,
    /// The way to each task, by its number.
    ways: Vec<Sender<Round<T::Entry>>>,
    /// The tasks without a call; the last one that had one goes next.
    idle: Vec<usize>,
    ended: UnboundedReceiver<Ended<T::Entry>>,
    end: UnboundedSender<Ended<T::Entry>>,
}

/// What the call of a task came to.
struct Ended<E> {
    task: usize,
    settled: thread::Result<Settled<E>>,
}

impl<T: BatchTarget> Rounds<T> {
    pub(super) fn new() -> Self {
        let (end, ended) = mpsc::unbounded_channel();
        Self {
            tasks: JoinSet::new(),
            ways: Vec::new(),
            idle: Vec::new(),
            ended,
            end,
        }
    }

    /// Whether there is no call in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.idle.len() == self.ways.len()
    }

    /// Makes a call.
    pub(super) fn start(&mut self, target: &Arc<T>, call: Round<T::Entry>) {
        let task = self.idle.pop().unwrap_or_else(|| self.one_more(target));
        // A task without a call waits for one as long as there is this way to it, so that there is room.
        _ = self.ways[task].try_send(call);
    }

    /// One task more, which has no call yet.
    fn one_more(&mut self, target: &Arc<T>) -> usize {
        let task = self.ways.len();
        let (way, calls) = mpsc::channel(1);
        self.ways.push(way);
        self.tasks
            .spawn(work(Arc::clone(target), task, calls, self.end.clone()));
        task
    }

    /// What the next call that ends came to; `None` if there is none in flight. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Option<Settled<T::Entry>> {
        if self.is_empty() {
            return None;
        }
        let Ended { task, settled } = self.ended.recv().await?;
        self.idle.push(task);
        // A round catches the panics of the target, so that one that comes through is a fault of this crate.
        Some(settled.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

/// Makes one call after the other.
async fn work<T: BatchTarget>(
    target: Arc<T>,
    task: usize,
    mut calls: Receiver<Round<T::Entry>>,
    end: UnboundedSender<Ended<T::Entry>>,
) {
    while let Some(call) = calls.recv().await {
        let settled = AssertUnwindSafe(round(&*target, call)).catch_unwind().await;
        if end.send(Ended { task, settled }).is_err() {
            return;
        }
    }
}
