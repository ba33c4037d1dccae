//! The queue of entries that the delivery has not read yet.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc;

use crate::engine::{Delivered, Incoming, Input};
use crate::handlers::Handling;
use crate::report::{Cause, Undelivered};

/// An element of the queue.
pub(super) enum Item<E> {
    Entry(Incoming<E>),
    /// Entries before this element do not linger.
    Flush,
    /// No more entries follow.
    Close,
}

/// The reading end of the queue.
pub(crate) struct Line<E> {
    items: mpsc::Receiver<Item<E>>,
    /// The number of entries that were read.
    read: u64,
    /// The number of entries before the last flush.
    hurried: u64,
}

impl<E> Line<E> {
    pub(super) fn new(items: mpsc::Receiver<Item<E>>) -> Self {
        Self {
            items,
            read: 0,
            hurried: 0,
        }
    }

    fn poll_entry(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        loop {
            match ready!(self.items.poll_recv(context)) {
                Some(Item::Entry(incoming)) => {
                    self.read += 1;
                    return Poll::Ready(Some(incoming));
                }
                Some(Item::Flush) => self.hurried = self.read,
                Some(Item::Close) => self.items.close(),
                None => return Poll::Ready(None),
            }
        }
    }

    /// Closes the queue and hands back its entries.
    pub(super) async fn hand_back(mut self, cause: &Cause, handling: Option<&Handling<E>>, outcome: &mut Delivered<E>) {
        self.items.close();
        while let Some(Incoming {
            entry, confirmation, ..
        }) = poll_fn(|context| self.poll_entry(context)).await
        {
            let undelivered = Undelivered::unsent(entry, self.read - 1, cause.clone());
            outcome.report.undelivered += 1;
            let unclaimed = match confirmation {
                Some(confirmation) => confirmation.hand_back(undelivered).await,
                None => Some(undelivered),
            };
            outcome.undelivered.extend(match (unclaimed, handling) {
                (Some(unclaimed), Some(handling)) => handling.hand_back(unclaimed).await,
                (unclaimed, _) => unclaimed,
            });
        }
    }
}

/// When a delivery stops, the unread entries stay in the queue for the next delivery.
impl<E> Input for &mut Line<E> {
    type Entry = E;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        self.poll_entry(context)
    }

    fn known(&self) -> usize {
        self.items.len()
    }

    fn first_position(&self) -> u64 {
        self.read
    }

    fn hurried(&self) -> u64 {
        self.hurried
    }
}
