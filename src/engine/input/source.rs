//! The source of the entries.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use tokio::time::Instant;

use crate::engine::entry::Confirmation;

/// An entry as the source yields it.
pub(crate) struct Incoming<E> {
    pub(crate) entry: E,
    /// The receipt or handler that is told its fate, if there is one.
    pub(crate) confirmation: Option<Confirmation<E>>,
    /// When it was handed over; `None` where that is when it is read.
    pub(crate) handed_over: Option<Instant>,
}

impl<E> From<E> for Incoming<E> {
    fn from(entry: E) -> Self {
        Self {
            entry,
            confirmation: None,
            handed_over: None,
        }
    }
}

/// The source that a delivery reads its entries from.
pub(crate) trait Input {
    type Entry;

    /// The next entry; `None` at the end. Not called again after that.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<Self::Entry>>>;

    /// The next entry that was handed over but not read, when the delivery ends early. Pending if unread entries stay in
    /// the source.
    fn unread(&mut self) -> Poll<Option<Incoming<Self::Entry>>> {
        Poll::Pending
    }

    /// How many entries it has at least, without polling it.
    fn known(&self) -> usize;

    /// The position of its first entry.
    fn first_position(&self) -> u64 {
        0
    }

    /// Entries before this position do not linger.
    fn hurried(&self) -> u64 {
        0
    }
}

/// A batch: all of its entries are handed over with the iterator, so each one is delivered or handed back.
pub(crate) struct Batch<I>(pub(crate) I);

impl<I: Iterator> Input for Batch<I> {
    type Entry = I::Item;

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Incoming<I::Item>>> {
        self.unread()
    }

    fn unread(&mut self) -> Poll<Option<Incoming<I::Item>>> {
        Poll::Ready(self.0.next().map(Incoming::from))
    }

    fn known(&self) -> usize {
        self.0.size_hint().0
    }

    /// There is nothing to linger for.
    fn hurried(&self) -> u64 {
        u64::MAX
    }
}

/// A stream. Entries that were not read stay in the stream.
pub(crate) struct Streamed<S, X> {
    stream: Pin<Box<S>>,
    /// The error with which the stream ended, if it did.
    pub(crate) error: Option<X>,
}

impl<S, X> Streamed<S, X> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream: Box::pin(stream),
            error: None,
        }
    }
}

impl<S, E, X> Input for &mut Streamed<S, X>
where
    S: Stream<Item = Result<E, X>>,
{
    type Entry = E;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        self.stream.as_mut().poll_next(context).map(|next| match next? {
            Ok(entry) => Some(entry.into()),
            Err(error) => {
                self.error = Some(error);
                None
            }
        })
    }

    fn known(&self) -> usize {
        self.stream.size_hint().0
    }
}
