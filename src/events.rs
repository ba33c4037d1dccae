//! The log events and spans of this crate. Its [`metrics`](crate::metrics) have a page of their own.
//!
//! Events and [spans](#spans) are emitted with [`tracing`]. The targets, levels and fields on this page stay the same from
//! version to version, so that filters and alerts can rely on them; messages may change. An application sees the events when
//! it installs a subscriber:
//!
//! ```text
//! RUST_LOG=warn,aws_batch_delivery::summary=info
//! ```
//!
//! No event and no span contains any content of an entry, an account id or a credential.
//!
//! | target | level | when |
//! |---|---|---|
//! | [`STALLED`] | warn | the service has neither accepted nor refused anything for 5 s, although calls fail or get no answer; repeated after 10, 20, 40 and 80 s, and then once a minute |
//! | | info | the service accepts or refuses entries again |
//! | [`SUMMARY`] | info | a delivery or a [`Producer`](crate::Producer) has ended and handed nothing back |
//! | | warn | it has ended and handed entries back, was stopped, or has left a part of its stream unread |
//! | [`STOPPED`] | warn | a fault has stopped the delivery of a producer or of a spool; the next entry or some time starts a new one; at most once a minute |
//! | [`UNCLAIMED`] | warn | an entry of a producer was not delivered and its receipt was dropped, at most once a minute; a producer has ended with such entries |
//! | [`SPOOL`] | info | a spool (`Delivery::spooled`) begins with entries that an earlier one has left, or is closed |
//! | | warn | its folder could not be read or written, an entry of it is not of the type of the delivery, was refused for good and is kept in the folder, or it is full and its oldest entries were removed; each at most once a minute |
//! | | warn | an entry of it has made the program panic twice, and is kept in the folder |
//! | [`LOOKUP`] | warn | a target could not look up what it needs before the first call: a table's key, a queue's attribute |
//! | | debug | a lookup is repeated, or the table is missing, which the delivery itself reports |
//! | [`ANSWER`] | warn | the service answered for entries that were not sent |
//! | [`CLEANUP`] | warn | what was stored elsewhere for an undelivered entry could not be removed |
//! | [`HANDLER`] | warn | a handler of [delivered](crate::Delivery::on_delivered) or [undelivered](crate::Delivery::on_undelivered) entries panicked, and is not called again; or the latter failed, or did not finish within its time |
//! | [`UNSETTLED`] | warn | a receiver (`sources::Receive`) that ends when its queue is empty finds it empty, or a receiver may hold no more messages, and for 5 minutes no message that was handed out was settled or released; once until that changes |
//! | [`PACE`] | info | [`Adaptive`](crate::backoff::Adaptive) has changed its state, for all entries or for a hot partition key |
//! | | info | a partition key has become hot, or is no longer hot |
//! | | debug | it has received a congestion signal |
//! | [`CALL`] | debug | a call was answered, or is halved because it was refused as a whole |
//!
//! # Fields
//! | field | type | of | |
//! |---|---|---|---|
//! | `destination` | text | all but [`ANSWER`], [`HANDLER`], [`SPOOL`], repeated lookups of [`LOOKUP`] (debug), and objects of [`CLEANUP`] | service and table or queue, [`BatchTarget::name`](crate::targets::BatchTarget::name): `dynamodb/orders`, `sqs/orders.fifo`, `custom` |
//! | `code` | text | [`STALLED`] (warn), [`STOPPED`], [`LOOKUP`], [`CLEANUP`] | the service's code of the last failure, or a description if it gave none: `ThrottlingException`, `no connection`, `no answer yet`, `not sent: there are no AWS credentials: their provider failed` |
//! | `explanation` | text | [`STALLED`] (warn), [`STOPPED`] | what the code means, if it concerns credentials or the clock: `the AWS credentials have expired` |
//! | `seconds` | number | [`STALLED`] | for how long nothing was accepted or refused |
//! | `messages`, `seconds` | number | [`UNSETTLED`] | how many messages are handed out, and for how long nothing has changed |
//! | `in_flight` | number | [`STALLED`] (warn) | entries in calls without an answer |
//! | `waiting` | number | [`STALLED`] (warn) | rejected entries that wait to be sent again |
//! | `until` | text | [`STALLED`] (warn) | when the attempts end: `nothing was accepted for 900 s`, `the deadline in 42 s` |
//! | `delivered`, `undelivered`, `superseded`, `condition_failed`, `calls`, `resubmitted`, `throttled` | number | [`SUMMARY`] | as in the [`Report`](crate::Report) |
//! | `finished` | true or false | [`SUMMARY`] | whether the input was read to its end, as in the [`Report`](crate::Report) |
//! | `seconds` | number | [`SUMMARY`] | from the start of the delivery to its end, with a fraction |
//! | `cause` | text | [`SUMMARY`] (warn), [`UNCLAIMED`] | why the delivery was stopped, why the first of the entries was handed back, or why a part of the stream was not read; absent if receipts have it, and at the end of a producer from [`UNCLAIMED`] |
//! | `advice` | text | [`LOOKUP`] (warn) | what to do |
//! | `entries` | number | [`UNCLAIMED`], [`ANSWER`], [`CALL`], [`SPOOL`] (info) | the number of entries concerned; of a spool that begins, those that were left |
//! | `bytes` | number | [`SPOOL`] (info) | what they take on disk |
//! | `delivered`, `left`, `refused`, `dropped` | number | [`SPOOL`] | at the close, as in the report of the spool; `dropped` also when a full spool removes entries |
//! | `error`, `cause` | text | [`SPOOL`] (warn) | why the folder could not be read or written; why an entry cannot be read, or was refused |
//! | `number` | number | [`SPOOL`] (warn) | the number of an entry that is kept as refused |
//! | `sent`, `accepted`, `condition_failed`, `throttled`, `failed`, `refused` | number | [`CALL`] | entries of the call, all and by verdict |
//! | `throttled_by` | text | [`CALL`] | the limits of the service that the call has exceeded, as in [`Report::throttled_by`](crate::Report::throttled_by); absent if the service does not name them |
//! | `state`, `reason` | text | [`PACE`] (info), [`STALLED`] (warn), [`SUMMARY`] | the [state](crate::backoff::PaceState) of the pace and its [reason](crate::backoff::PaceReason); absent if the strategy has none |
//! | `from` | text | [`PACE`] (info) | the previous state; this and the fields of the next line belong to a change of state |
//! | `capacity`, `in_flight` | number | [`PACE`] (info) | as in [`PaceSnapshot`](crate::backoff::PaceSnapshot); `capacity` is absent while it is not known |
//! | `hot_key` | number | [`PACE`] | the number of the hot partition key concerned, which says nothing of the key itself; absent for all entries |
//! | `hot_keys`, `rate` | number | [`PACE`] (info) | how many keys are hot now, and the entries or units a second at which a hot one begins; `rate` is absent if that is not known |
//! | `capacity`, `rejected` | number | [`PACE`] (debug) | the measured capacity, and the rejected entries or units of the call |
//! | `service` | text | [`ANSWER`] | the service that has answered, if it is not DynamoDB: `SQS` |
//! | `bucket`, `key` | text | [`CLEANUP`] | the S3 object that could not be removed |
//! | `handler` | text | [`HANDLER`] | `on_delivered` or `on_undelivered` |
//!
//! # Spans
//! Each delivery is a span, each of its calls a span within it, and each request to a service a span within that of its call, or
//! within that of the delivery if it is a lookup before the first call. Without an interested subscriber they cost next to
//! nothing. Events of [`PACE`] and [`CALL`] are emitted within these spans, so a trace shows why the pace fell beside the call
//! that caused it. The span of a call has the same fields of its answer as the event.
//!
//! | target | level | name | one for |
//! |---|---|---|---|
//! | [`DELIVERY`] | info | `delivery` | a delivery, from its start to its end; that of a [`Producer`](crate::Producer) lasts until it is closed or stopped |
//! | [`CALL`] | debug | `call` | a call of the target, from its start to its answer |
//! | [`REQUEST`] | debug | `request` | a request to the service; the SDK's own spans are within it |
//!
//! Each field is recorded as soon as its value is known:
//!
//! | field | type | of | |
//! |---|---|---|---|
//! | `destination` | text | [`DELIVERY`] | as in the events |
//! | `delivered`, `undelivered`, `superseded`, `condition_failed`, `calls`, `resubmitted`, `throttled`, `finished` | number; true or false | [`DELIVERY`] | as in the [`Report`](crate::Report) |
//! | `state`, `reason` | text | [`DELIVERY`] | state and reason of the pace at the end |
//! | `sent`, `retried` | number | [`CALL`] | entries of the call, and those of them that were sent before |
//! | `accepted`, `condition_failed`, `throttled`, `failed`, `refused` | number | [`CALL`] | entries of the call, by verdict |
//! | `throttled_by` | text | [`DELIVERY`], [`CALL`] | the limits of the service that were exceeded, and of which table or index |
//! | `error.type` | text | all | the service's code or a short description: why the delivery stopped, why nothing of the call was accepted, why the request failed |
//! | `otel.status_code` | text | all | `ERROR` if there is an `error.type` |
//! | `otel.kind`, `otel.name` | text | [`REQUEST`] | `client`, and the service with the operation: `DynamoDB.BatchWriteItem` |
//! | `rpc.system`, `rpc.service`, `rpc.method` | text | [`REQUEST`] | `aws-api`, `DynamoDB`, `BatchWriteItem` |
//! | `aws.request_id` | text | [`REQUEST`] | the id that the service gave to the request, also if it failed |
//! | `db.system.name`, `db.operation.name` | text | [`REQUEST`], DynamoDB | `aws.dynamodb`, `BatchWriteItem` |
//! | `db.operation.batch.size` | number | [`REQUEST`], DynamoDB | puts and deletes |
//! | `aws.dynamodb.table_names` | text | [`REQUEST`], DynamoDB | the names of the tables, separated by commas |
//! | `aws.dynamodb.consumed_capacity` | number | [`REQUEST`], DynamoDB | write units of all tables together, if the call has requested them |
//! | `aws.s3.bucket` | text | [`REQUEST`], S3 | the name of the bucket |
//! | `aws.s3.delete.object_count` | number | [`REQUEST`], S3 | objects to delete; not in the conventions |
//! | `aws.cloudwatch.namespace`, `aws.cloudwatch.metric_count` | text, number | [`REQUEST`], CloudWatch | the namespace, and the metrics of the request; not in the conventions |
//! | `aws.log.group.names`, `aws.log.stream.names` | text | [`REQUEST`], CloudWatch Logs | the names of the log group and of the log stream |
//! | `aws.log.event_count` | number | [`REQUEST`], CloudWatch Logs | events of the request; not in the conventions |
//! | `messaging.system` | text | [`REQUEST`], the others | `aws_sqs`, `aws.sns`, `aws_kinesis`, `aws_firehose`, `aws_eventbridge`; the first two are in the conventions |
//! | `messaging.operation.type`, `messaging.operation.name` | text | [`REQUEST`], the others | `send` or `settle`, `SendMessageBatch` |
//! | `messaging.destination.name` | text | [`REQUEST`], the others | the name of the queue, topic, stream or bus, without its account |
//! | `messaging.batch.message_count` | number | [`REQUEST`], the others | messages, records or events of the request |
//! | `aws.kinesis.stream_name` | text | [`REQUEST`], Kinesis | the name of the stream |
//!
//! Names with a dot are those of OpenTelemetry's semantic conventions.
//!
//! Deliveries whose options are clones of each other log one warning about a stalled destination together. A delivery that is
//! dropped before its end has no summary, and neither has a delivery without entries.

/// The service has accepted and refused nothing for a while, and does so again.
pub const STALLED: &str = "aws_batch_delivery::stalled";

/// The end of a delivery.
pub const SUMMARY: &str = "aws_batch_delivery::summary";

/// A producer's delivery was stopped by a fault.
pub const STOPPED: &str = "aws_batch_delivery::stopped";

/// A producer has undelivered entries whose receipts were dropped.
pub const UNCLAIMED: &str = "aws_batch_delivery::unclaimed";

/// The entries of a spool, on disk.
pub const SPOOL: &str = "aws_batch_delivery::spool";

/// What a target looks up before the first call.
pub const LOOKUP: &str = "aws_batch_delivery::lookup";

/// Answers for entries that were not sent.
pub const ANSWER: &str = "aws_batch_delivery::answer";

/// What was stored elsewhere for an undelivered entry could not be removed.
pub const CLEANUP: &str = "aws_batch_delivery::cleanup";

/// A handler panicked, failed, or did not finish within its time.
pub const HANDLER: &str = "aws_batch_delivery::handler";

/// Received messages that are neither settled nor released.
pub const UNSETTLED: &str = "aws_batch_delivery::unsettled";

/// Changes of the adaptive pace, and the congestion signals behind them.
pub const PACE: &str = "aws_batch_delivery::pace";

/// The span of a delivery.
pub const DELIVERY: &str = "aws_batch_delivery::delivery";

/// The span of a request to a service.
pub const REQUEST: &str = "aws_batch_delivery::request";

/// Single calls, as events and as spans.
pub const CALL: &str = "aws_batch_delivery::call";
