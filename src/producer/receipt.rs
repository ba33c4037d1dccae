//! The fate of a single entry.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::epoch::Epoch;
use crate::report::Undelivered;

/// The good end of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The service has it.
    Delivered,
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

/// The other end of a [`Receipt`]: what tells the fate.
#[derive(Debug)]
pub(crate) struct Confirmation<E> {
    fate: oneshot::Sender<Result<Fate, Undelivered<E>>>,
    /// Held until the fate is told.
    _epoch: Arc<Epoch>,
}

impl<E> Confirmation<E> {
    pub(super) fn new(epoch: Arc<Epoch>) -> (Self, Receipt<E>) {
        let (fate, receipt) = oneshot::channel();
        (Self { fate, _epoch: epoch }, Receipt(receipt))
    }

    /// Tells a good end. Whether anybody still waits for it does not matter.
    pub(crate) fn good(self, fate: Fate) {
        let _ = self.fate.send(Ok(fate));
    }

    /// Hands an entry back. Returns it when nobody waits for it any more.
    pub(crate) fn hand_back(self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        self.fate.send(Err(undelivered)).err()?.err()
    }
}
