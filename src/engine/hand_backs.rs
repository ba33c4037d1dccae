//! Undelivered entries on the way back: the target cleans up before they are handed back.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::watch::destination;
use crate::events::CLEANUP;
use crate::producer::Confirmation;
use crate::report::Undelivered;
use crate::targets::BatchTarget;

/// Undelivered entries whose receipts wait, with the way to tell them.
pub(crate) type Awaited<E> = Vec<(Undelivered<E>, Confirmation<E>)>;

/// Hands back entries whose receipts wait, while the delivery goes on.
pub(crate) struct HandBacks<E> {
    /// Each returns the entries whose receipts were dropped meanwhile.
    tasks: JoinSet<Vec<Undelivered<E>>>,
    /// Nothing more is taken back.
    hurry: CancellationToken,
}

impl<E: Send + 'static> HandBacks<E> {
    pub(crate) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            hurry: CancellationToken::new(),
        }
    }

    /// Hands the entries back, after the target has taken back what it did for them.
    pub(crate) fn begin<T>(&mut self, target: &Arc<T>, awaited: Awaited<E>, patience: Duration)
    where
        T: BatchTarget<Entry = E>,
    {
        let (target, hurry) = (Arc::clone(target), self.hurry.clone());
        self.tasks.spawn(async move {
            let (mut undelivered, confirmations): (Vec<_>, Vec<_>) = awaited.into_iter().unzip();
            hurry
                .run_until_cancelled(take_back(&*target, &mut undelivered, patience))
                .await;
            let told = undelivered.into_iter().zip(confirmations);
            told.filter_map(|(undelivered, confirmation)| confirmation.hand_back(undelivered))
                .collect()
        });
    }

    /// The entries whose receipts were dropped, as far as they are known.
    pub(crate) fn unheard(&mut self) -> Vec<Undelivered<E>> {
        let mut unheard = Vec::new();
        while let Some(ended) = self.tasks.try_join_next() {
            unheard.extend(joined(ended));
        }
        unheard
    }

    /// Waits until all receipts were told, and takes nothing back any more after `patience`. Returns the entries whose receipts
    /// were dropped.
    pub(crate) async fn end(&mut self, patience: Duration) -> Vec<Undelivered<E>> {
        let mut unheard = Vec::new();
        let mut patience = pin!(sleep(patience));
        loop {
            tokio::select! {
                biased;
                ended = self.tasks.join_next() => match ended {
                    Some(ended) => unheard.extend(joined(ended)),
                    None => return unheard,
                },
                () = &mut patience, if !self.hurry.is_cancelled() => self.hurry.cancel(),
            }
        }
    }
}

/// Lets the target take back what it has done for the sake of entries that are handed back.
pub(crate) async fn take_back<T: BatchTarget>(
    target: &T,
    undelivered: &mut [Undelivered<T::Entry>],
    patience: Duration,
) {
    if undelivered.is_empty() {
        return;
    }
    let taking = AssertUnwindSafe(target.take_back(undelivered)).catch_unwind();
    let failure = match timeout(patience, taking).await {
        Ok(Ok(())) => return,
        Ok(Err(_)) => "the target panicked as it took entries back",
        Err(_) => "there was no time to take back all that was done for undelivered entries",
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
