//! The entries of the inputs, as a stream for the delivery.

use std::task::{Poll, ready};

use futures::future::BoxFuture;
use futures::stream::poll_fn;
use futures::{FutureExt, Stream};
use tokio::sync::mpsc;

use super::bad_lines::{BadLines, InputEnd};
use super::window::{BadLine, Origin, Window};
use crate::source::RecordBatch;

/// The entries. Each enters the window when the delivery takes it.
pub(crate) fn entries<E: Send + 'static>(
    mut receiver: mpsc::Receiver<RecordBatch<E>>,
    window: Window,
    bad_lines: BadLines,
) -> impl Stream<Item = Result<E, InputEnd>> {
    let mut batch: std::vec::IntoIter<_> = Vec::new().into_iter();
    let mut skipping: Option<BoxFuture<'static, Result<(), InputEnd>>> = None;
    poll_fn(move |context| {
        loop {
            if let Some(bad_line) = &mut skipping {
                let skipped = ready!(bad_line.poll_unpin(context));
                skipping = None;
                if let Err(ended) = skipped {
                    return Poll::Ready(Some(Err(ended)));
                }
            }
            let Some(next) = batch.next() else {
                match ready!(receiver.poll_recv(context)) {
                    Some(records) if records.is_empty() => return Poll::Ready(None),
                    Some(records) => batch = records.into_iter(),
                    None => {
                        return Poll::Ready(Some(Err(InputEnd::Unreadable(
                            "the reader of the inputs panicked".into(),
                        ))));
                    }
                }
                continue;
            };
            let taken = match next {
                Ok(taken) => taken,
                Err(error) => return Poll::Ready(Some(Err(InputEnd::Unreadable(error.into())))),
            };
            let origin = Origin {
                number: taken.number,
                place: taken.place,
                text: taken.text,
            };
            match taken.entry {
                Ok(entry) => {
                    window.enter(origin);
                    return Poll::Ready(Some(Ok(entry)));
                }
                Err(flaw) => {
                    let bad_line = BadLine {
                        origin,
                        checksum_before: taken.checksum_before,
                        header: taken.header,
                        flaw,
                    };
                    skipping = Some(bad_lines.clone().skip(bad_line).boxed());
                }
            }
        }
    })
}
