//! An input of the caller's, of any type, as one that the engine knows.

use std::any::Any;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use super::{Incoming, Input};
use crate::sync::{Mutex, MutexGuard};

/// An iterator or a stream of the caller's.
pub(crate) trait Source {
    type Entry;

    /// The next entry; `None` at the end. Not called again after that.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Entry>>;

    /// How many entries it has at least.
    fn known(&self) -> usize;

    /// Whether it submits all entries, so that a delivery that ends early hands them back.
    fn is_batch(&self) -> bool;
}

/// The input of a delivery that is read from a [`Source`].
///
/// The engine does not depend on the type of the source, or it would be compiled for each closure of an iterator. It asks for as many
/// entries as it can send, and [`feed`], which polls both, answers.
pub(crate) struct Feed<E> {
    exchange: Arc<Exchange<E>>,
    is_batch: bool,
    /// Entries that were read from the source and not by the engine.
    entries: VecDeque<E>,
    /// How many entries the source has beyond these, at least.
    known: usize,
    has_ended: bool,
    /// The position of the next entry.
    next: u64,
    /// How many entries the engine has room for.
    wanted: usize,
}

/// What the engine asks for, and the answer.
type Exchange<E> = Mutex<Answer<E>>;

struct Answer<E> {
    /// How many entries the engine asks for, while it has no answer.
    asked: Option<usize>,
    entries: VecDeque<E>,
    known: usize,
    has_ended: bool,
    /// Whether the source has no entry until it wakes the task.
    is_dry: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// Delivers what is read from the source. The future can be sent to another thread if the source can.
pub(crate) async fn feed<S, D, F>(source: &mut S, deliver: impl FnOnce(Feed<S::Entry>) -> F) -> D
where
    S: Source,
    F: Future<Output = D>,
{
    let known = catch_unwind(AssertUnwindSafe(|| source.known())).unwrap_or(0);
    let exchange = Arc::new(Mutex::new(Answer::none(known)));
    let mut delivery = pin!(deliver(Feed::of(Arc::clone(&exchange), source.is_batch(), known)));
    poll_fn(|context| {
        lock(&exchange).is_dry = false;
        loop {
            if let Poll::Ready(delivered) = delivery.as_mut().poll(context) {
                return Poll::Ready(delivered);
            }
            if !answer(&exchange, source, context) {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Reads what the engine has asked for. Returns `false` if it has not asked.
fn answer<E>(exchange: &Exchange<E>, source: &mut dyn Source<Entry = E>, context: &mut Context<'_>) -> bool {
    let (asked, mut entries) = {
        let mut answer = lock(exchange);
        let Some(asked) = answer.asked.take() else {
            return false;
        };
        (asked, std::mem::take(&mut answer.entries))
    };
    let (mut has_ended, mut is_dry, mut known) = (false, false, 0);
    let read = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..asked {
            match source.poll_next(context) {
                Poll::Ready(Some(entry)) => entries.push_back(entry),
                Poll::Ready(None) => {
                    has_ended = true;
                    return;
                }
                Poll::Pending => {
                    is_dry = true;
                    break;
                }
            }
        }
        known = source.known();
    }));
    *lock(exchange) = Answer {
        asked: None,
        entries,
        known,
        has_ended,
        is_dry,
        panic: read.err(),
    };
    true
}

impl<E> Answer<E> {
    fn none(known: usize) -> Self {
        Self {
            asked: None,
            entries: VecDeque::new(),
            known,
            has_ended: false,
            is_dry: false,
            panic: None,
        }
    }
}

impl<E> Feed<E> {
    fn of(exchange: Arc<Exchange<E>>, is_batch: bool, known: usize) -> Self {
        Self {
            exchange,
            is_batch,
            entries: VecDeque::new(),
            known,
            has_ended: false,
            next: 0,
            wanted: 1,
        }
    }

    /// The next entry that was read from the source; `None` if there is none.
    fn pop(&mut self) -> Option<Incoming<E>> {
        if self.entries.is_empty() && !self.has_ended {
            self.take_answer();
        }
        let entry = self.entries.pop_front()?;
        let position = self.next;
        self.next += 1;
        self.wanted = self.wanted.saturating_sub(1);
        Some(Incoming::new(position, entry))
    }

    /// Takes the answer of the source. A panic of the source continues here, behind the entries before it.
    fn take_answer(&mut self) {
        let mut answer = lock(&self.exchange);
        std::mem::swap(&mut self.entries, &mut answer.entries);
        self.known = answer.known;
        self.has_ended = answer.has_ended;
        if self.entries.is_empty()
            && let Some(panic) = answer.panic.take()
        {
            drop(answer);
            resume_unwind(panic);
        }
    }
}

impl<E> Input for Feed<E> {
    type Entry = E;

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        if let Some(incoming) = self.pop() {
            return Poll::Ready(Some(incoming));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        let mut answer = lock(&self.exchange);
        if !answer.is_dry {
            answer.asked = Some(self.wanted.max(1));
        }
        // `feed` polls the engine again, with the answer or when the source wakes it.
        Poll::Pending
    }

    fn unread(&mut self) -> Poll<Option<Incoming<E>>> {
        if self.is_batch {
            return self.poll_next(&mut Context::from_waker(std::task::Waker::noop()));
        }
        match self.pop() {
            None if !self.has_ended => Poll::Pending,
            read => Poll::Ready(read),
        }
    }

    fn want(&mut self, entries: usize) {
        self.wanted = entries;
    }

    fn poll_answer(&mut self) -> Poll<()> {
        match lock(&self.exchange).asked {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    }

    fn known(&self) -> usize {
        self.entries.len() + self.known
    }

    /// There is nothing to linger for in a batch.
    fn hurried(&self) -> u64 {
        if self.is_batch { u64::MAX } else { 0 }
    }

    /// What a stream has not yielded stays in the stream.
    fn ends_early(&self) {
        if !self.is_batch {
            lock(&self.exchange).asked = None;
        }
    }
}

fn lock<E>(exchange: &Exchange<E>) -> MutexGuard<'_, Answer<E>> {
    exchange.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
