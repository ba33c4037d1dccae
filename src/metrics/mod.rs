//! The metrics of this crate.
//!
//! [cost]: crate::guide::benchmarks#metrics
#![doc = include_str!("../../docs/metrics.md")]

#[cfg(feature = "metrics")]
mod instruments;
#[cfg(feature = "metrics")]
mod measured;
#[cfg(feature = "metrics")]
mod paces;

#[cfg(feature = "metrics")]
use aws_smithy_observability::{AttributeValue, Attributes};

#[cfg(feature = "metrics")]
pub(crate) use measured::Metrics;
#[cfg(not(feature = "metrics"))]
pub(crate) use off::Metrics;

/// Sets an attribute of a metric.
#[cfg(feature = "metrics")]
fn set(attributes: &mut Attributes, name: &'static str, value: &str) {
    attributes.set(name, AttributeValue::String(value.to_owned()));
}

/// The metrics of a build without the feature `metrics`: none.
#[cfg(not(feature = "metrics"))]
#[expect(clippy::unused_self, reason = "the same signatures as with the feature")]
mod off {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::backoff::Outcome;
    use crate::contract::ThrottlingReason;
    use crate::pace::Gate;
    use crate::report::Cause;

    #[derive(Clone)]
    pub(crate) struct Metrics;

    impl Metrics {
        pub(crate) fn of(_: &str, _: Option<&Arc<Gate>>) -> Self {
            Self
        }

        #[cfg(test)]
        pub(crate) fn none() -> Self {
            Self
        }

        pub(crate) fn call_leaves(&self, _: u64, _: u64) {}

        pub(crate) fn call_ended(&self, _: &Outcome, _: usize, _: Option<&str>) {}

        pub(crate) fn call_throttled_by(&self, _: &ThrottlingReason) {}

        pub(crate) fn processed(&self, _: impl FnOnce() -> Option<Duration>) {}

        pub(crate) fn begin_to_wait(&self, _: u64) {}

        pub(crate) fn end_to_wait(&self, _: u64) {}

        pub(crate) fn end(&self, _: u64, _: u64) {}

        pub(crate) fn superseded(&self) {}

        pub(crate) fn handed_back(&self, _: &Cause, _: u64) {}
    }
}
