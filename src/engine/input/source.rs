//! Where the entries come from.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;

use crate::engine::entry::Confirmation;

/// An entry on its way in.
pub(crate) struct Incoming<E> {
    pub(crate) entry: E,
    /// The receipt that waits for its fate, if there is one.
    pub(crate) confirmation: Option<Confirmation<E>>,
}

impl<E> From<E> for Incoming<E> {
    fn from(entry: E) -> Self {
        Self {
            entry,
            confirmation: None,
        }
    }
}

/// What a delivery reads its entries from.
pub(crate) trait Input {
    type Entry;

    /// The next entry; `None` when there is none any more. Not called again after that.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<Self::Entry>>>;

    /// The next of those that were handed over but not read, when the delivery ends early. Pending when what was not read
    /// stays where it is.
    fn unread(&mut self) -> Poll<Option<Incoming<Self::Entry>>> {
        Poll::Pending
    }

    /// How many entries it has at least, as far as it knows without a look.
    fn known(&self) -> usize;

    /// The position of its first entry.
    fn first_position(&self) -> u64 {
        0
    }

    /// Entries before this position are not to linger for others.
    fn hurried(&self) -> u64 {
        0
    }
}

/// Entries that are all there. They are handed over with the iterator, so that all of them end.
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

    /// There is nothing to wait for.
    fn hurried(&self) -> u64 {
        u64::MAX
    }
}

/// Entries that come with time. What was not read stays with the stream.
pub(crate) struct Streamed<S, X> {
    stream: Pin<Box<S>>,
    /// Why the stream ended before its time.
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
