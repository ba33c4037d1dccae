//! What a delivery came to.

use std::error::Error;

use crate::report::{DeliveryError, Report, Undelivered};
use crate::target::Fault;

/// What a delivery came to.
pub(crate) struct Delivered<E> {
    pub(crate) report: Report,
    /// What was handed back and nobody waited for.
    pub(crate) undelivered: Vec<Undelivered<E>>,
    /// What stopped it.
    pub(crate) stopped: Option<Fault>,
}

impl<E> Delivered<E> {
    /// Another delivery followed.
    pub(crate) fn add(&mut self, next: Self) {
        self.report.add(&next.report);
        self.undelivered.extend(next.undelivered);
        self.stopped = next.stopped;
    }

    /// # Errors
    /// When anything was handed back, or the delivery was stopped.
    pub(crate) fn into_result(self) -> Result<Report, DeliveryError<E>> {
        let Self {
            report,
            undelivered,
            stopped,
        } = self;
        if undelivered.is_empty() && stopped.is_none() {
            return Ok(report);
        }
        Err(DeliveryError::new(report, undelivered, stopped))
    }

    /// # Errors
    /// As [`into_result`](Self::into_result), and when the stream that the entries came from failed.
    pub(crate) fn into_result_of_stream<X>(mut self, error: Option<X>) -> Result<Report, DeliveryError<E>>
    where
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let Some(error) = error else {
            return self.into_result();
        };
        self.report.finished = false;
        let mut failed = DeliveryError::new(self.report, self.undelivered, self.stopped);
        failed.stream_error = Some(error.into());
        Err(failed)
    }
}
