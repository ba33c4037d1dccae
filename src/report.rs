//! What a delivery came to.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::invalid::InvalidEntry;
use crate::target::Fault;

/// The figures of a delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Entries that the service accepted.
    pub delivered: u64,
    /// Entries that were handed back.
    pub undelivered: u64,
    /// Entries that were dropped since a newer one writes the same key, under
    /// [`last_write_wins`](crate::DeliveryOptions::last_write_wins). Together with the two above: the whole input.
    pub superseded: u64,
    /// Calls made, failed ones included.
    pub calls: u64,
    /// Times that an entry was sent again.
    pub resubmitted: u64,
    /// Times that an entry was rejected for lack of capacity.
    pub throttled: u64,
    /// From the start of the delivery to its end.
    pub elapsed: Duration,
}

impl Report {
    /// Another delivery followed.
    pub(crate) fn add(&mut self, next: &Self) {
        self.delivered += next.delivered;
        self.undelivered += next.undelivered;
        self.superseded += next.superseded;
        self.calls += next.calls;
        self.resubmitted += next.resubmitted;
        self.throttled += next.throttled;
        self.elapsed += next.elapsed;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} delivered, {} undelivered, ", self.delivered, self.undelivered)?;
        if self.superseded > 0 {
            write!(f, "{} superseded, ", self.superseded)?;
        }
        write!(
            f,
            "{} calls, {} resubmitted, in {:.3} s",
            self.calls,
            self.resubmitted,
            self.elapsed.as_secs_f64()
        )
    }
}

/// Some entries could not be delivered. It carries every one of them, so that `?` loses none.
///
/// Neither `Display` nor `Debug` shows an entry's content.
#[non_exhaustive]
pub struct DeliveryError<E> {
    /// The figures, among them how many were delivered all the same.
    pub report: Report,
    /// Every entry that was not delivered, in the order of the input.
    pub undelivered: Vec<Undelivered<E>>,
    /// Why the delivery stopped before the end of the input, if a fault stopped it: one that every later call shares, or a
    /// panic of the input, the target or the backoff strategy.
    pub stopped: Option<Fault>,
}

/// A delivery from a stream failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StreamError<E, X> {
    /// The stream yielded an error.
    #[error("the stream failed")]
    Stream {
        /// The stream's error.
        #[source]
        error: X,
        /// What became of the entries that came before it.
        delivery: Result<Report, DeliveryError<E>>,
    },
    /// Some entries could not be delivered.
    #[error(transparent)]
    Delivery(DeliveryError<E>),
}

/// An entry that was not delivered.
///
/// Later entries of its key or message group went on without it. Whoever delivers it again may put an older value over a
/// newer one.
#[non_exhaustive]
pub struct Undelivered<E> {
    /// The entry, as it was handed over; completed if the target [completes](crate::target::BatchTarget::complete) entries.
    pub entry: E,
    /// Its place in the input, from 0. 0 also when a producer did not take it.
    pub position: u64,
    /// Why it was not delivered.
    pub cause: Cause,
    /// How often it was sent.
    pub attempts: u32,
    /// The service may have it all the same: an answer was lost, or could not be read, or said nothing of this entry.
    pub may_have_been_delivered: bool,
}

/// Why an entry was not delivered.
///
/// The source of a cause is the [`Fault`] of the last attempt, and the source of that is the original error.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The service would refuse it; it was not sent.
    #[error("not sent: {0}")]
    Invalid(#[source] InvalidEntry),
    /// The service refused it for good.
    #[error("refused: {0}")]
    Refused(#[source] Fault),
    /// It was rejected as often as [`retries`](crate::DeliveryOptions::retries) allows.
    #[error("retries used up: {0}")]
    RetriesUsedUp(#[source] Fault),
    /// It could not be delivered within [`give_up_after`](crate::DeliveryOptions::give_up_after).
    #[error("time used up: {0}")]
    TimeUsedUp(#[source] Fault),
    /// A call failed for a reason that every later call shares, so that the delivery stopped: the table is missing, the
    /// permission is not given; or the first 1,000 entries were refused, each in a call of its own, and none was accepted.
    #[error("the delivery stopped: {0}")]
    Stopped(#[source] Fault),
    /// The [`deadline`](crate::DeliveryOptions::deadline) came first.
    #[error("the deadline was reached")]
    DeadlineReached(#[source] Option<Fault>),
    /// The delivery was [cancelled](crate::DeliveryOptions::cancellation).
    #[error("the delivery was cancelled")]
    Cancelled(#[source] Option<Fault>),
    /// The [`Producer`](crate::Producer) takes no more entries.
    #[error("not sent: the producer is closed")]
    Closed,
    /// The [buffer](crate::DeliveryOptions::buffer) of the [`Producer`](crate::Producer) has no room at the moment.
    #[error("not sent: the producer's buffer is full")]
    BufferFull,
}

/// How many causes an error message tells; the rest is counted.
const CAUSES_TOLD: usize = 3;

impl<E> DeliveryError<E> {
    /// Each cause in words and how many entries have it, in the order of their first entry.
    fn causes(&self) -> Vec<(String, usize)> {
        let mut causes: Vec<(String, usize)> = Vec::new();
        let mut others = 0;
        for undelivered in &self.undelivered {
            let words = undelivered.cause.to_string();
            if let Some(known) = causes.iter().position(|(told, _)| *told == words) {
                causes[known].1 += 1;
            } else if causes.len() < CAUSES_TOLD {
                causes.push((words, 1));
            } else {
                others += 1;
            }
        }
        if others > 0 {
            causes.push(("other causes".to_owned(), others));
        }
        causes
    }
}

impl<E> fmt::Display for DeliveryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.report.delivered + self.report.undelivered + self.report.superseded;
        write!(f, "{} of {total} entries were not delivered", self.report.undelivered)?;
        let mut separator = ": ";
        for (words, count) in self.causes() {
            write!(f, "{separator}{count} × {words}")?;
            separator = "; ";
        }
        match &self.stopped {
            Some(fault) if self.undelivered.is_empty() => write!(f, "{separator}the delivery stopped: {fault}"),
            _ => Ok(()),
        }
    }
}

impl<E> fmt::Debug for DeliveryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryError")
            .field("report", &self.report)
            .field("causes", &self.causes())
            .finish_non_exhaustive()
    }
}

impl<E, X: fmt::Debug> fmt::Debug for StreamError<E, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream { error, delivery } => f
                .debug_struct("Stream")
                .field("error", error)
                .field("delivery", delivery)
                .finish(),
            Self::Delivery(error) => f.debug_tuple("Delivery").field(error).finish(),
        }
    }
}

impl<E> Error for DeliveryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.undelivered.first().map(|undelivered| &undelivered.cause as _);
        cause.or_else(|| self.stopped.as_ref().map(|fault| fault as _))
    }
}

impl<E> Undelivered<E> {
    /// An entry that was not sent.
    pub(crate) fn unsent(entry: E, position: u64, cause: Cause) -> Self {
        Self {
            entry,
            position,
            cause,
            attempts: 0,
            may_have_been_delivered: false,
        }
    }
}

impl<E> fmt::Display for Undelivered<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the entry was not delivered: {}", self.cause)
    }
}

impl<E> Error for Undelivered<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<E> fmt::Debug for Undelivered<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undelivered")
            .field("position", &self.position)
            .field("cause", &self.cause)
            .field("attempts", &self.attempts)
            .field("may_have_been_delivered", &self.may_have_been_delivered)
            .finish_non_exhaustive()
    }
}
