//! Hands back undelivered entries, after the target has cleaned up.

use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::contract::ErasedTarget;
use crate::engine::entry::Confirmation;
use crate::events::CLEANUP;
use crate::guarded::destination;
use crate::report::Undelivered;
use crate::shutdown::joined;
use crate::time_limit::within;

/// How many entries of one batch handlers process at once: the default number of calls in flight.
const HANDLED_AT_ONCE: usize = 16;

/// Undelivered entries that receipts or handlers wait for.
pub(crate) struct AwaitedHandBacks<E> {
    entries: Vec<(Undelivered<E>, Confirmation<E>)>,
    /// The memory that they take.
    bytes: usize,
}

/// Hands entries back to receipts and handlers while the delivery continues.
pub(crate) struct HandBacks<E> {
    tasks: JoinSet<HandedBack<E>>,
    /// Cancelled when the target may clean up no longer.
    hurry: CancellationToken,
    /// Entries that are being handed back, and their bytes.
    underway: (usize, usize),
    /// Entries that no receipt or handler has taken.
    unclaimed: Vec<Undelivered<E>>,
}

/// The result of a task that hands entries back.
struct HandedBack<E> {
    /// Entries that no receipt or handler has taken.
    unclaimed: Vec<Undelivered<E>>,
    entries: usize,
    bytes: usize,
}

impl<E> AwaitedHandBacks<E> {
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
            unclaimed: Vec::new(),
        }
    }

    /// Hands the entries back, after the target has cleaned up.
    pub(crate) fn begin(
        &mut self,
        target: &Arc<dyn ErasedTarget<E>>,
        awaited: AwaitedHandBacks<E>,
        patience: Duration,
    ) {
        if awaited.entries.is_empty() {
            return;
        }
        let (target, hurry) = (Arc::clone(target), self.hurry.clone());
        let (entries, bytes) = (awaited.entries.len(), awaited.bytes);
        self.underway.0 += entries;
        self.underway.1 += bytes;
        self.tasks.spawn(async move {
            let (mut undelivered, confirmations): (Vec<_>, Vec<_>) = awaited.entries.into_iter().unzip();
            clean_up(&*target, &mut undelivered, patience, &hurry).await;
            let handed_back = stream::iter(undelivered.into_iter().zip(confirmations))
                .map(|(undelivered, confirmation)| confirmation.hand_back(undelivered))
                .buffer_unordered(HANDLED_AT_ONCE);
            let unclaimed = handed_back.filter_map(ready).collect().await;
            HandedBack {
                unclaimed,
                entries,
                bytes,
            }
        });
    }

    /// Entries that are being handed back, and their bytes.
    pub(crate) fn underway(&self) -> (usize, usize) {
        self.underway
    }

    /// Waits until more entries were handed back; `None` when none are being handed back. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<()> {
        let ended = self.tasks.join_next().await?;
        let handed_back = joined(ended).await;
        self.underway.0 -= handed_back.entries;
        self.underway.1 -= handed_back.bytes;
        self.unclaimed.extend(handed_back.unclaimed);
        Some(())
    }

    /// Waits until all entries were handed back. Returns the entries that no receipt or handler has taken.
    pub(crate) async fn end(&mut self) -> Vec<Undelivered<E>> {
        while self.next().await.is_some() {}
        std::mem::take(&mut self.unclaimed)
    }

    /// To be cancelled when the target may clean up no longer.
    pub(crate) fn hurry(&self) -> CancellationToken {
        self.hurry.clone()
    }
}

/// Lets the target undo what it did for entries that are handed back, for at most its patience, or until there is no time left.
///
/// It begins in either case: before its first wait a target restores the entries.
pub(crate) async fn clean_up<E>(
    target: &dyn ErasedTarget<E>,
    undelivered: &mut [Undelivered<E>],
    patience: Duration,
    hurry: &CancellationToken,
) {
    if undelivered.is_empty() {
        return;
    }
    let taking = pin!(AssertUnwindSafe(target.clean_up(undelivered)).catch_unwind());
    let ended = tokio::select! {
        biased;
        ended = within(patience, taking) => ended,
        () = hurry.cancelled() => None,
    };
    let failure = match ended {
        Some(Ok(())) => return,
        Some(Err(_)) => "the target panicked while it cleaned up after undelivered entries",
        None => "the target had no time left to clean up after undelivered entries",
    };
    warn!(target: CLEANUP, destination = destination(target), "{failure}");
}
