//! Undelivered entries on the way back: the target cleans up before they are handed back.

use std::future::ready;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::engine::entry::Confirmation;
use crate::events::CLEANUP;
use crate::guarded::destination;
use crate::report::Undelivered;
use crate::targets::BatchTarget;

/// Entries of one batch that handlers deal with at once: as many as there are calls in flight by default.
const HANDLED_AT_ONCE: usize = 16;

/// Undelivered entries that receipts or handlers wait for, with the way to tell them.
pub(crate) struct Awaited<E> {
    entries: Vec<(Undelivered<E>, Confirmation<E>)>,
    /// What they take up of the memory.
    bytes: usize,
}

/// Hands back entries that receipts or handlers wait for, while the delivery goes on.
pub(crate) struct HandBacks<E> {
    tasks: JoinSet<HandedBack<E>>,
    /// Nothing more is cleaned up.
    hurry: CancellationToken,
    /// Entries on the way back, and their bytes.
    underway: (usize, usize),
    /// Entries that were not waited for any more.
    unheard: Vec<Undelivered<E>>,
}

/// What a task has handed back.
struct HandedBack<E> {
    /// Entries that were not waited for any more.
    unheard: Vec<Undelivered<E>>,
    entries: usize,
    bytes: usize,
}

impl<E> Awaited<E> {
    pub(crate) fn none() -> Self {
        Self {
            entries: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, undelivered: Undelivered<E>, bytes: usize, confirmation: Confirmation<E>) {
        self.entries.push((undelivered, confirmation));
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl<E: Send + 'static> HandBacks<E> {
    pub(crate) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            hurry: CancellationToken::new(),
            underway: (0, 0),
            unheard: Vec::new(),
        }
    }

    /// Hands the entries back, after the target has cleaned up what it did for them.
    pub(crate) fn begin<T>(&mut self, target: &Arc<T>, awaited: Awaited<E>, patience: Duration)
    where
        T: BatchTarget<Entry = E>,
    {
        if awaited.entries.is_empty() {
            return;
        }
        let (target, hurry) = (Arc::clone(target), self.hurry.clone());
        let (entries, bytes) = (awaited.entries.len(), awaited.bytes);
        self.underway.0 += entries;
        self.underway.1 += bytes;
        self.tasks.spawn(async move {
            let (mut undelivered, confirmations): (Vec<_>, Vec<_>) = awaited.entries.into_iter().unzip();
            hurry
                .run_until_cancelled(clean_up(&*target, &mut undelivered, patience))
                .await;
            let told = stream::iter(undelivered.into_iter().zip(confirmations))
                .map(|(undelivered, confirmation)| confirmation.hand_back(undelivered))
                .buffer_unordered(HANDLED_AT_ONCE);
            let unheard = told.filter_map(ready).collect().await;
            HandedBack {
                unheard,
                entries,
                bytes,
            }
        });
    }

    /// Entries on the way back, and their bytes.
    pub(crate) fn underway(&self) -> (usize, usize) {
        self.underway
    }

    /// Waits until more were handed back; `None` when none is on its way back. Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<()> {
        let ended = self.tasks.join_next().await?;
        let handed_back = joined(ended);
        self.underway.0 -= handed_back.entries;
        self.underway.1 -= handed_back.bytes;
        self.unheard.extend(handed_back.unheard);
        Some(())
    }

    /// Waits until all were handed back; after `patience`, the target takes nothing back any more. Returns all that were not
    /// waited for any more.
    pub(crate) async fn end(&mut self, patience: Duration) -> Vec<Undelivered<E>> {
        let mut patience = pin!(sleep(patience));
        loop {
            tokio::select! {
                biased;
                handed_back = self.next() => if handed_back.is_none() {
                    return std::mem::take(&mut self.unheard);
                },
                () = &mut patience, if !self.hurry.is_cancelled() => self.hurry.cancel(),
            }
        }
    }
}

/// Lets the target clean up what it has done for the sake of entries that are handed back.
pub(crate) async fn clean_up<T: BatchTarget>(
    target: &T,
    undelivered: &mut [Undelivered<T::Entry>],
    patience: Duration,
) {
    if undelivered.is_empty() {
        return;
    }
    let taking = AssertUnwindSafe(target.clean_up(undelivered)).catch_unwind();
    let failure = match timeout(patience, taking).await {
        Ok(Ok(())) => return,
        Ok(Err(_)) => "the target panicked as it took entries back",
        Err(_) => "there was no time to clean up all that was done for undelivered entries",
    };
    warn!(target: CLEANUP, destination = destination(target), "{failure}");
}

/// What a task of the delivery came to. It catches the panics of the target, so that one that comes through is a fault of this
/// crate.
fn joined<R>(ended: Result<R, JoinError>) -> R {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => unreachable!("no task is aborted while its delivery is polled"),
    }
}
