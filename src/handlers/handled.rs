//! An input whose entries report what became of them to the handlers.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::ActiveHandlers;
use crate::disposition::Disposition;
use crate::engine::{Confirmation, Confirms, Incoming, Input};
use crate::fault::Fault;
use crate::report::Undelivered;

/// An input whose entries report what became of them to the handlers, if there are any.
pub(crate) struct HandledInput<I: Input> {
    input: I,
    handling: Arc<ActiveHandlers<I::Entry>>,
}

impl<I: Input> HandledInput<I> {
    pub(crate) fn new(input: I, handling: Arc<ActiveHandlers<I::Entry>>) -> Self {
        handling.begin();
        Self { input, handling }
    }
}

impl<I: Input<Entry: Send + 'static>> HandledInput<I> {
    /// Gives the entry a notice for the handlers, if there are any.
    fn notice(&self, polled: &mut Poll<Option<Incoming<I::Entry>>>) {
        if self.handling.is_needed()
            && let Poll::Ready(Some(incoming)) = polled
        {
            let notice = Notice {
                position: incoming.position,
                receipt: incoming.confirmation.take(),
                handling: Arc::clone(&self.handling),
            };
            incoming.confirmation = Some(Confirmation::to(notice));
        }
    }
}

impl<I: Input<Entry: Send + 'static>> Input for HandledInput<I> {
    type Entry = I::Entry;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<I::Entry>>> {
        let mut polled = self.input.poll_next(context);
        self.notice(&mut polled);
        polled
    }

    fn unread(&mut self) -> Poll<Option<Incoming<I::Entry>>> {
        let mut polled = self.input.unread();
        self.notice(&mut polled);
        polled
    }

    fn want(&mut self, entries: usize) {
        self.input.want(entries);
    }

    fn poll_answer(&mut self) -> Poll<()> {
        self.input.poll_answer()
    }

    fn known(&self) -> usize {
        self.input.known()
    }

    fn hurried(&self) -> u64 {
        self.input.hurried()
    }

    fn stop(&self) -> Option<Fault> {
        self.handling.fault()
    }

    fn ends_early(&self) {
        self.input.ends_early();
        self.handling.ends_early();
    }
}

/// Reports what became of an entry to the handlers and to its receipt, if it has one.
struct Notice<E> {
    position: u64,
    receipt: Option<Confirmation<E>>,
    handling: Arc<ActiveHandlers<E>>,
}

impl<E: Send + 'static> Confirms<E> for Notice<E> {
    fn resolve(self: Box<Self>, entry: &E, disposition: Disposition) {
        self.handling.resolve(entry, self.position, &disposition);
        if let Some(receipt) = self.receipt {
            receipt.resolve(entry, disposition);
        }
    }

    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>> {
        async move {
            let unclaimed = match self.receipt {
                Some(receipt) => receipt.hand_back(undelivered).await?,
                None => undelivered,
            };
            self.handling.hand_back(unclaimed).await
        }
        .boxed()
    }
}
