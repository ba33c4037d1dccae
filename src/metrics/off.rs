//! The metrics of a build without the feature `metrics`: none.

#![expect(clippy::unused_self, reason = "the same signatures as with the feature")]

use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Outcome;
use crate::pace::Gate;
use crate::report::Cause;
use crate::targets::ThrottlingReason;

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

    pub(crate) fn call_ended(&self, _: &Outcome, _: Option<&str>) {}

    pub(crate) fn call_throttled_by(&self, _: &ThrottlingReason) {}

    pub(crate) fn accepted(&self, _: impl FnOnce() -> Option<Duration>) {}

    pub(crate) fn begin_to_wait(&self, _: u64) {}

    pub(crate) fn end_to_wait(&self, _: u64) {}

    pub(crate) fn end(&self, _: u64, _: u64) {}

    pub(crate) fn superseded(&self) {}

    pub(crate) fn handed_back(&self, _: &Cause, _: u64) {}
}
