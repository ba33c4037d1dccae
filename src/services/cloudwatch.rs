//! CloudWatch: metrics of one namespace by `PutMetricData`.

mod check;

use std::borrow::Cow;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::config::Builder;
use aws_sdk_cloudwatch::operation::RequestId;
use aws_sdk_cloudwatch::types::MetricDatum;

pub use self::check::{MAX_DIMENSIONS, MAX_METRIC_BYTES, MAX_VALUES, metric_size};
use self::check::{check_metric, check_namespace};
use super::debug::debug_by_name;
use crate::aws::classify;
use crate::aws::correlate::{UNITS_OF_CALL, of_whole_call};
use crate::aws::renewal::Changes;
use crate::aws::request::{request_span, send, single_attempt};
use crate::contract::{Answer, BatchTarget, Fault, Limits};
use crate::invalid::InvalidEntry;

/// Metrics in a call. From the API reference of `PutMetricData`.
pub const MAX_METRICS: usize = 1_000;

/// Bytes of a request: 1 MB. From the API reference of `PutMetricData`, which does not say whether that is 1,000,000 or 1,048,576, nor
/// whether it is before or after the SDK's compression: this is before.
pub const MAX_REQUEST_BYTES: usize = 1_000_000;

/// Bytes of a request in addition to its metrics, at most: the namespace of 255 characters, and the names and ends of the parts.
const ENVELOPE: usize = 300;

/// A namespace of CloudWatch to put metrics into.
///
/// `PutMetricData` takes a call as a whole or not at all. What is wrong with a metric is found before it is sent, as far as the API
/// reference says it. If a call is refused all the same, for example because the time of a metric lies more than two weeks back, it is
/// repeated in parts until the metrics at fault are alone; the others are put.
///
/// # When the answer is lost
/// The metrics are put again, so that each value of them may count twice: `SampleCount` and `Sum` are then too large, `Minimum`,
/// `Maximum` and `Average` of the same values are right.
///
/// # Capacity
/// CloudWatch limits the calls of an account in a second, 500 by default, whatever they carry: from "CloudWatch service quotas". So the
/// pace counts calls, and full calls cost least. Values with their counts, or a set of statistics, are one metric as well.
///
/// Metrics keep no order: each has its own time. The SDK compresses requests of 10 KB and more, unless the client's configuration
/// disables that. An answer without a request id does not come from CloudWatch, and leaves the metrics in doubt.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
pub struct CloudWatchMetrics {
    client: Client,
    changes: Changes<Builder>,
    namespace: String,
    limits: Limits,
}

impl CloudWatchMetrics {
    /// The namespace with this name. If CloudWatch does not take it, as those that begin with `AWS/`, the delivery stops before its
    /// first call.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_METRICS`], 1,000 |
    /// | bytes of a call | 999,700: [`MAX_REQUEST_BYTES`] without what is not a metric |
    /// | bytes of a metric | [`MAX_METRIC_BYTES`], more than a valid one has |
    /// | dimensions of a metric | [`MAX_DIMENSIONS`], 30 |
    /// | values of a metric | [`MAX_VALUES`], 150 |
    pub fn new(client: Client, namespace: impl Into<String>) -> Self {
        let limits = Limits::new(MAX_METRICS, MAX_REQUEST_BYTES - ENVELOPE);
        Self {
            changes: single_attempt!(aws_sdk_cloudwatch, client),
            client,
            namespace: namespace.into(),
            limits: limits.with_entry_bytes(MAX_METRIC_BYTES),
        }
    }

    /// Other limits, for endpoints with lower or higher ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl BatchTarget for CloudWatchMetrics {
    type Entry = MetricDatum;

    fn name(&self) -> Cow<'_, str> {
        format!("cloudwatch/{}", self.namespace).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, metric: &MetricDatum) -> Result<usize, InvalidEntry> {
        check_metric(metric)?;
        self.limits.check_size("metric", metric_size(metric))
    }

    async fn send(&self, metrics: &[MetricDatum]) -> Answer {
        if let Err(invalid) = check_namespace(&self.namespace) {
            return Answer::Stop(Fault::new("invalid namespace").caused_by(invalid));
        }
        let span = request_span!(
            "CloudWatch",
            "PutMetricData",
            aws.cloudwatch.namespace = &*self.namespace,
            aws.cloudwatch.metric_count = metrics.len(),
        );
        let call = self
            .client
            .put_metric_data()
            .namespace(&self.namespace)
            .set_metric_data(Some(metrics.to_vec()));
        match send!(aws_sdk_cloudwatch, call, self.changes, span) {
            Ok(output) => of_whole_call(output.request_id()),
            Err(error) => classify(error),
        }
    }

    /// The call counts, whatever it carries.
    async fn send_metered(&self, metrics: &[MetricDatum]) -> (Answer, Option<f64>) {
        (self.send(metrics).await, Some(UNITS_OF_CALL))
    }
}

debug_by_name!(CloudWatchMetrics);

#[cfg(test)]
mod tests;
