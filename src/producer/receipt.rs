//! The fate of a single entry.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::epoch::Epoch;
use crate::report::Undelivered;
use crate::targets::Acknowledgement;

/// The good end of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The service has it, and told this of it.
    Delivered(Acknowledgement),
    /// It was dropped for a newer one of its key, under
    /// [`last_write_wins`](crate::DeliveryOptions::last_write_wins).
    Superseded,
}

/// The fate of an entry, when it is known: a future.
///
/// Dropping it cancels nothing. An entry that is not delivered is then kept for
/// [`Producer::close`](crate::Producer::close).
///
/// # Panics
/// When the runtime that the producer was made in is shut down before the fate is known.
#[derive(Debug)]
#[must_use = "an entry whose receipt is dropped is kept until the producer is closed if it is not delivered"]
pub struct Receipt<E>(oneshot::Receiver<Result<Fate, Undelivered<E>>>);

impl<E> Future for Receipt<E> {
    type Output = Result<Fate, Undelivered<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let fate = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(fate.unwrap_or_else(|_| panic!("the runtime of the producer was shut down")))
    }
}

/// What travels with an entry and hears its fate.
///
/// It takes no more room than a pointer to it, since every entry has room for one.
pub(crate) struct Confirmation<E>(Box<dyn Hears<E>>);

/// What a [`Confirmation`] tells the fate to.
pub(crate) trait Hears<E>: Send + Sync {
    /// A good end.
    fn good(self: Box<Self>, fate: Fate);

    /// The entry is handed back. Returned if it is not waited for any more.
    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> Option<Undelivered<E>>;
}

impl<E> fmt::Debug for Confirmation<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirmation").finish_non_exhaustive()
    }
}

impl<E> Confirmation<E> {
    pub(crate) fn to(hears: impl Hears<E> + 'static) -> Self {
        Self(Box::new(hears))
    }

    /// Tells a good end. Whether it is still waited for does not matter.
    pub(crate) fn good(self, fate: Fate) {
        self.0.good(fate);
    }

    /// Hands an entry back. Returns it when it is not waited for any more.
    pub(crate) fn hand_back(self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        self.0.hand_back(undelivered)
    }
}

/// The other end of a [`Receipt`].
struct Promise<E> {
    fate: oneshot::Sender<Result<Fate, Undelivered<E>>>,
    /// Held until the fate is told.
    _epoch: Arc<Epoch>,
}

impl<E: Send + Sync + 'static> Confirmation<E> {
    /// A confirmation that a receipt hears of.
    pub(super) fn new(epoch: Arc<Epoch>) -> (Self, Receipt<E>) {
        let (fate, receipt) = oneshot::channel();
        (Self::to(Promise { fate, _epoch: epoch }), Receipt(receipt))
    }
}

impl<E: Send + Sync> Hears<E> for Promise<E> {
    fn good(self: Box<Self>, fate: Fate) {
        let _ = self.fate.send(Ok(fate));
    }

    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        self.fate.send(Err(undelivered)).err()?.err()
    }
}
