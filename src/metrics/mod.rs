//! The metrics of this crate.
//!
//! They are recorded with `aws-smithy-observability`, as the SDK's own are. A telemetry provider that is set for the SDK
//! receives them too, beside the SDK's metrics of each request such as `smithy.client.call.duration`. Set the provider once,
//! before the first delivery begins:
//!
#![cfg_attr(feature = "metrics", doc = "```")]
#![cfg_attr(not(feature = "metrics"), doc = "```ignore")]
//! use std::sync::Arc;
//!
//! use aws_smithy_observability::global::set_telemetry_provider;
//! use aws_smithy_observability::meter::ProvideMeter;
//! use aws_smithy_observability::{ObservabilityError, TelemetryProvider};
//!
//! fn measure(meters: Arc<impl ProvideMeter + 'static>) -> Result<(), ObservabilityError> {
//!     set_telemetry_provider(TelemetryProvider::builder().meter_provider(meters).build())
//! }
//! ```
//!
//! The repository has complete programs with exporters for OTLP and for Prometheus in `examples/observability`. Without a
//! provider nothing is measured, at the cost of 5 instructions an entry; with a provider of OpenTelemetry's SDK, an entry costs 0.18 µs of
//! processor time more, [as measured](crate::guide::benchmarks#metrics). The feature `metrics` is part of `aws` and of the
//! feature of each service. Use the version of `aws-smithy-observability` that the SDK uses, 0.3: each version has a provider
//! of its own.
//!
//! The names, units and attributes on this page stay the same from version to version. Everything is counted as in the
//! [`Report`](crate::Report) and as soon as it is known, so the counts of a delivery that is dropped are not lost.
//!
//! | name | instrument | unit | attributes | what is counted |
//! |---|---|---|---|---|
//! | `aws_batch_delivery.entries.delivered` | counter | `{entry}` | | entries that the service accepted |
//! | `aws_batch_delivery.entries.undelivered` | counter | `{entry}` | `cause`, `error.type` | entries that were handed back |
//! | `aws_batch_delivery.entries.superseded` | counter | `{entry}` | | entries that were dropped for newer ones of the same key |
//! | `aws_batch_delivery.entries.condition_failed` | counter | `{entry}` | | entries whose condition the service has evaluated and found not to hold |
//! | `aws_batch_delivery.entries.resubmitted` | counter | `{entry}` | | times that an entry was sent again |
//! | `aws_batch_delivery.entries.throttled` | counter | `{entry}` | | times that an entry was rejected for lack of capacity |
//! | `aws_batch_delivery.entries.in_flight` | up-down counter | `{entry}` | | entries in calls that are not answered yet |
//! | `aws_batch_delivery.entries.waiting` | up-down counter | `{entry}` | | rejected entries that wait to be sent again |
//! | `aws_batch_delivery.entry.duration` | histogram | `s` | | from the time an entry is handed over until it is accepted, or its condition is found not to hold; with a [`Producer`](crate::Producer) from [`send`](crate::Producer::send), otherwise from the time it is read |
//! | `aws_batch_delivery.call.duration` | histogram | `s` | `outcome`, `error.type` | from the departure of a call to its answer; its count is the number of calls |
//! | `aws_batch_delivery.calls.throttled` | counter | `{call}` | `reason`, `resource` | calls that have exceeded a limit that the service names, as in [`Report::throttled_by`](crate::Report::throttled_by) |
//! | `aws_batch_delivery.pace.capacity` | gauge | `{entry}/s` | | the measured capacity of the service, in write units if the strategy counts them; absent while it is not known |
//! | `aws_batch_delivery.pace.rate` | gauge | `{entry}/s` | | the rate at which entries may leave now, in the same unit; absent while a window limits them instead |
//! | `aws_batch_delivery.pace.hot_keys` | gauge | `{key}` | | partition keys that have a pace of their own |
//! | `aws_batch_delivery.pace.state` | up-down counter | `{pace}` | `state` | paces in this state; each state is reported |
//!
//! The paces are those of the current deliveries, as in [`PaceSnapshot`](crate::backoff::PaceSnapshot). Deliveries to one
//! destination whose options are clones of each other share a pace. If a destination has several paces, their capacities,
//! rates and hot keys are added up. All of them are absent if the strategy has no snapshot.
//!
//! | attribute | of | values |
//! |---|---|---|
//! | `destination` | all | service and table or queue, [`BatchTarget::name`](crate::targets::BatchTarget::name): `dynamodb/orders`, `sqs/orders.fifo`, `custom` |
//! | `cause` | `entries.undelivered` | the [`Cause`](crate::Cause): `invalid`, `refused`, `retries_used_up`, `time_used_up`, `outage`, `stopped`, `deadline_reached`, `cancelled` |
//! | `outcome` | `call.duration` | `accepted`; `condition_failed` if no condition holds; `partial` if only some of the entries were accepted; if none was, `throttled`, `refused` or `failed` |
//! | `error.type` | `entries.undelivered`, `call.duration` | the service's code of the last attempt, or of the call if nothing of it was accepted: `ThrottlingException`, `attempt timeout`; absent if there is none |
//! | `reason`, `resource` | `calls.throttled` | the [limit and its resource](crate::targets::ThrottlingReason): `IndexWriteProvisionedThroughputExceeded`, `table/orders/index/by_customer` |
//! | `state` | `pace.state` | the [state](crate::backoff::PaceState): `searching`, `draining`, `steady`, `outage` |
//!
//! No attribute contains any content of an entry, an account id or a credential. The number of series depends only on the
//! destinations and on the service's codes; a target of your own should take its codes from a fixed list.

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
