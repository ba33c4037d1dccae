//! The result of a delivery, and why it ends early.

use std::error::Error;
use std::time::Duration;

use tracing::{Span, field, info, info_span, warn};

use crate::backoff::{PaceReason, PaceState};
use crate::contract::ErasedTarget;
use crate::events::{DELIVERY, SUMMARY};
use crate::fault::{Fault, in_words};
use crate::guarded::destination;
use crate::report::{Cause, Causes, DeliveryError, Report, Undelivered};

/// The span of a delivery to this target. The spans of its calls are its children.
pub(crate) fn delivery_span<E>(target: &dyn ErasedTarget<E>) -> Span {
    let span = info_span!(
        target: DELIVERY,
        "delivery",
        destination = field::Empty,
        delivered = field::Empty,
        undelivered = field::Empty,
        superseded = field::Empty,
        condition_failed = field::Empty,
        calls = field::Empty,
        resubmitted = field::Empty,
        throttled = field::Empty,
        finished = field::Empty,
        throttled_by = field::Empty,
        state = field::Empty,
        reason = field::Empty,
        error.type = field::Empty,
        otel.status_code = field::Empty,
    );
    if !span.is_disabled() {
        span.record("destination", destination(target));
    }
    span
}

/// The result of a delivery.
#[derive(Debug)]
pub struct Delivered<E> {
    pub(crate) report: Report,
    /// Entries that were handed back without a receipt or handler to take them.
    pub(crate) undelivered: Vec<Undelivered<E>>,
    /// The causes of the entries that a handler took.
    pub(crate) taken: Causes,
    /// Why it has ended before its input, as the cause of an entry that was never sent.
    pub(crate) ending: Option<Cause>,
    /// The fault that stopped it.
    pub(crate) stopped: Option<Fault>,
    /// The last state of the strategy and its reason, if the strategy has them.
    pub(crate) pace: Option<(PaceState, PaceReason)>,
}

impl<E> Delivered<E> {
    /// With nothing else to report.
    pub(crate) fn of(report: Report) -> Self {
        Self {
            report,
            undelivered: Vec::new(),
            taken: Causes::default(),
            ending: None,
            stopped: None,
            pace: None,
        }
    }

    /// Adds the result of the delivery that followed.
    pub(crate) fn add(&mut self, next: Self) {
        self.report.add(&next.report);
        self.undelivered.extend(next.undelivered);
        self.ending = next.ending;
        self.stopped = next.stopped;
        self.pace = next.pace;
    }

    /// Records the result in the [span](delivery_span) of the delivery.
    pub(crate) fn recorded_in(self, span: &Span) -> Self {
        if span.is_disabled() {
            return self;
        }
        let report = &self.report;
        span.record("delivered", report.delivered);
        span.record("undelivered", report.undelivered);
        span.record("superseded", report.superseded);
        span.record("condition_failed", report.condition_failed);
        span.record("calls", report.calls);
        span.record("resubmitted", report.resubmitted);
        span.record("throttled", report.throttled);
        span.record("finished", report.finished);
        span.record(
            "throttled_by",
            in_words(report.throttled_by.iter().map(|calls| &calls.reason)),
        );
        if let Some((state, reason)) = self.pace {
            span.record("state", field::display(state));
            span.record("reason", field::display(reason));
        }
        if let Some(fault) = &self.stopped {
            span.record("error.type", fault.code());
            span.record("otel.status_code", "ERROR");
        }
        self
    }

    /// Logs the result, unless there was no entry.
    pub(crate) fn log(&self, destination: &str) {
        let report = &self.report;
        let stopped = self
            .stopped
            .as_ref()
            .map(|fault| format!("the delivery stopped: {fault}"));
        if report.next_position() == 0 && stopped.is_none() {
            return;
        }
        let first = || {
            Some(
                self.undelivered
                    .first()
                    .map(|first| &first.cause)
                    .or(self.taken.first())?
                    .to_string(),
            )
        };
        // The level of an event must be known at compile time.
        macro_rules! summary {
            ($log:ident, $message:literal, $cause:expr) => {
                $log!(
                    target: SUMMARY,
                    destination,
                    cause = $cause,
                    delivered = report.delivered,
                    undelivered = report.undelivered,
                    superseded = report.superseded,
                    condition_failed = report.condition_failed,
                    calls = report.calls,
                    resubmitted = report.resubmitted,
                    throttled = report.throttled,
                    finished = report.finished,
                    seconds = report.elapsed.as_secs_f64(),
                    state = self.pace.map(|(state, _)| field::display(state)),
                    reason = self.pace.map(|(_, reason)| field::display(reason)),
                    $message
                )
            };
        }
        let unread = self.ending.as_ref().filter(|_| !report.finished);
        if report.undelivered > 0 || stopped.is_some() {
            summary!(warn, "entries were not delivered", stopped.or_else(first));
        } else if let Some(cause) = unread {
            summary!(warn, "the input was not read to its end", cause.to_string());
        } else {
            summary!(info, "all entries were delivered", None::<String>);
        }
    }

    /// # Errors
    /// When anything was handed back or left in the stream, or the delivery was stopped.
    pub(crate) fn into_result(self) -> Result<Report, DeliveryError<E>> {
        let Self {
            report,
            undelivered,
            taken,
            ending,
            stopped,
            ..
        } = self;
        let interruption = ending.filter(|_| !report.finished);
        if undelivered.is_empty() && taken.first().is_none() && stopped.is_none() && interruption.is_none() {
            return Ok(report);
        }
        let error = DeliveryError::new(report, undelivered, taken, stopped);
        Err(error.interrupted_by(interruption))
    }

    /// Logs the result.
    ///
    /// # Errors
    /// As [`into_result`](Self::into_result), and when the stream that the entries came from failed.
    pub(crate) fn into_result_of_stream<X>(
        mut self,
        destination: &str,
        error: Option<X>,
    ) -> Result<Report, DeliveryError<E>>
    where
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        self.report.finished &= error.is_none();
        self.log(destination);
        let Some(error) = error else {
            return self.into_result();
        };
        let mut failed = DeliveryError::new(self.report, self.undelivered, self.taken, self.stopped);
        failed.stream_error = Some(error.into());
        Err(failed)
    }
}

/// Why a delivery ends before everything is delivered.
pub(crate) enum DeliveryEnd {
    Cancelled,
    DeadlineReached,
    Stopped(Fault),
    /// Nothing was accepted for this long, which is as long as the delivery may try.
    Outage {
        lasted: Duration,
        fault: Fault,
    },
}

impl DeliveryEnd {
    /// The fault behind it, if there is one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Cancelled | Self::DeadlineReached => None,
            Self::Stopped(fault) | Self::Outage { fault, .. } => Some(fault),
        }
    }

    /// The cause for an entry whose last rejection was `last`.
    pub(crate) fn cause(&self, last: Option<Fault>) -> Cause {
        match self {
            Self::Cancelled => Cause::Cancelled(last),
            Self::DeadlineReached => Cause::DeadlineReached(last),
            Self::Stopped(fault) => Cause::Stopped(fault.clone()),
            Self::Outage { lasted, fault } => Cause::Outage {
                lasted: *lasted,
                fault: last.unwrap_or_else(|| fault.clone()),
            },
        }
    }
}
