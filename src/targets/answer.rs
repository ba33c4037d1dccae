//! What a call came to, entry by entry.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::ThrottlingReason;

/// What one call came to.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A verdict for each entry, in the order of the chunk. Entries beyond the last verdict count as
    /// [`Rejection::Unanswered`].
    Each(Vec<Verdict>),
    /// One verdict that holds for every entry of the chunk: the call was accepted, throttled, failed or was refused as a whole.
    /// Which entries a call was refused for is found by sending parts of it.
    Whole(Verdict),
    /// The call failed for a reason that every later call shares: the table is missing, the permission is not given.
    /// The delivery stops.
    Stop(Fault),
}

/// What the service said of one entry.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The service has it.
    Accepted,
    /// The service has it, and told this of it.
    Acknowledged(Acknowledgement),
    /// Not now: it is sent again.
    Rejected(Rejection, Fault),
    /// Not ever: sending it again cannot help.
    Refused(Fault),
}

impl Verdict {
    /// Whether the service has the entry.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted | Self::Acknowledged(_))
    }
}

/// What a service told of an entry that it has: SQS tells ids, DynamoDB nothing.
///
/// ```
/// # use aws_batch_delivery::targets::{Acknowledgement, Verdict};
/// let acknowledged = Acknowledgement::default().with_message_id("5fea7756").with_sequence_number("18885");
/// let verdict = Verdict::Acknowledged(acknowledged);
/// assert!(verdict.is_accepted());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledgement {
    /// The id that the service gave to the entry, such as the `MessageId` of SQS.
    pub message_id: Option<String>,
    /// The entry's place in the order that the service keeps, such as the `SequenceNumber` of a FIFO queue.
    pub sequence_number: Option<String>,
}

impl Acknowledgement {
    /// And this id.
    #[must_use]
    pub fn with_message_id(mut self, id: impl Into<String>) -> Self {
        self.message_id = Some(id.into());
        self
    }

    /// And this place in the order.
    #[must_use]
    pub fn with_sequence_number(mut self, number: impl Into<String>) -> Self {
        self.sequence_number = Some(number.into());
        self
    }
}

/// Why an entry is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejection {
    /// The service said that it is too much at the moment.
    Throttled,
    /// The service handed it back without a reason (`UnprocessedItems`). Mostly a throttle.
    Unprocessed,
    /// The service failed: an internal error, a 5xx, an answer that cannot be read.
    Transient,
    /// The connection failed or the attempt took too long.
    Connection,
    /// The call could not be made at the moment: the credentials could not be fetched, no connection was established, the
    /// clock was wrong. It is a failure of all entries, so that only one call at a time finds out whether it is over.
    Setup,
    /// The call could not be made, and no call can with this configuration: no region, no credentials, a malformed endpoint.
    /// It stops a delivery, unless that has delivered something before; then it is as [`Setup`](Self::Setup).
    Unconfigured,
    /// The service answered, but said nothing of this entry.
    Unanswered,
}

impl Rejection {
    /// Whether the call could not be made, so that the service said nothing of any entry.
    pub(crate) fn is_unsent(self) -> bool {
        matches!(self, Self::Setup | Self::Unconfigured)
    }

    /// Whether it speaks of the service's capacity, so that going slower may help.
    pub fn is_throttle(self) -> bool {
        matches!(self, Self::Throttled | Self::Unprocessed)
    }
}

/// What went wrong, in the service's words.
///
/// `Display` shows the code and the [limits](Self::throttled_by) that were passed, and `Debug` no more than that. The service's
/// message may quote the entry; it is in the source.
#[derive(Clone)]
pub struct Fault(Arc<Inner>);

/// Shared, since the entries of a call mostly have the same fault, and most entries have none.
#[derive(Clone)]
struct Inner {
    code: Cow<'static, str>,
    may_have_been_applied: bool,
    reasons: Vec<ThrottlingReason>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A fault with the service's code or, where it gave none, two or three words for what happened.
    pub fn new(code: impl Into<Cow<'static, str>>) -> Self {
        Self(Arc::new(Inner {
            code: code.into(),
            may_have_been_applied: false,
            reasons: Vec::new(),
            source: None,
        }))
    }

    /// The service may have applied the entry all the same: the answer was lost, or nothing can be read from it.
    #[must_use]
    pub fn may_have_been_applied(mut self) -> Self {
        Arc::make_mut(&mut self.0).may_have_been_applied = true;
        self
    }

    /// The service does not have the entry after all.
    #[cfg(feature = "s3-offload")]
    pub(crate) fn was_not_applied(mut self) -> Self {
        Arc::make_mut(&mut self.0).may_have_been_applied = false;
        self
    }

    /// The limits of the service that the call has passed, where it tells them. The [report](crate::Report) counts them.
    #[must_use]
    pub fn throttled_by(mut self, reasons: impl IntoIterator<Item = ThrottlingReason>) -> Self {
        Arc::make_mut(&mut self.0).reasons = reasons.into_iter().collect();
        self
    }

    /// The original error: any error, or a text. Entries of one call share it.
    ///
    /// ```
    /// # use aws_batch_delivery::targets::Fault;
    /// # fn fault(error: std::io::Error) -> Fault {
    /// Fault::new("connection failed").caused_by(error)
    /// # }
    /// let fault = Fault::new("MappingError").caused_by("the field is not known");
    /// ```
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Arc::make_mut(&mut self.0).source = Some(Arc::from(source.into()));
        self
    }

    /// The service's code, such as `InternalError`, or what happened where there was none.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The limits of the service that the call has passed, where it told them.
    pub fn throttling_reasons(&self) -> &[ThrottlingReason] {
        &self.0.reasons
    }

    /// Whether the service may have applied the entry all the same.
    pub fn is_ambiguous(&self) -> bool {
        self.0.may_have_been_applied
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.code)?;
        if self.0.reasons.is_empty() {
            return Ok(());
        }
        f.write_str(" (")?;
        ThrottlingReason::write_all(&self.0.reasons, f)?;
        f.write_str(")")
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("code", &self.0.code)
            .field("reasons", &self.0.reasons)
            .field("may_have_been_applied", &self.0.may_have_been_applied)
            .finish_non_exhaustive()
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
