//! What this crate logs and traces. What it measures is in [`metrics`](crate::metrics).
//!
//! It does so by [`tracing`], in events and [spans](#spans). The targets, levels and fields on this page stay as they are from version to
//! version, so that filters and alerts can rely on them; messages may change. An application sees the events when it
//! installs a subscriber:
//!
//! ```text
//! RUST_LOG=warn,aws_batch_delivery::summary=info
//! ```
//!
//! No event and no span shows what is in an entry, an account id or a credential.
//!
//! | target | level | when |
//! |---|---|---|
//! | [`STALLED`] | warn | for 5 s the service has neither accepted nor refused anything though calls fail or stay without an answer, and again as that goes on: 10, 20, 40, 80 s, and then once a minute |
//! | | info | it accepts or refuses entries again |
//! | [`SUMMARY`] | info | a delivery or a [`Producer`](crate::Producer) has ended and handed nothing back |
//! | | warn | it has ended and handed entries back, or was stopped |
//! | [`STOPPED`] | warn | a producer's delivery was stopped by a fault, and the next entry is a new try; at most once a minute |
//! | [`UNCLAIMED`] | warn | a producer has ended with undelivered entries whose receipts were dropped |
//! | [`LOOKUP`] | warn | what a target asks the service for before the first call is not known: a table's key, a queue's attribute |
//! | | debug | it is asked for again, or the table is missing, which the delivery itself says |
//! | [`ANSWER`] | warn | the service answered for entries that were not sent |
//! | [`CLEANUP`] | warn | what was done for the sake of an undelivered entry could not be undone |
//! | [`HANDLER`] | warn | a handler of [delivered](crate::Delivery::on_delivered) or [undelivered](crate::Delivery::on_undelivered) entries panicked, and is not called again |
//! | [`PACE`] | info | [`Adaptive`](crate::backoff::Adaptive) has changed its state |
//! | | debug | it has heard a congestion signal |
//! | [`CALL`] | debug | a call was answered, or is halved since it was refused as a whole |
//!
//! # Fields
//! | field | type | of | |
//! |---|---|---|---|
//! | `destination` | text | all but [`ANSWER`], [`HANDLER`], what is logged again and again by [`LOOKUP`] (debug), and objects of [`CLEANUP`] | service and table or queue, [`BatchTarget::name`](crate::targets::BatchTarget::name): `dynamodb/orders`, `sqs/orders.fifo`, `custom` |
//! | `code` | text | [`STALLED`] (warn), [`STOPPED`], [`LOOKUP`], [`CLEANUP`] | the service's code of the last failure, or two or three words where it gave none: `ThrottlingException`, `no connection`, `no answer yet` |
//! | `seconds` | number | [`STALLED`] | for how long nothing was accepted or refused |
//! | `in_flight` | number | [`STALLED`] (warn) | entries in calls without an answer |
//! | `waiting` | number | [`STALLED`] (warn) | rejected entries that wait to be sent again |
//! | `until` | text | [`STALLED`] (warn) | what ends the attempts: `each entry was tried for 900 s`, `the deadline in 42 s` |
//! | `delivered`, `undelivered`, `superseded`, `calls`, `resubmitted`, `throttled` | number | [`SUMMARY`] | as in the [`Report`](crate::Report) |
//! | `finished` | true or false | [`SUMMARY`] | whether the input was read to its end, as in the [`Report`](crate::Report) |
//! | `seconds` | number | [`SUMMARY`] | from the start of the delivery to its end, with a fraction |
//! | `cause` | text | [`SUMMARY`] (warn) | why it was stopped, or why the first of the entries was handed back; absent where their receipts told it |
//! | `advice` | text | [`LOOKUP`] (warn) | what to do |
//! | `entries` | number | [`UNCLAIMED`], [`ANSWER`], [`CALL`] | how many there are |
//! | `sent`, `accepted`, `throttled`, `failed`, `refused` | number | [`CALL`] | entries of the call, by what became of them |
//! | `throttled_by` | text | [`CALL`] | the limits of the service that the call has passed, as in [`Report::throttled_by`](crate::Report::throttled_by); absent where the service does not tell them |
//! | `state`, `reason` | text | [`PACE`] (info), [`STALLED`] (warn), [`SUMMARY`] | the [state](crate::backoff::PaceState) of the pace and its [reason](crate::backoff::PaceReason); absent where the strategy does not tell them |
//! | `from` | text | [`PACE`] (info) | the state before |
//! | `capacity`, `loss`, `in_flight` | number | [`PACE`] (info) | what is measured, as in [`PaceSnapshot`](crate::backoff::PaceSnapshot); `capacity` is absent while it is not known |
//! | `capacity`, `rejected` | number | [`PACE`] (debug) | the capacity as measured now, and the rejected entries or units of the call |
//! | `bucket`, `key` | text | [`CLEANUP`] | an S3 object that stays |
//! | `handler` | text | [`HANDLER`] | which one: `on_delivered`, `on_undelivered` |
//!
//! # Spans
//! Each delivery is a span, each of its calls a span in it, and each request to a service a span in that of its call, or of the
//! delivery if it asks what is needed before the first call. Without a subscriber that wants them they cost next to nothing.
//! Events of [`PACE`] and [`CALL`] happen in these spans, so that a trace has beside the call the reason why the pace fell. What an
//! event of [`CALL`] says of an answer, the span of the call says as well.
//!
//! | target | level | name | one for |
//! |---|---|---|---|
//! | [`DELIVERY`] | info | `delivery` | a delivery, from its start to its end; that of a [`Producer`](crate::Producer) lasts until it is closed or stopped |
//! | [`CALL`] | debug | `call` | a call of the target, from the time it is made to its answer, with the entries sent |
//! | [`REQUEST`] | debug | `request` | a request to the service; the SDK's own spans are in it |
//!
//! What a span has of these fields is recorded as soon as it is known:
//!
//! | field | type | of | |
//! |---|---|---|---|
//! | `destination` | text | [`DELIVERY`] | as in the events |
//! | `delivered`, `undelivered`, `superseded`, `calls`, `resubmitted`, `throttled`, `finished` | number; true or false | [`DELIVERY`] | as in the [`Report`](crate::Report) |
//! | `state`, `reason` | text | [`DELIVERY`] | of the pace at the end |
//! | `sent`, `retried` | number | [`CALL`] | entries of the call, and those of them that were sent before |
//! | `accepted`, `throttled`, `failed`, `refused` | number | [`CALL`] | entries of the call, by what became of them |
//! | `throttled_by` | text | [`DELIVERY`], [`CALL`] | the limits of the service that were passed, and of which table or index |
//! | `error.type` | text | all | the service's code, or a few words: why the delivery stopped, why nothing of the call was accepted, why the request failed |
//! | `otel.status_code` | text | all | `ERROR` where there is an `error.type` |
//! | `otel.kind`, `otel.name` | text | [`REQUEST`] | `client`, and the service with the operation: `DynamoDB.BatchWriteItem` |
//! | `rpc.system`, `rpc.service`, `rpc.method` | text | [`REQUEST`] | `aws-api`, `DynamoDB`, `BatchWriteItem` |
//! | `aws.request_id` | text | [`REQUEST`] | the id that the service gave to the request, also to one that failed |
//! | `db.system.name`, `db.operation.name` | text | [`REQUEST`], DynamoDB | `aws.dynamodb`, `BatchWriteItem` |
//! | `db.operation.batch.size` | number | [`REQUEST`], DynamoDB | puts and deletes |
//! | `aws.dynamodb.table_names` | text | [`REQUEST`], DynamoDB | the names of the tables, with commas between them |
//! | `aws.dynamodb.consumed_capacity` | number | [`REQUEST`], DynamoDB | write units of all tables together, where the call has asked for them |
//! | `messaging.system` | text | [`REQUEST`], the others | `aws_sqs`, `aws.sns`, `aws_kinesis`, `aws_firehose`, `aws_eventbridge`; the conventions have the first two |
//! | `messaging.operation.type`, `messaging.operation.name` | text | [`REQUEST`], the others | `send` or `settle`, `SendMessageBatch` |
//! | `messaging.destination.name` | text | [`REQUEST`], the others | the name of the queue, topic, stream or bus, without its account |
//! | `messaging.batch.message_count` | number | [`REQUEST`], the others | messages, records or events of the request |
//! | `aws.kinesis.stream_name` | text | [`REQUEST`], Kinesis | the name of the stream |
//!
//! Names with a dot are those of OpenTelemetry's semantic conventions.
//!
//! Deliveries whose options are clones of each other warn of a stalled destination as one. A delivery that is dropped before
//! its end has no summary, nor has one without an entry.

/// Nothing is accepted any more, and later again.
pub const STALLED: &str = "aws_batch_delivery::stalled";

/// The end of a delivery.
pub const SUMMARY: &str = "aws_batch_delivery::summary";

/// A producer's delivery was stopped by a fault.
pub const STOPPED: &str = "aws_batch_delivery::stopped";

/// A producer has undelivered entries whose receipts were dropped.
pub const UNCLAIMED: &str = "aws_batch_delivery::unclaimed";

/// What a target asks the service for before the first call.
pub const LOOKUP: &str = "aws_batch_delivery::lookup";

/// Answers for entries that were not sent.
pub const ANSWER: &str = "aws_batch_delivery::answer";

/// What could not be undone for an undelivered entry.
pub const CLEANUP: &str = "aws_batch_delivery::cleanup";

/// A handler that panicked.
pub const HANDLER: &str = "aws_batch_delivery::handler";

/// What the adaptive pace does.
pub const PACE: &str = "aws_batch_delivery::pace";

/// The span of a delivery.
pub const DELIVERY: &str = "aws_batch_delivery::delivery";

/// The span of a request to a service.
pub const REQUEST: &str = "aws_batch_delivery::request";

/// Single calls, as events and as spans.
pub const CALL: &str = "aws_batch_delivery::call";
