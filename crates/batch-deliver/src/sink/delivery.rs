//! A delivery by the library.

use std::error::Error;
use std::sync::Arc;

use aws_batch_delivery::{Delivery, DeliveryError, DeliveryOptions, Disposition, Report};
use futures::Stream;

use super::destination::Target;
use super::duplicates::Duplicates;
use super::undelivered::{UndeliveredEntry, printed_fault};

/// What came of a delivery.
pub(crate) struct DeliveryResult<E>(Result<Report, DeliveryError<E>>);

/// Delivers the entries. Notes in `duplicates` those that the service has dropped, if they are counted. Calls `decided` with the position of
/// each one that is not handed back and what became of it. Calls `undelivered` with each one that is, and waits for what this returns; and
/// with each one that was dropped, if the kept one has another content.
pub(crate) async fn deliver<T, S, X, F>(
    target: T,
    options: DeliveryOptions,
    entries: S,
    duplicates: Option<Arc<Duplicates<T::Entry>>>,
    decided: impl Fn(u64, &Disposition) + Send + Sync + 'static,
    undelivered: impl Fn(UndeliveredEntry) -> F + Send + Sync + 'static,
) -> DeliveryResult<T::Entry>
where
    T: Target,
    S: Stream<Item = Result<T::Entry, X>>,
    X: Into<Box<dyn Error + Send + Sync>>,
    F: Future<Output = ()> + Send + 'static,
{
    let undelivered = Arc::new(undelivered);
    let lost = Arc::clone(&undelivered);
    let delivery = Delivery::new(target)
        .options(options)
        .on_delivered(move |position, entry, disposition| {
            let duplicates = duplicates.as_ref();
            if duplicates.is_some_and(|duplicates| duplicates.note(entry, disposition)) {
                // What it returns is only waited for.
                drop(lost(UndeliveredEntry::dropped(position)));
            } else {
                decided(position, disposition);
            }
        })
        .on_undelivered(move |entry| undelivered(UndeliveredEntry::of(entry)));
    DeliveryResult(delivery.try_deliver_stream(entries).await)
}

impl<E> DeliveryResult<E> {
    /// The entries that were handed back at the end.
    pub(crate) fn handed_back(&self) -> impl Iterator<Item = UndeliveredEntry> {
        let handed_back = self.0.as_ref().map_or_else(DeliveryError::undelivered, |_| &[]);
        handed_back.iter().map(UndeliveredEntry::of)
    }

    /// The report, the error of the stream, and why the delivery stopped.
    pub(crate) fn parts(self) -> (Report, Option<Box<dyn Error + Send + Sync>>, Option<String>) {
        match self.0 {
            Ok(report) => (report, None, None),
            Err(error) => {
                let stopped = error.stopped().map(printed_fault);
                (error.report, error.stream_error, stopped)
            }
        }
    }
}
