//! What this crate measures.
//!
//! It does so by `aws-smithy-observability`, as the SDK itself: whoever has set a telemetry provider for the SDK gets these
//! metrics from the same one, with the SDK's own of each request, `smithy.client.call.duration` and its like. The provider is
//! set once, before the first delivery begins:
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
//! Programs that do it, with exporters for OTLP and for Prometheus, are in `examples/observability` of the repository. Without a
//! provider nothing is measured, and each delivery has spent a look at that. The feature `metrics` comes with `aws`, and with the
//! feature of each service. The version of `aws-smithy-observability` has to be the one that the SDK uses, 0.3: another one has
//! another provider.
//!
//! The names, units and attributes on this page stay as they are from version to version. What is counted is counted as in
//! the [`Report`](crate::Report), as soon as it is known, so that a delivery that is dropped has counted what it came to.
//!
//! | name | instrument | unit | attributes | what is counted |
//! |---|---|---|---|---|
//! | `aws_batch_delivery.entries.delivered` | counter | `{entry}` | | entries that the service accepted |
//! | `aws_batch_delivery.entries.undelivered` | counter | `{entry}` | `cause`, `error.type` | entries that were handed back |
//! | `aws_batch_delivery.entries.superseded` | counter | `{entry}` | | entries that were dropped for newer ones of the same key |
//! | `aws_batch_delivery.entries.resubmitted` | counter | `{entry}` | | times that an entry was sent again |
//! | `aws_batch_delivery.entries.throttled` | counter | `{entry}` | | times that an entry was rejected for lack of capacity |
//! | `aws_batch_delivery.entries.in_flight` | up-down counter | `{entry}` | | entries in calls that are not answered yet |
//! | `aws_batch_delivery.entries.waiting` | up-down counter | `{entry}` | | rejected entries that wait to be sent again |
//! | `aws_batch_delivery.entry.duration` | histogram | `s` | | from the time that an entry is handed over until it is accepted; of a [`Producer`](crate::Producer) from [`send`](crate::Producer::send), otherwise from the time that it is read |
//! | `aws_batch_delivery.call.duration` | histogram | `s` | `outcome`, `error.type` | from the time that a call leaves to its answer; its count is the number of calls |
//! | `aws_batch_delivery.calls.throttled` | counter | `{call}` | `reason`, `resource` | calls that have passed a limit of the service which it named, as in [`Report::throttled_by`](crate::Report::throttled_by) |
//! | `aws_batch_delivery.pace.capacity` | gauge | `{entry}/s` | | what the service can take as measured; write units where these are counted; absent while it is not known |
//! | `aws_batch_delivery.pace.rate` | gauge | `{entry}/s` | | what may leave now, in the same unit; absent where a window limits it |
//! | `aws_batch_delivery.pace.loss` | gauge | `1` | | the share of entries that the service rejects whatever the pace |
//! | `aws_batch_delivery.pace.hot_keys` | gauge | `{key}` | | partition keys that have a pace of their own |
//! | `aws_batch_delivery.pace.state` | up-down counter | `{pace}` | `state` | paces in this state; each state is reported |
//!
//! The paces are those of the deliveries that are under way, as [`PaceSnapshot`](crate::backoff::PaceSnapshot) tells them: one
//! for all deliveries to a destination whose options are clones of each other. Capacity, rate and hot keys of several
//! paces are added up, and of their losses the highest is told. All of them are absent where the strategy tells nothing.
//!
//! | attribute | of | values |
//! |---|---|---|
//! | `destination` | all | service and table or queue, [`BatchTarget::name`](crate::targets::BatchTarget::name): `dynamodb/orders`, `sqs/orders.fifo`, `custom` |
//! | `cause` | `entries.undelivered` | the [`Cause`](crate::Cause): `invalid`, `refused`, `retries_used_up`, `time_used_up`, `stopped`, `deadline_reached`, `cancelled` |
//! | `outcome` | `call.duration` | `accepted`, `partial`: not all of its entries; where none was accepted `throttled`, `refused`, or else `failed` |
//! | `error.type` | `entries.undelivered`, `call.duration` | the service's code of the last attempt, or of the call if nothing of it was accepted: `ThrottlingException`, `attempt timeout`; absent where there is none |
//! | `reason`, `resource` | `calls.throttled` | the [limit and what it is of](crate::targets::ThrottlingReason): `IndexWriteProvisionedThroughputExceeded`, `table/orders/index/by_customer` |
//! | `state` | `pace.state` | the [state](crate::backoff::PaceState): `searching`, `draining`, `steady`, `probing`, `outage` |
//!
//! No attribute has what is in an entry, an account id or a credential. How many series there are depends on the destinations
//! and the service's codes alone; a target of your own should take its codes from a fixed list.

#[cfg(feature = "metrics")]
mod attribute;
#[cfg(feature = "metrics")]
mod instruments;
#[cfg(feature = "metrics")]
mod measured;
#[cfg(not(feature = "metrics"))]
mod off;
#[cfg(feature = "metrics")]
mod paces;

#[cfg(feature = "metrics")]
pub(crate) use self::measured::Metrics;
#[cfg(not(feature = "metrics"))]
pub(crate) use self::off::Metrics;
