//! The source of the entries: an iterator, a stream, or the queue of a producer.
//!
//! - `feed`: reads from an iterator or a stream of any type.
//! - `fresh`: entries that were read from the source, checked and measured.

mod feed;
mod fresh;

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use tokio::time::Instant;

use super::entry::Confirmation;
use crate::fault::Fault;
use crate::report::Cause;

pub(crate) use feed::{Source, feed};
pub(crate) use fresh::{FreshEntries, ReadOutcome};

/// An entry as the source yields it.
pub struct Incoming<E> {
    pub(crate) entry: E,
    /// Its position in the input of the caller, from 0.
    pub(crate) position: u64,
    /// The receipt or handler that gets its outcome, if there is one.
    pub(crate) confirmation: Option<Confirmation<E>>,
    /// When it was submitted; `None` where that is when it is read.
    pub(crate) handed_over: Option<Instant>,
}

impl<E> Incoming<E> {
    /// An entry that is submitted when it is read, and whose outcome only the report shows.
    fn new(position: u64, entry: E) -> Self {
        Self {
            entry,
            position,
            confirmation: None,
            handed_over: None,
        }
    }
}

/// The source that a delivery reads its entries from.
pub trait Input {
    type Entry;

    /// The next entry; `None` at the end. Not called again after that.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<Self::Entry>>>;

    /// How many entries the engine has room for when it asks for the next one.
    fn want(&mut self, entries: usize) {
        let _ = entries;
    }

    /// Ready when it is known whether there is a next entry now: the last [`poll_next`](Self::poll_next) or [`unread`](Self::unread)
    /// may have been pending because the source was not asked yet.
    fn poll_answer(&mut self) -> Poll<()> {
        Poll::Ready(())
    }

    /// The next entry that was submitted but not read, when the delivery ends early. Pending if unread entries stay in
    /// the source.
    fn unread(&mut self) -> Poll<Option<Incoming<Self::Entry>>> {
        Poll::Pending
    }

    /// When the delivery ends early, hands back for this cause what was submitted but not read. `true` if nothing is left;
    /// otherwise [`unread`](Self::unread) returns the rest.
    fn poll_hand_back(&mut self, _: &mut Context<'_>, _: &Cause) -> Poll<bool> {
        Poll::Ready(false)
    }

    /// How many entries it has at least, without polling it.
    fn known(&self) -> usize;

    /// Entries before this position do not linger.
    fn hurried(&self) -> u64 {
        0
    }

    /// Why the delivery must not continue although the input does: a handler of its entries has failed.
    fn stop(&self) -> Option<Fault> {
        None
    }

    /// The delivery ends before the input does.
    fn ends_early(&self) {}
}

/// An input of any type, as the engine takes it.
pub(crate) type DynInput<'a, E> = &'a mut (dyn Input<Entry = E> + Send);

/// A batch: all of its entries are submitted with the iterator, so each one is delivered or handed back.
pub(crate) struct Batch<I>(pub(crate) I);

impl<I: Iterator> Source for Batch<I> {
    type Entry = I::Item;

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.0.next())
    }

    fn known(&self) -> usize {
        self.0.size_hint().0
    }

    fn is_batch(&self) -> bool {
        true
    }
}

/// A stream. Entries that were not read stay in the stream.
pub(crate) struct StreamSource<S, X> {
    stream: Pin<Box<S>>,
    /// The error with which the stream ended, if it did.
    pub(crate) error: Option<X>,
}

impl<S, X> StreamSource<S, X> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream: Box::pin(stream),
            error: None,
        }
    }
}

impl<S, E, X> Source for StreamSource<S, X>
where
    S: Stream<Item = Result<E, X>>,
{
    type Entry = E;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<E>> {
        self.stream.as_mut().poll_next(context).map(|next| match next? {
            Ok(entry) => Some(entry),
            Err(error) => {
                self.error = Some(error);
                None
            }
        })
    }

    fn known(&self) -> usize {
        self.stream.size_hint().0
    }

    fn is_batch(&self) -> bool {
        false
    }
}
