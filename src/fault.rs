//! The fault of a failed call, in the service's words. The targets create it and the report shows it, so it is a module below
//! both.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::debug::debug_fields;

/// The longest wait of [`Fault::retry_after`] that counts. Limits of calls are counted over a minute at most, and a call a minute
/// does not matter as load; a proxy that says an hour must not hide that the service is back. The SDK itself waits for at most 20 s.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What went wrong, in the service's words.
///
/// `Display` shows the code, what it means if it concerns credentials or the clock, and the [limits](Self::throttling_reasons) that
/// were exceeded; `Debug` shows no more than that. The [message](Self::message) of the service may quote the entry, so it is
/// only there and in the source.
#[derive(Clone)]
#[must_use]
pub struct Fault(Arc<FaultDetails>);

/// Shared, because the entries of a call usually have the same fault, and most entries have none.
#[derive(Clone)]
struct FaultDetails {
    code: Cow<'static, str>,
    may_have_been_applied: bool,
    explanation: Option<&'static str>,
    message: Option<String>,
    is_too_large: bool,
    reasons: Vec<ThrottlingReason>,
    named_wait: Option<Duration>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A fault with the code of the service or, if it has none, two or three words for what happened.
    pub fn new(code: impl Into<Cow<'static, str>>) -> Self {
        Self(Arc::new(FaultDetails {
            code: code.into(),
            may_have_been_applied: false,
            explanation: None,
            message: None,
            is_too_large: false,
            reasons: Vec::new(),
            named_wait: None,
            source: None,
        }))
    }

    /// The service may have applied the entry: the answer was lost or cannot be read.
    pub fn ambiguous(mut self) -> Self {
        Arc::make_mut(&mut self.0).may_have_been_applied = true;
        self
    }

    /// The service is known not to have the entry.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "not every service needs it")]
    pub(crate) fn was_not_applied(mut self) -> Self {
        Arc::make_mut(&mut self.0).may_have_been_applied = false;
        self
    }

    /// What the code means for the caller, in words that say what to do.
    #[cfg(feature = "aws")]
    pub(crate) fn explained(mut self, explanation: &'static str) -> Self {
        Arc::make_mut(&mut self.0).explanation = Some(explanation);
        self
    }

    /// What the code means for the caller, if that is known.
    pub(crate) fn explanation(&self) -> Option<&'static str> {
        self.0.explanation
    }

    /// The message of the service, which may quote the entry.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).message = Some(message.into());
        self
    }

    /// What the service says about the fault, such as why it refused an entry; `None` if it says nothing.
    ///
    /// It may quote the entry: keep it out of logs that must not have any content. Nothing else of this crate shows it, except
    /// the [source](Error::source).
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// The whole call was refused for the size of its entries together. If it had several, later calls of the delivery are
    /// smaller.
    pub fn for_the_size_of_the_call(mut self) -> Self {
        Arc::make_mut(&mut self.0).is_too_large = true;
        self
    }

    /// The same fault, with the name of the lookup that failed in its code.
    pub(crate) fn of_lookup(mut self, operation: &str) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.code = format!("{operation}: {}", inner.code).into();
        self
    }

    /// The limits of the service that the call has exceeded, if the service names them. The [report](crate::Report) counts
    /// them.
    #[cfg(feature = "dynamodb")]
    pub(crate) fn throttled_by(mut self, reasons: impl IntoIterator<Item = ThrottlingReason>) -> Self {
        Arc::make_mut(&mut self.0).reasons = reasons.into_iter().collect();
        self
    }

    /// The service has said how long it should not be asked again, such as by the header `Retry-After`. Longer waits than a
    /// minute count as one minute.
    ///
    /// An entry with this fault is sent again after this time at the earliest, or handed back if it may not be tried for so
    /// long. If the whole call has this fault, no call of the deliveries that share its strategy leaves before, unless a call
    /// that left later was accepted.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        Arc::make_mut(&mut self.0).named_wait = Some(wait.min(LONGEST_WAIT));
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
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Arc::make_mut(&mut self.0).source = Some(Arc::from(source.into()));
        self
    }

    /// The service's code, such as `InternalError`, or a description if there was none.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The limits of the service that the call has exceeded, if the service named them.
    pub fn throttling_reasons(&self) -> &[ThrottlingReason] {
        &self.0.reasons
    }

    /// How long the service should not be asked again, if it [said so](Self::retry_after); at most one minute.
    pub(crate) fn named_wait(&self) -> Option<Duration> {
        self.0.named_wait
    }

    /// Whether the call was [refused for its size](Self::for_the_size_of_the_call).
    pub(crate) fn is_for_the_size_of_the_call(&self) -> bool {
        self.0.is_too_large
    }

    /// Whether the service may have applied the entry.
    pub fn is_ambiguous(&self) -> bool {
        self.0.may_have_been_applied
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.code)?;
        if let Some(explanation) = self.0.explanation {
            write!(f, ": {explanation}")?;
        }
        if self.0.reasons.is_empty() {
            return Ok(());
        }
        f.write_str(" (")?;
        ThrottlingReason::write_all(&self.0.reasons, f)?;
        f.write_str(")")
    }
}

debug_fields!(
    fault: Fault,
    code = fault.0.code,
    reasons = fault.0.reasons,
    may_have_been_applied = fault.0.may_have_been_applied,
);

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// Which limit of a service a throttled call has exceeded, and of which resource.
///
/// With the feature `serde` it can be serialized and deserialized.
/// `Display` shows both: `IndexWriteProvisionedThroughputExceeded on table/orders/index/by_year`.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ThrottlingReason {
    /// The limit, in the service's words. In DynamoDB they name table or index, the operation and the kind of limit, such
    /// as `TableWriteKeyRangeThroughputExceeded`.
    pub reason: String,
    /// The resource of the limit, such as `table/orders/index/by_year`; `None` if the service does not say. It has no
    /// account id.
    pub resource: Option<String>,
}

impl ThrottlingReason {
    /// Writes the reasons, separated by commas.
    pub(crate) fn write_all<'a>(reasons: impl IntoIterator<Item = &'a Self>, f: &mut impl fmt::Write) -> fmt::Result {
        let mut separator = "";
        for reason in reasons {
            write!(f, "{separator}{reason}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// The reasons as one text, if there are any.
pub(crate) fn in_words<'a>(reasons: impl IntoIterator<Item = &'a ThrottlingReason>) -> Option<String> {
    let mut words = String::new();
    let written = ThrottlingReason::write_all(reasons, &mut words);
    written.ok().filter(|()| !words.is_empty()).map(|()| words)
}

impl fmt::Display for ThrottlingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.resource {
            Some(resource) => write!(f, " on {resource}"),
            None => Ok(()),
        }
    }
}
