//! The calls in flight.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::thread;

use futures::FutureExt;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use super::round::{Round, round};
use super::settle::Settled;
use crate::target::BatchTarget;

/// Tasks that may wait for a call, and chunks that may wait for entries. More are not kept after a burst of calls.
pub(super) const KEPT: usize = 64;

/// Makes calls, each in a task that the runtime polls for itself, and tells what they came to.
///
/// A task that has made its call waits for the next one. The SDK's future of a call has ten kilobytes: to make room for each
/// and to move it there costs more than the rest of this crate does for the call.
pub(super) struct Rounds<T: BatchTarget> {
    tasks: JoinSet<()>,
    /// The ways to the tasks without a call; the last one that had one goes next.
    idle: Vec<Way<T::Entry>>,
    in_flight: usize,
    ended: UnboundedReceiver<Ended<T::Entry>>,
    end: UnboundedSender<Ended<T::Entry>>,
}

/// The only way to a task. It goes with the call and comes back with what that came to; a task without one ends.
struct Way<E>(Sender<Call<E>>);

struct Call<E> {
    round: Round<E>,
    way: Way<E>,
}

/// What the call of a task came to.
struct Ended<E> {
    settled: thread::Result<Settled<E>>,
    way: Way<E>,
}

impl<T: BatchTarget> Rounds<T> {
    pub(super) fn new() -> Self {
        let (end, ended) = mpsc::unbounded_channel();
        Self {
            tasks: JoinSet::new(),
            idle: Vec::new(),
            in_flight: 0,
            ended,
            end,
        }
    }

    /// Whether there is no call in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight == 0
    }

    /// Makes a call.
    pub(super) fn start(&mut self, target: &Arc<T>, round: Round<T::Entry>) {
        self.in_flight += 1;
        let idle = self.idle.pop().unwrap_or_else(|| self.one_more(target));
        // A task that waits has room for one. It is gone if its runtime is, and then so is every other that waits.
        if let Some(round) = idle.go(round) {
            self.idle.clear();
            let new = self.one_more(target);
            assert!(new.go(round).is_none(), "the runtime shuts down");
        }
    }

    /// One task more, which has no call yet.
    fn one_more(&mut self, target: &Arc<T>) -> Way<T::Entry> {
        let (way, calls) = mpsc::channel(1);
        self.tasks.spawn(work(Arc::clone(target), calls, self.end.clone()));
        Way(way)
    }

    /// What the next call that ends came to; `None` if there is none in flight. Nothing is lost when the future is dropped.
    ///
    /// # Panics
    /// If the runtime shuts down, and for a fault of this crate: a round catches the panics of the target.
    pub(super) async fn next(&mut self) -> Option<Settled<T::Entry>> {
        while self.in_flight > 0 {
            tokio::select! {
                biased;
                Some(Ended { settled, way }) = self.ended.recv() => {
                    self.in_flight -= 1;
                    if self.idle.len() < KEPT {
                        self.idle.push(way);
                    }
                    return Some(settled.unwrap_or_else(|panic| resume_unwind(panic)));
                }
                // One that was not kept, or one whose call nobody will hear of again.
                Some(task) = self.tasks.join_next() => assert!(task.is_ok(), "the runtime shuts down"),
            }
        }
        None
    }

    /// Ends the tasks, so that nobody holds the target any more.
    pub(super) async fn close(&mut self) {
        self.tasks.shutdown().await;
    }
}

impl<E> Way<E> {
    /// Sends the task on its round. Gives the round back if the task is gone.
    fn go(self, round: Round<E>) -> Option<Round<E>> {
        let way = self.0.clone();
        let refused = way.try_send(Call { round, way: self }).err()?;
        Some(refused.into_inner().round)
    }
}

/// Makes one call after the other.
async fn work<T: BatchTarget>(
    target: Arc<T>,
    mut calls: Receiver<Call<T::Entry>>,
    end: UnboundedSender<Ended<T::Entry>>,
) {
    while let Some(Call { round, way }) = calls.recv().await {
        let settled = {
            // Not moved, as `round` does not move the call in it.
            let round = pin!(self::round(&*target, round));
            AssertUnwindSafe(round).catch_unwind().await
        };
        if end.send(Ended { settled, way }).is_err() {
            return;
        }
    }
}
