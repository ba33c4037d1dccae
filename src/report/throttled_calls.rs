//! The calls that were throttled for one reason.

use std::fmt;

use crate::fault::ThrottlingReason;

/// The calls that were throttled for one reason.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThrottledCalls {
    /// The limit that they have exceeded, and the resource it belongs to. Serialized as the fields `reason` and `resource`.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub reason: ThrottlingReason,
    /// The number of calls.
    pub calls: u64,
}

impl ThrottledCalls {
    /// Counts calls that were throttled for this reason.
    pub(crate) fn add(counted: &mut Vec<Self>, reason: &ThrottlingReason, calls: u64) {
        match counted.iter_mut().find(|counted| counted.reason == *reason) {
            Some(counted) => counted.calls += calls,
            None => counted.push(Self {
                reason: reason.clone(),
                calls,
            }),
        }
    }
}

impl fmt::Display for ThrottledCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.calls, self.reason)
    }
}
