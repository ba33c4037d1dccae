//! Bulk writes to DynamoDB tables and SQS queues, and the other batch calls of AWS.
//!
//! > Every entry that you hand over ends exactly once: **delivered**, or handed back **undelivered** with its cause.
//!
//! `BatchWriteItem` and `SendMessageBatch` take 25 and 10 entries a call, and may accept only some of them. This crate splits
//! your entries into batches AWS accepts, sends them concurrently, and retries only what was rejected. A
//! [backoff strategy](backoff) that all workers share paces the calls: it slows down as they are throttled and speeds up as
//! they succeed.
//!
//! ```no_run
//! use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo, deliver_batch_to_sqs};
//! # use aws_sdk_dynamodb::types::WriteRequest;
//! # use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
//! # async fn example(
//! #     dynamo: aws_sdk_dynamodb::Client, writes: Vec<WriteRequest>,
//! #     sqs: aws_sdk_sqs::Client, queue_url: &str, messages: Vec<SendMessageBatchRequestEntry>,
//! # ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let report = deliver_batch_to_dynamo(&dynamo, "orders", writes, &DeliveryOptions::default()).await?;
//! println!("{report}");
//!
//! let report = deliver_batch_to_sqs(&sqs, queue_url, messages, &DeliveryOptions::default()).await?;
//! println!("{report}");
//! # Ok(())
//! # }
//! ```
//!
//! `Ok` means that everything was delivered. An error carries every entry that was not, so that `?` loses none in silence
//! and the entries can go elsewhere or be tried again:
//!
//! ```no_run
//! # use aws_batch_delivery::{Delivery, DeliveryOptions, backoff::FullJitter};
//! # async fn example(dynamo: aws_sdk_dynamodb::Client, writes: Vec<aws_sdk_dynamodb::types::WriteRequest>)
//! # {
//! let options = DeliveryOptions::default().backoff(FullJitter::default()).concurrency(4).retries(5);
//! let orders = Delivery::to_dynamo(dynamo, "orders").options(options);
//! if let Err(error) = orders.deliver(writes).await {
//!     for undelivered in error.undelivered() {
//!         eprintln!("entry {}: {}", undelivered.position, undelivered.cause);
//!     }
//! }
//! # }
//! ```
//!
//! # One pace for all workers
//! Clone the [`DeliveryOptions`] into every worker that sends to the same table or queue: clones share one strategy.
//! Options that were made apart know nothing of each other.
//!
//! # Order
//! Writes of one primary key and messages of one FIFO group arrive in the order of the input, through throttles, retries and
//! concurrency; all others pass each other. See [`DynamoTable`] and [`SqsQueue`].
//!
//! # Calls that are refused as a whole
//! Such a call is halved until the entries at fault are alone: they are handed back, and the others are delivered. Each of
//! them costs at most 2·log2(n) + 2 calls more than it takes to deliver the others, for calls of n entries, and every eight of
//! them one more for each call in flight. Only entries that must not pass another one wait meanwhile.
//!
//! A reason that all entries share is not searched for. After eight in a row that were refused alone, each entry goes alone,
//! until the service accepts one: so the entries at fault cost one call each, and a valid one among them is delivered. When 1,000
//! in a row are refused that way and the delivery has delivered nothing at all, it [stops](Cause::Stopped).
//!
//! # Where things are
//! - [`deliver_batch_to_dynamo`], [`deliver_batch_to_sqs`]: one batch, one call of a function.
//! - `deliver_batch_to_kinesis`, `deliver_batch_to_firehose`, `deliver_batch_to_sns`, `deliver_batch_to_eventbridge`: the same for
//!   other services, each behind its feature.
//! - `delete_batch_from_sqs`, `change_visibility_batch_in_sqs`: for consumers of a queue. `get_batch_from_dynamo`: items by their keys.
//! - [`Delivery`]: the same, reusable, and for any [target](targets); from a stream, too.
//! - [`TypedDelivery`]: values of your own, which come back as such: `put_items`, `delete_keys`, `texts`, `json`.
//! - [`Producer`]: single entries of many tasks; [`Receipt`], [`Fate`]: what becomes of one of them.
//! - [`DeliveryOptions`]: pace, concurrency and patience.
//! - [`Report`], [`DeliveryError`], [`Undelivered`], [`Cause`]: what it came to.
//! - [`Progress`]: live figures.
//! - [`events`]: what is logged, such as a warning when nothing is accepted any more.
//! - [`backoff`]: the strategies, and the trait for your own; [`guide`] tells how the pacing works.
//! - [`targets`]: DynamoDB, SQS and the others, and the trait for services of your own, with a kit to test them by, `conformance`.
//! - [`aws-batch-simulator`](https://docs.rs/aws-batch-simulator), a crate of its own: an in-process AWS with real capacity,
//!   throttling and faults, for your tests.
//!
//! # Features
//! | feature | default | |
//! |---|---|---|
//! | `dynamodb` | yes | [`deliver_batch_to_dynamo`] |
//! | `sqs` | yes | [`deliver_batch_to_sqs`] |
//! | `aws` | with these two | `targets::classify`, for targets of your own on other SDKs of AWS |
//! | `dynamodb-serde` | no | `Delivery::put_items`, `delete_keys`: items and keys from anything that serializes |
//! | `sqs-serde` | no | `Delivery::json`: messages from anything that serializes |
//! | `kinesis`, `firehose`, `sns`, `eventbridge` | no | `deliver_batch_to_kinesis` and its like for the other three |
//! | `conformance` | no | `conformance`: tests for targets of your own |
//! | `s3-offload` | no | `Delivery::oversize`: messages that are too large for SQS go through S3 |
//! | `serde` | no | [`Report`] and [`Snapshot`] can be serialized |
//!
//! The SDK crates are used without their default features: the application chooses the HTTP client and the TLS stack.
//!
// What belongs to a feature that is off is documented on docs.rs alone.
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
// A test may unwrap.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod backoff;
#[cfg(feature = "conformance")]
pub mod conformance;
mod delivery;
mod engine;
pub mod events;
mod fate;
mod guarded;
pub mod guide;
mod handlers;
mod interleaved;
mod invalid;
mod options;
mod pace;
mod producer;
mod progress;
mod report;
#[cfg(feature = "serde")]
mod seconds;
pub mod targets;
mod typed;

pub use delivery::Delivery;
#[cfg(feature = "dynamodb")]
pub use delivery::deliver_batch_to_dynamo;
#[cfg(feature = "eventbridge")]
pub use delivery::deliver_batch_to_eventbridge;
#[cfg(feature = "firehose")]
pub use delivery::deliver_batch_to_firehose;
#[cfg(feature = "kinesis")]
pub use delivery::deliver_batch_to_kinesis;
#[cfg(feature = "sns")]
pub use delivery::deliver_batch_to_sns;
#[cfg(feature = "dynamodb")]
pub use delivery::{GetError, get_batch_from_dynamo};
#[cfg(feature = "sqs")]
pub use delivery::{change_visibility_batch_in_sqs, delete_batch_from_sqs, deliver_batch_to_sqs};
pub use fate::Fate;
pub use invalid::{ConversionError, InvalidEntry};
pub use options::DeliveryOptions;
pub use producer::{Producer, Receipt};
pub use progress::{Progress, Snapshot};
pub use report::{Cause, DeliveryError, Report, ThrottledCalls, Undelivered};
pub use typed::TypedDelivery;

/// Its programs compile, and those that need no AWS run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
