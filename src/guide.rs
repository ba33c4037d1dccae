//! How the pacing works, when to choose which strategy, and what else does not fit on one page.
//!
//! - Pacing: [the problem](#the-problem), [`Adaptive`](#what-adaptive-does), [several processes](#several-processes),
//!   [items of all sizes](#items-of-all-sizes), [`Responsive`](#what-responsive-does), [which to choose](#when-to-choose-what).
//! - Failures: [what is in doubt](#what-is-in-doubt), [what bad input gets](#what-bad-input-gets).
//! - Use: [in a web service](#in-a-web-service), [messages that are too large](#messages-that-are-too-large),
//!   [testing](#testing), [cookbook](#cookbook).
//! - [When to use what](when_to_use_what): this crate, `batch-deliver`, and what AWS itself offers.
//! - [Guarantees](guarantees), each with its limits and its tests. [Figures](benchmarks), with the commands that print them.
//!
//! # The problem
//! A table, a queue or a shard accepts a certain number of entries a second. The number is not announced, it changes while you
//! run, and others share it. Sending more is not faster: the surplus comes back, and has cost a call. Sending less takes longer.
//! And each of many workers sees only its own part of the answers.
//!
//! Waiting longer after each failure does not solve it. A bulk load is one long overload: delays make room for a moment, and
//! then all entries come back together. What is needed is a rate.
//!
//! # What `Adaptive` does
//! Services bank a little unused capacity, in a bucket that drains as you send. When an entry is rejected, the bucket was
//! empty at that moment: a *congestion signal*. From one signal to the next the bucket went from empty to empty, so what was
//! accepted in between is exactly what the service can take in that time, however fast or slow it was sent.
//!
//! So [`Adaptive`](crate::backoff::Adaptive) counts from signal to signal. After a signal it runs a little below the rate that it
//! has measured, so that nothing is rejected; then a little above, until the next signal. The slow part leaves some capacity
//! unused, which the service banks and the fast part uses. On average the pace is just the capacity.
#![doc = include_str!("../docs/pictures/adaptive.svg")]
//!
//! The picture shows a table that takes 1,000 writes a second, then 500, then 2,000, and 64 calls at a time. It is drawn by
//! `cargo run --release --example backoff_plot -- timeline`.
//!
//! When slow calls hold up every worker, a small bucket overflows, and what the service would have accepted meanwhile is not
//! known. That does not lower the estimate, and what was not sent is made up for at a somewhat higher pace.
//!
//! Some services reject a part of the calls or entries whatever the pace, for internal errors, say. Slowing down does not help
//! against these. When rejections go on although the pace is below the estimate, a *probe* lowers it for a moment. If as many
//! are rejected as before, they do not depend on the pace: they are a *baseline loss*, and the pace goes back to where it was.
//!
//! A partition of a table takes 1,000 write units a second, whatever the table takes. When one partition key is rejected far more
//! often than all others, it gets a pace and a line of its own, and all other keys go on. From the first hot key on, up to 30,000
//! entries or 64 MiB are read [ahead](crate::DeliveryOptions::read_ahead), and calls are packed from many keys in turns, so that
//! a sorted input does not fill one partition after the other. Where each key has more entries than are read ahead, as in an
//! export, read its parts in turn by [`deliver_interleaved`](crate::Delivery::deliver_interleaved).
//!
//! # Several processes
//! Processes that send to the same table need not know of each other. Each measures what is left for it, and their shares
//! become about equal. The more there are, the more is rejected, since each of them looks for the limit.
//! [`share`](crate::backoff::Adaptive::share) leaves room for others on purpose.
//!
//! # Items of all sizes
//! A table takes so many write units a second, and a write of 100 KB takes a hundred of them. So units are counted;
//! [`by_write_units(false)`](crate::backoff::Adaptive::by_write_units) counts entries.
//! `cargo bench --bench pacing -- --units` shows the difference.
//!
//! # What is in doubt
//! After some failures it is not known whether the service has taken an entry. Certain are:
//!
//! - an answer that accepts the entry or hands it back;
//! - an error of the service with a status of 4xx;
//! - a call that is known not to have left, for lack of credentials, an endpoint, a signature or a connection (name resolution,
//!   TCP, TLS).
//!
//! Whatever else happens is in doubt: a lost or late answer, one that cannot be read, a 5xx, an error of something between, such
//! as a proxy's HTML. An entry in doubt is sent again where that can help, in its place in the order and with the same
//! deduplication id. If it is handed back, [`may_have_been_delivered`](crate::Undelivered::may_have_been_delivered) is true.
//!
//! # What bad input gets
//! | input | answer |
//! |---|---|
//! | an item of 409,601 bytes | `not sent: the item has 409601 bytes, the limit is 409600` |
//! | a message of 1,048,577 bytes | `not sent: the message has 1048577 bytes, the limit is 1048576`, or by way of [S3](#messages-that-are-too-large) |
//! | a control character in a message | `not sent: the message body has U+0007 at byte 5, a character that is not allowed` |
//! | a delay of 901 s | `not sent: the delay in seconds is 901, the limits are 0 and 900` |
//! | an empty message, a FIFO message without a group | `not sent: the message body is missing or empty`, `… message group id …` |
//! | ids that repeat or are invalid | delivered: the ids on the wire are the crate's own, the entries keep theirs |
//! | a missing table, no permission | the delivery stops; all that was not delivered is handed back with the service's error as source |
//! | what every entry lacks (a malformed table name, FIFO ids that the queue wants) | the first 1,000 are tried one by one, then the delivery stops with the service's error |
//! | `concurrency(0)`, a multiplier below 1, NaN | a panic where the option is set, before anything is sent |
//!
//! # Messages that are too large
//! With the feature `s3-offload` a message of more than 1 MiB goes to an S3 bucket, and a pointer to it to the queue, in the
//! format of the Amazon SQS Extended Client Libraries: their users receive it like any other. It takes the permissions
//! `s3:PutObject` and `s3:DeleteObject`.
//!
//! ```no_run
//! # #[cfg(feature = "s3-offload")]
//! # async fn example(
//! #     sqs: aws_sdk_sqs::Client, s3: aws_sdk_s3::Client, queue_url: &str,
//! #     entries: Vec<aws_sdk_sqs::types::SendMessageBatchRequestEntry>,
//! # ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! use aws_batch_delivery::{Delivery, targets::sqs::Offload};
//!
//! let orders = Delivery::to_sqs(sqs, queue_url).oversize(Offload::to_s3(s3, "large-messages").key_prefix("orders/"));
//! let report = orders.deliver(entries).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A body is uploaded once, however often its message is sent. When the message is handed back, it has its body, and the object
//! is removed, unless SQS may have the message all the same.
//!
//! # In a web service
//! A handler waits for the entry that it sends, and its client waits for the handler. So the producer of a web service gives
//! up sooner than a load, and its end has a bound:
//!
//! ```no_run
//! # #[cfg(feature = "sqs")]
//! # mod service {
//! use std::time::Duration;
//!
//! use aws_batch_delivery::{Delivery, DeliveryOptions, Producer};
//! use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
//! use tokio::time::timeout;
//!
//! /// At the start. Each handler gets a clone.
//! fn producer(sqs: aws_sdk_sqs::Client, queue_url: &str) -> Producer<SendMessageBatchRequestEntry> {
//!     let options = DeliveryOptions::default()
//!         .give_up_after(Duration::from_secs(10))
//!         .attempt_timeout(Duration::from_secs(3));
//!     Delivery::to_sqs(sqs, queue_url).options(options).producer()
//! }
//!
//! /// In a handler. Returns the status of the response.
//! async fn send(producer: Producer<SendMessageBatchRequestEntry>, entry: SendMessageBatchRequestEntry) -> u16 {
//!     match timeout(Duration::from_secs(15), producer.send(entry)).await {
//!         Ok(Ok(_)) => 202,
//!         // The entry is handed back.
//!         Ok(Err(undelivered)) if undelivered.cause.is_permanent() => 400,
//!         Ok(Err(_)) => 503,
//!         // Not known yet: it may still be delivered.
//!         Err(_) => 504,
//!     }
//! }
//!
//! /// At the end, when the process has 30 s until it is killed.
//! async fn end(producer: Producer<SendMessageBatchRequestEntry>) {
//!     if let Err(error) = producer.close_within(Duration::from_secs(20)).await {
//!         eprintln!("{error}");
//!     }
//! }
//! # }
//! ```
//!
//! - [`give_up_after`](crate::DeliveryOptions::give_up_after) is 1 minute for a producer and 15 minutes for a batch or a
//!   stream. The time begins with the first attempt. An attempt may take 30 s by default, so a shorter time needs a shorter
//!   [`attempt_timeout`](crate::DeliveryOptions::attempt_timeout).
//! - When the service takes nothing, entries pile up: first the calls, then the
//!   [`buffer`](crate::DeliveryOptions::buffer) of 1,000. An entry that waits for room has not begun its time, which is what
//!   the `timeout` is for. If that ends while it waits for room, the entry is not sent. Use
//!   [`try_send`](crate::Producer::try_send) to turn it away at once.
//! - [`close_within`](crate::Producer::close_within) delivers what it can in the time that there is, and hands back the rest.
//!   [`close`](crate::Producer::close) has no bound but that of each entry.
//! - The [log](crate::events) warns after 5 s without an accepted entry.
//!
//! # When to choose what
//! - **`Adaptive`**, the default: bulk loads, queues, anything that is limited by what the service takes.
//! - **`FullJitter`**, `EqualJitter`, `DecorrelatedJitter`: a few entries now and then, where a failure is an accident and
//!   callers that failed together should not come back together.
//! - **`Responsive`**: when the pace has to be a single number that is easy to show and explain, or when you want the published
//!   algorithm.
//! - **`Schedule`**: when you know how long the service takes to come back.
//! - **`Linear`, `Quadratic`, `Exponential`, `Delays`, a closure**: to keep what another program does.
//!
//! # What `Responsive` does
//! By default all workers share one interval between their calls. A share of rejected entries above what is rejected at any pace
//! makes it longer by half, a smaller one shorter by a tenth.
//!
//! [`Responsive::published`](crate::backoff::Responsive::published) is the algorithm as it was published: each failure makes the
//! interval longer by half, and ten successes make it shorter by a tenth. This is its published picture, with five successes and
//! 0.6: requests fail until the delay has reached 291.9 ms, and later whenever it is not above 60 ms.
#![doc = include_str!("../docs/pictures/responsive.svg")]
//!
//! # Testing
//! [`aws-batch-simulator`](https://docs.rs/aws-batch-simulator) is an AWS in the process of the test, with outages and refusals by
//! script: see the example `testing_with_simulator`.
//!
//! A client that is mocked with `aws_smithy_mocks` panics at every call that it has no rule for. A delivery to a table asks
//! for the table's key by `DescribeTable` before its first write: give the key, or a rule for that call as well.
//!
//! ```no_run
//! # use aws_batch_delivery::Delivery;
//! # use aws_sdk_dynamodb::types::WriteRequest;
//! # async fn test(mocked: aws_sdk_dynamodb::Client, writes: Vec<WriteRequest>) {
//! // `mocked` is a `mock_client!(aws_sdk_dynamodb, [&batch_write_item])`.
//! let orders = Delivery::to_dynamo(mocked, "orders").key("id");
//! let report = orders.deliver(writes).await.unwrap();
//! assert_eq!(report.delivered, 2);
//! # }
//! ```
//!
//! The rule for `BatchWriteItem` answers with `unprocessed_items` set to an empty map, as DynamoDB does. A FIFO queue is asked
//! by `GetQueueAttributes` unless `content_based_deduplication` gives the answer. When a mock panics, the delivery
//! [stops](crate::Cause::Stopped): the cause names the method of the target, such as `prepare`, and its source has what the mock
//! said.
//!
//! # Cookbook
//! Whole programs, in `examples/` of the package. All but the last two run without an AWS account, against the simulator:
//! `cargo run --all-features --example load_with_dead_letters`.
//!
//! | example | what it shows |
//! |---|---|
//! | `load_with_dead_letters` | a file of JSON lines into a table; lines that the table refuses are kept; Ctrl-C, and where to go on |
//! | `web_service` | an axum service whose requests share a producer; which status for which cause; a bounded shutdown |
//! | `lambda_handler` | a batch of messages in, `batchItemFailures` out, within the invocation's time |
//! | `metrics` | live figures at `/metrics` |
//! | `own_strategy` | a strategy: a fixed number of entries a second, by all workers together |
//! | `own_target` | a target on an SDK of AWS: deletes messages by `DeleteMessageBatch` |
//! | `bulk_index` | a target without an SDK: documents for an index with a `_bulk` API |
//! | `testing_with_simulator` | tests of a program that delivers: outages, refusals, lost answers, in paused time |
//! | `from_batch_writer` | moving from boto3's `batch_writer` |
//! | `from_own_loop` | moving from a hand-written loop around `BatchWriteItem` |
//! | `quickstart` | many workers, one pace, a live line |
//! | `dynamo_bulk_writer`, `sqs_batch_producer` | against AWS or an emulator, by the standard environment |

#[doc = include_str!("../docs/benchmarks.md")]
pub mod benchmarks {}

#[doc = include_str!("../docs/guarantees.md")]
pub mod guarantees {}

#[doc = include_str!("../docs/when-to-use-what.md")]
pub mod when_to_use_what {}
