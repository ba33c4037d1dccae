//! The entries of the inputs, as a stream for the delivery.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Poll, ready};

use futures::Stream;
use futures::stream::poll_fn;
use serde_json::json;
use tokio::sync::mpsc;

use crate::console::Console;
use crate::flaw::Flaw;
use crate::input::{Place, Received};
use crate::window::{Origin, Window};

/// Why the inputs were not read to their end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// A line that cannot be read, and is not to be skipped.
    #[error("stopped at a line that cannot be read; the lines before it were delivered (--keep-going {0} skips it)")]
    BadLine(u64),
    /// The error of an input.
    #[error("{0}")]
    Unreadable(Box<dyn Error + Send + Sync>),
}

/// Counts the lines that cannot be read, up to the tolerated number.
#[derive(Debug, Clone)]
pub(crate) struct BadLines {
    names: Arc<[String]>,
    tolerated: u64,
    count: Arc<AtomicU64>,
    console: Console,
}

impl BadLines {
    /// Skips up to `tolerated` bad lines of the inputs with these names.
    pub(crate) fn new(names: Arc<[String]>, tolerated: u64, console: Console) -> Self {
        Self {
            names,
            tolerated,
            count: Arc::default(),
            console,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Prints a bad line. It is an error if there are more than tolerated.
    fn tell(&self, place: Place, flaw: &Flaw) -> Result<(), Ended> {
        let name = &self.names[place.input];
        self.console.warn(&format!("{name}:{}: {flaw}", place.line));
        let event = json!({"event": "bad_line", "file": name, "line": place.line, "column": flaw.column, "reason": flaw.reason});
        // A closed output ends the program at the next report.
        let _ = self.console.emit(&event);
        let count = self.count.fetch_add(1, Relaxed) + 1;
        if count > self.tolerated {
            return Err(Ended::BadLine(count));
        }
        Ok(())
    }
}

/// The entries. Each enters the window when the delivery takes it.
pub(crate) fn entries<E: Send + 'static>(
    mut receiver: mpsc::Receiver<Received<E>>,
    window: Window,
    bad_lines: BadLines,
) -> impl Stream<Item = Result<E, Ended>> {
    let mut batch: std::vec::IntoIter<_> = Vec::new().into_iter();
    poll_fn(move |context| {
        loop {
            let Some(next) = batch.next() else {
                match ready!(receiver.poll_recv(context)) {
                    Some(records) if records.is_empty() => return Poll::Ready(None),
                    Some(records) => batch = records.into_iter(),
                    None => {
                        return Poll::Ready(Some(Err(Ended::Unreadable("the reader of the inputs panicked".into()))));
                    }
                }
                continue;
            };
            let taken = match next {
                Ok(taken) => taken,
                Err(error) => return Poll::Ready(Some(Err(Ended::Unreadable(error.into())))),
            };
            match taken.entry {
                Ok(entry) => {
                    window.enter(Origin {
                        number: taken.number,
                        place: taken.place,
                        text: taken.text,
                    });
                    return Poll::Ready(Some(Ok(entry)));
                }
                Err(flaw) => {
                    if let Err(ended) = bad_lines.tell(taken.place, &flaw) {
                        return Poll::Ready(Some(Err(ended)));
                    }
                }
            }
        }
    })
}
