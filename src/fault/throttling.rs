//! Which limit a throttled call has exceeded.

use std::fmt;

/// Which limit of a service a throttled call has exceeded, and of which resource.
///
/// With the feature `serde` it can be serialized and deserialized.
///
/// ```
/// # use aws_batch_delivery::targets::ThrottlingReason;
/// let reason = ThrottlingReason::new("IndexWriteProvisionedThroughputExceeded").on("table/orders/index/by_year");
/// assert_eq!(
///     reason.to_string(),
///     "IndexWriteProvisionedThroughputExceeded on table/orders/index/by_year"
/// );
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ThrottlingReason {
    /// The limit, in the service's words. In DynamoDB they name table or index, the operation and the kind of limit, such
    /// as `TableWriteKeyRangeThroughputExceeded`.
    pub reason: String,
    /// The resource of the limit, such as `table/orders/index/by_year`; `None` if the service does not tell. It has no
    /// account id.
    pub resource: Option<String>,
}

impl ThrottlingReason {
    /// This limit.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            resource: None,
        }
    }

    /// The limit of this resource.
    #[must_use]
    pub fn on(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

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
