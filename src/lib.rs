//! Bulk writes to DynamoDB tables and SQS queues, and the other batch calls of AWS.
//!
//! > Every entry has exactly one outcome: it is **delivered**, or handed back **undelivered** with its cause.
//!
//! `BatchWriteItem` and `SendMessageBatch` take 25 and 10 entries a call, and may accept only some of them. This crate splits
//! your entries into batches that AWS accepts, sends them concurrently, and retries only what was rejected. All workers share a
//! [backoff strategy](backoff) that paces the calls: slower when they are throttled, faster when they succeed.
//!
//! ```no_run
//! use aws_batch_delivery::Delivery;
//!
//! #[derive(Debug, serde::Serialize)]
//! struct Order {
//!     id: String,
//!     cents: u64,
//! }
//!
//! async fn save(client: aws_sdk_dynamodb::Client, orders: Vec<Order>) {
//!     let table = Delivery::to_dynamo(client, "orders").put_items();
//!     match table.deliver(orders).await {
//!         Ok(report) => println!("{report}"),
//!         Err(error) => {
//!             for failed in error.undelivered() {
//!                 eprintln!("{:?}: {}", failed.entry, failed.cause);
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! `Ok` means that no entry was handed back. The error has every undelivered entry, so that you can store them or send them again.
//! A condition that did not hold is an answer, and is counted [separately](Disposition::ConditionFailed). There is a short form for one
//! batch of the SDK's own types:
//!
//! ```no_run
//! # use aws_batch_delivery::{DeliveryOptions, backoff::Exponential, deliver_batch_to_sqs};
//! # async fn example(sqs: aws_sdk_sqs::Client, url: &str, messages: Vec<aws_sdk_sqs::types::SendMessageBatchRequestEntry>) {
//! let options = DeliveryOptions::default().backoff(Exponential::full_jitter()).concurrency(4).retries(5);
//! if let Err(error) = deliver_batch_to_sqs(&sqs, url, messages, &options).await {
//!     for undelivered in error.undelivered() {
//!         eprintln!("message {}: {}", undelivered.position, undelivered.cause);
//!     }
//! }
//! # }
//! ```
//!
//! # One pace for all workers
//! Clone the [`DeliveryOptions`] into every worker that sends to the same table or queue: clones share one strategy.
//! Options that were created separately share nothing.
//!
//! # Order
//! Writes of one primary key and messages of one FIFO group arrive in the order of the input, even after throttles and retries and
//! with concurrency. There is one exception: when SQS accepts a call in part, a later message of that call may arrive before the failed
//! one, unless the queue has a strict order. Once an entry is handed back, the entries behind it are sent. Other entries may arrive in
//! any order. See [`DynamoTable`] and [`SqsQueue`].
//!
//! # Calls that are refused as a whole
//! Such a call is halved until the entries at fault are alone: they are handed back, and the others are delivered. For calls of n
//! entries, each entry at fault costs at most 2·log2(n) + 2 additional calls, and every eight of them one more for each call in
//! flight. During this, only entries that must not pass another one wait.
//!
//! If all entries share the reason, halving does not help. After eight entries in a row were refused alone, each entry is sent
//! alone until the service accepts one: then an entry at fault costs one call, and a valid one is delivered. When 1,000 in a row
//! were refused alone and the delivery has delivered nothing, it [stops](Cause::Stopped).
//!
//! # Where things are
//! - [`deliver_batch_to_dynamo`], [`deliver_batch_to_sqs`]: one batch, one function call.
//! - [`Delivery`]: the same and everything else: reusable, for streams, for any [target](targets), and for [values](Values) of your
//!   own types.
//! - [`Producer`]: single entries from many tasks; [`Receipt`], [`Disposition`]: the result of one of them.
//! - `spool`: the same, but each entry is on disk first, and survives a crash and an outage of hours.
//! - [`DeliveryOptions`]: pace, concurrency and time limits.
//! - [`Report`], [`DeliveryError`], [`Undelivered`], [`Cause`]: the result of a delivery.
//! - [`Progress`]: live figures.
//! - [`events`]: what is logged and traced, such as a warning when nothing is accepted. [`metrics`]: what is measured.
//! - [`backoff`]: the strategies, and the trait for your own; [`guide`] explains the pacing.
//! - [`targets`]: DynamoDB, SQS, Kinesis and more services, the trait for your own, and a kit to test it, `conformance`.
//! - `sources`: a whole table as a stream of items, at a pace of its own for reads, as the input of a delivery.
//! - [`aws-batch-simulator`](https://docs.rs/aws-batch-simulator), a separate crate: a simulated AWS in the process of your tests, with capacity,
//!   throttling and faults.
//!
//! # Features
//! | feature | default | |
//! |---|---|---|
//! | `dynamodb` | yes | [`deliver_batch_to_dynamo`] |
//! | `sqs` | yes | [`deliver_batch_to_sqs`] |
//! | `aws` | with these two | `targets::classify`, for targets of your own on other AWS SDKs |
//! | `dynamodb-serde` | no | `Delivery::put_items`, `delete_keys`: items and keys from values that implement `Serialize` |
//! | `sqs-serde` | no | `Delivery::json`: messages from values that implement `Serialize` |
//! | `vector-indexes` | no | items that a vector index of a DynamoDB table would refuse or leave out are found before the call, and counted |
//! | `kinesis` | no | `Delivery::to_kinesis` |
//! | `conformance` | no | `conformance`: tests for targets of your own |
//! | `metrics` | with `aws` | [`metrics`], by the telemetry provider of the SDK |
//! | `s3-offload` | no | `SqsQueue::oversize`: messages that are too large for SQS are sent through S3 |
//! | `serde` | no | [`Report`] and [`Snapshot`] can be serialized |
//! | `spool` | no | `Delivery::spooled`: entries that are on disk before they are delivered |
//! | `firehose`, `sns`, `eventbridge` | no | more services: `Delivery::new` with a `FirehoseStream`, an `SnsTopic`, an `EventBus` |
//! | `s3`, `cloudwatch`, `cloudwatch-logs` | no | the same with `S3Deletions`, `CloudWatchMetrics`, a `LogStream` |
//!
//! The SDK crates are used without their default features: the application chooses the HTTP client and the TLS stack.
//!
//! # Versions
//! Rust 1.88, and the SDK of November 2025 or a newer one of version 1. Some features need more: `vector-indexes` Rust 1.94.1 and
//! `aws-sdk-dynamodb` 1.120, the first version that describes such indexes; `kinesis` Rust 1.94.1 and `aws-sdk-kinesis` 1.123, the first
//! version that says whether a stream keeps the order of keys; and `spool` Rust 1.89.
//!
// Items of a disabled feature are documented only on docs.rs.
#![cfg_attr(
    feature = "dynamodb",
    doc = "[`deliver_batch_to_dynamo`]: crate::deliver_batch_to_dynamo",
    doc = "[`DynamoTable`]: crate::targets::dynamo::DynamoTable"
)]
#![cfg_attr(
    not(feature = "dynamodb"),
    doc = "[`deliver_batch_to_dynamo`]: https://docs.rs/aws-batch-delivery/latest/aws_batch_delivery/fn.deliver_batch_to_dynamo.html",
    doc = "[`DynamoTable`]: https://docs.rs/aws-batch-delivery/latest/aws_batch_delivery/targets/dynamo/struct.DynamoTable.html"
)]
#![cfg_attr(
    feature = "sqs",
    doc = "[`deliver_batch_to_sqs`]: crate::deliver_batch_to_sqs",
    doc = "[`SqsQueue`]: crate::targets::sqs::SqsQueue"
)]
#![cfg_attr(
    not(feature = "sqs"),
    doc = "[`deliver_batch_to_sqs`]: https://docs.rs/aws-batch-delivery/latest/aws_batch_delivery/fn.deliver_batch_to_sqs.html",
    doc = "[`SqsQueue`]: https://docs.rs/aws-batch-delivery/latest/aws_batch_delivery/targets/sqs/struct.SqsQueue.html"
)]
// Items show which feature they need.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Tests may unwrap.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

#[cfg(any(feature = "dynamodb", feature = "sqs"))]
mod attribute_path;
#[cfg(feature = "aws")]
mod aws;
pub mod backoff;
#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod debug;
mod delivery;
mod disposition;
mod engine;
pub mod events;
mod fault;
mod guarded;
pub mod guide;
mod handlers;
mod interleaved;
mod invalid;
mod jitter;
mod log_limit;
pub mod metrics;
#[cfg(model)]
#[path = "../models/cases/mod.rs"]
pub mod models;
mod moment;
mod options;
mod pace;
mod producer;
mod progress;
mod report;
mod run;
mod services;
mod shutdown;
#[cfg(any(feature = "dynamodb", feature = "sqs"))]
pub mod sources;
#[cfg(feature = "spool")]
pub mod spool;
mod sync;
pub mod targets;
mod time_limit;

pub use delivery::Delivery;
#[cfg(feature = "dynamodb")]
pub use delivery::GetError;
#[cfg(feature = "dynamodb")]
pub use delivery::deliver_batch_to_dynamo;
#[cfg(feature = "sqs")]
pub use delivery::deliver_batch_to_sqs;
#[cfg(feature = "dynamodb-serde")]
pub use delivery::exact_number;
pub use disposition::Disposition;
pub use handlers::HandlerResult;
pub use invalid::{ConversionError, InvalidEntry};
pub use options::DeliveryOptions;
pub use producer::{Producer, Receipt};
pub use progress::{Progress, Snapshot};
pub use report::{Cause, DeliveryError, Report, ThrottledCalls, Undelivered};
pub use run::Values;

/// Compiles the programs in the README, and runs those that need no AWS.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
