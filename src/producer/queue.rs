//! The queue of entries that the delivery has not read yet.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc;

use super::epoch::Epochs;
use crate::engine::{Incoming, Input};
use crate::report::{Cause, Report, Undelivered};

/// An element of the queue.
pub(super) enum Item<E> {
    Entry(Incoming<E>),
    /// Entries before this element do not linger.
    Flush,
    /// No more entries follow.
    Close,
}

/// The reading end of the queue.
pub(crate) struct Queue<E> {
    items: mpsc::Receiver<Item<E>>,
    epochs: Arc<Epochs>,
    /// Nothing is put any longer, even by those that have room.
    is_closed: bool,
    /// The number of entries that were read.
    read: u64,
    /// The number of entries before the last flush.
    hurried: u64,
}

impl<E> Queue<E> {
    pub(super) fn new(items: mpsc::Receiver<Item<E>>, epochs: Arc<Epochs>) -> Self {
        Self {
            items,
            epochs,
            is_closed: false,
            read: 0,
            hurried: 0,
        }
    }

    fn poll_entry(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        loop {
            let item = match self.items.poll_recv(context) {
                // Tokio lets a task pause although there are items.
                Poll::Pending if self.is_closed && self.items.is_empty() => None,
                item => ready!(item),
            };
            match item {
                Some(Item::Entry(incoming)) => {
                    let position = self.read;
                    self.read += 1;
                    return Poll::Ready(Some(Incoming { position, ..incoming }));
                }
                Some(Item::Flush) => self.hurried = self.read,
                Some(Item::Close) => self.items.close(),
                None => return Poll::Ready(None),
            }
        }
    }

    /// Closes the queue and hands back its entries to their receipts. Returns those whose receipts were dropped.
    pub(super) async fn hand_back(mut self, cause: &Cause, report: &mut Report) -> Vec<Undelivered<E>> {
        // A sender that has room and is not polled must not keep it waiting.
        self.epochs.close();
        self.is_closed = true;
        self.items.close();
        let mut unclaimed = Vec::new();
        while let Some(incoming) = poll_fn(|context| self.poll_entry(context)).await {
            let undelivered = Undelivered::unsent(incoming.entry, incoming.position, cause.clone());
            report.undelivered += 1;
            unclaimed.extend(match incoming.confirmation {
                Some(confirmation) => confirmation.hand_back(undelivered).await,
                None => Some(undelivered),
            });
        }
        unclaimed
    }
}

/// When a delivery stops, the unread entries stay in the queue for the next delivery.
impl<E> Input for &mut Queue<E> {
    type Entry = E;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        self.poll_entry(context)
    }

    fn known(&self) -> usize {
        self.items.len()
    }

    fn hurried(&self) -> u64 {
        self.hurried
    }
}
