//! The outcome of a single entry.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::epoch::Epoch;
use super::unclaimed::UnclaimedEntries;
use crate::disposition::Disposition;
use crate::engine::{Confirmation, Confirms};
use crate::report::Undelivered;
use crate::shutdown;

/// A future that returns the outcome of an entry.
///
/// Dropping it does not cancel the entry. An entry that is not delivered is then logged, and kept for
/// [`Producer::close`](crate::Producer::close) if it is among the first, or given to the [handler of undelivered
/// entries](crate::Delivery::on_undelivered): at once, or at the close if its outcome was known before the receipt was dropped.
///
/// # Panics
/// When the runtime that the producer was made in is shut down before the outcome is known, and the receipt is awaited outside of
/// its tasks.
#[derive(Debug)]
#[must_use = "an entry whose receipt is dropped is kept until the producer is closed if it is not delivered"]
pub struct Receipt<E> {
    fate: oneshot::Receiver<Result<Disposition, Undelivered<E>>>,
    unclaimed: UnclaimedEntries<E>,
}

impl<E> Future for Receipt<E> {
    type Output = Result<Disposition, Undelivered<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match ready!(Pin::new(&mut self.fate).poll(context)) {
            Ok(fate) => Poll::Ready(fate),
            // The task that waits is dropped next.
            Err(_) if shutdown::is_underway() => Poll::Pending,
            Err(closed) => panic!("the runtime of the producer was shut down: {closed}"),
        }
    }
}

impl<E> Drop for Receipt<E> {
    fn drop(&mut self) {
        // After this, the sender gets an undelivered entry back instead of sending it.
        self.fate.close();
        if let Ok(Err(undelivered)) = self.fate.try_recv() {
            self.unclaimed.push(undelivered);
        }
    }
}

/// The sending end of a [`Receipt`].
pub(super) struct Promise<E> {
    fate: oneshot::Sender<Result<Disposition, Undelivered<E>>>,
    unclaimed: UnclaimedEntries<E>,
    /// Held until the outcome is sent.
    _epoch: Arc<Epoch>,
}

impl<E: Send + Sync + 'static> Promise<E> {
    /// A confirmation together with its receipt.
    pub(super) fn with_receipt(epoch: Arc<Epoch>, unclaimed: UnclaimedEntries<E>) -> (Confirmation<E>, Receipt<E>) {
        let (sender, fate) = oneshot::channel();
        let promise = Self {
            fate: sender,
            unclaimed: unclaimed.clone(),
            _epoch: epoch,
        };
        (Confirmation::to(promise), Receipt { fate, unclaimed })
    }
}

impl<E: Send + Sync + 'static> Confirms<E> for Promise<E> {
    fn resolve(self: Box<Self>, _: &E, fate: Disposition) {
        let _ = self.fate.send(Ok(fate));
    }

    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>> {
        let unclaimed = self.fate.send(Err(undelivered)).err().and_then(Result::err);
        ready(unclaimed.and_then(|unclaimed| self.unclaimed.offer(unclaimed))).boxed()
    }
}
