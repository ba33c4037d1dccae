//! How the pacing works, which strategy to choose, and other topics in detail.
//!
//! - Pacing: [the problem](#the-problem), [`Adaptive`](#what-adaptive-does), [several processes](#several-processes),
//!   [items of all sizes](#items-of-all-sizes), [`Responsive`](#what-responsive-does), [which to choose](#when-to-choose-what).
//! - Failures: [what is in doubt](#what-is-in-doubt), [what bad input gets](#what-bad-input-gets).
//! - Use: [in a web service](#in-a-web-service), [messages that are too large](#messages-that-are-too-large),
//!   [metrics and traces](#metrics-and-traces), [testing](#testing), [cookbook](#cookbook).
//! - [When to use what](when_to_use_what): this crate, `batch-deliver`, and the tools of AWS.
//! - [Guarantees](guarantees), each with its limits and its tests. [Figures](benchmarks), with the commands that print them.
//!
//! # The problem
//! A table, a queue or a shard accepts a certain number of entries a second. The number is not known in advance, even where one is
//! announced: it changes over time, and others share it. Sending more is not faster: the surplus is rejected, and has cost a call.
//! Sending less takes longer.
//! And each of many workers sees only its own part of the answers.
//!
//! Longer delays after each failure do not solve this. A bulk load is one long overload: after a delay all entries are sent again
//! together. It needs a rate instead.
//!
//! # What `Adaptive` does
//! Services save some unused capacity in a token bucket. When an entry is rejected, the bucket was empty at that moment: a
//! *congestion signal*. Between two signals the bucket went from empty to empty. So the entries that were accepted in between are
//! exactly the capacity of that time, however fast they were sent.
//!
//! [`Adaptive`](crate::backoff::Adaptive) therefore counts from signal to signal. After a signal it sends a little below the measured
//! rate, so that nothing is rejected; then a little above, until the next signal. The slow part saves some capacity in the bucket,
//! which the fast part uses. On average the rate equals the capacity.
#![doc = include_str!("../docs/pictures/adaptive.svg")]
//!
//! The picture shows a table with a capacity of 1,000 writes a second, then 500, then 2,000, and 64 concurrent calls.
//! `cargo run --release --example backoff_plot -- timeline` draws it.
//!
//! Before the first rejection there is nothing to count, and more and more entries are in flight. `DescribeTable`, which is called for
//! the key of the table, also returns its provisioned throughput, or the warm throughput of a table on demand, and those of its
//! indexes. The load starts at a quarter of the least of these. It is a start and no limit: a number that is too low changes nothing, and one
//! that is too high is used until the first rejection.
//!
//! When all workers wait for slow calls, a small bucket overflows, and it is not known how much the service would have accepted.
//! This does not lower the estimate; afterwards a somewhat higher rate compensates for the time.
//!
//! Some services reject a part of the calls or entries at any rate, for example with internal errors. A lower rate does not help
//! against these. When rejections continue although the rate is below the estimate, a *probe* lowers it for a moment. If the share
//! of rejections stays the same, it does not depend on the rate: it is a *baseline loss*, and the rate returns to its value.
//!
//! A service may say when to call it again, with `x-amz-retry-after` or `Retry-After`. Then nothing leaves until that time, for at
//! most a minute.
//!
//! A partition of a table accepts 1,000 write units a second, whatever the capacity of the table. When one partition key is
//! rejected far more often than all others, it gets a pace and a queue of its own, and the other keys are not slowed down. From the
//! first hot key on, up to 30,000 entries or 64 MiB are read [ahead](crate::DeliveryOptions::read_ahead), and each call mixes many
//! keys, so that a sorted input does not fill one partition after the other. If each key has more entries than that, as in an
//! export, read several parts of the input in turn with [`deliver_interleaved`](crate::Delivery::deliver_interleaved).
//!
//! # Several processes
//! Several processes can send to the same table without coordination. Each measures the capacity that the others leave, and their
//! shares become about equal. More processes cause more rejections, because each of them probes the limit.
//! [`share`](crate::backoff::Adaptive::share) leaves capacity for others.
//!
//! # Items of all sizes
//! The capacity of a table is in write units, and a write of 100 KB consumes a hundred of them. A shard of Kinesis takes 1,000 records
//! and 1 MiB a second, so a record of 100 KiB consumes as much as a hundred small ones. So `Adaptive` counts units;
//! [`by_write_units(false)`](crate::backoff::Adaptive::by_write_units) counts entries.
//! `cargo bench --bench pacing -- --units` shows the difference.
//!
//! # What is in doubt
//! After some failures it is not known whether the service has accepted an entry. It is certain after:
//!
//! - an answer that accepts the entry or hands it back;
//! - an error of the service with a status of 4xx;
//! - a call that is known not to have left, for lack of credentials, an endpoint, a signature or a connection (name resolution,
//!   TCP, TLS).
//!
//! Every other outcome leaves the entry in doubt: a lost or late answer, an answer that cannot be read, a 5xx, an internal error for
//! this entry, an error from something in between, such as the HTML page of a proxy. An entry in doubt is sent again if that can help, in its place in the
//! order and with the same deduplication id. If it is handed back,
//! [`may_have_been_delivered`](crate::Undelivered::may_have_been_delivered) is true.
//!
//! # What bad input gets
//! | input | answer |
//! |---|---|
//! | an item of 409,601 bytes | `not sent: the item has 409601 bytes, the limit is 409600` |
//! | a message of 1,048,577 bytes | `not sent: the message has 1048577 bytes, the limit is 1048576`; or it is sent through [S3](#messages-that-are-too-large) |
//! | a control character in a message | `not sent: the message body has U+0007 at byte 5, a character that is not allowed` |
//! | a delay of 901 s | `not sent: the delay in seconds is 901, the limits are 0 and 900` |
//! | an empty message, a FIFO message without a group | `not sent: the message body is missing or empty`, `… message group id …` |
//! | ids that repeat or are invalid | delivered: the call uses ids of the crate, the entries keep theirs |
//! | a table that does not exist, no permission | the delivery stops; undelivered entries are handed back with the service's error as source |
//! | an error that all entries share (a malformed table name, missing FIFO ids) | the first 1,000 entries are tried one by one, then the delivery stops with the service's error |
//! | `concurrency(0)`, a multiplier below 1, NaN | a panic where the option is set, before anything is sent |
//!
//! # Messages that are too large
//! With the feature `s3-offload` the body of a message above 1 MiB is stored in an S3 bucket, and the queue gets a pointer to it, in
//! the format of the Amazon SQS Extended Client Libraries, with which consumers receive it like any other message. It needs the
//! permissions `s3:PutObject` and `s3:DeleteObject`.
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
//! A body is uploaded once, however often its message is sent. A message that is handed back has its body again, and the object is
//! deleted, unless SQS may have the message.
//!
//! # In a web service
//! A handler waits for its entry, and the client waits for the handler. So the producer of a web service gives up sooner than a
//! bulk load, and its shutdown is limited in time:
//!
//! ```no_run
//! # #[cfg(feature = "sqs")]
//! # mod service {
//! use std::future::IntoFuture;
//! use std::time::Duration;
//!
//! use aws_batch_delivery::{Delivery, DeliveryOptions, Producer};
//! use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
//! use axum::Router;
//! use tokio::net::TcpListener;
//! use tokio::time::timeout;
//! use tokio_util::sync::CancellationToken;
//!
//! /// At startup. Each handler gets a clone.
//! fn producer(sqs: aws_sdk_sqs::Client, queue_url: &str) -> Producer<SendMessageBatchRequestEntry> {
//!     let options = DeliveryOptions::default()
//!         .give_up_after(Duration::from_secs(10))
//!         .attempt_timeout(Duration::from_secs(3));
//!     Delivery::to_sqs(sqs, queue_url).options(options).producer()
//! }
//!
//! /// In a handler. Returns the status of the response.
//! async fn send(producer: Producer<SendMessageBatchRequestEntry>, entry: SendMessageBatchRequestEntry) -> u16 {
//!     match producer.send(entry).await {
//!         Ok(_) => 202,
//!         // The entry is handed back.
//!         Err(undelivered) if undelivered.cause.is_permanent() => 400,
//!         Err(_) => 503,
//!     }
//! }
//!
//! /// Serves until `stop`, a signal, and then for at most 25 s; the process is killed 30 s after the signal.
//! async fn serve(
//!     listener: TcpListener,
//!     service: Router,
//!     producer: Producer<SendMessageBatchRequestEntry>,
//!     stop: impl Future<Output = ()>,
//! ) {
//!     let stopping = CancellationToken::new();
//!     let server = axum::serve(listener, service).with_graceful_shutdown(stopping.clone().cancelled_owned());
//!     let server = tokio::spawn(server.into_future());
//!     stop.await;
//!     // The server accepts no more connections, and waits for its handlers.
//!     stopping.cancel();
//!     // Meanwhile the producer delivers what it has, or hands it back to the handlers.
//!     if let Err(error) = producer.close_within(Duration::from_secs(20)).await {
//!         eprintln!("{error}");
//!     }
//!     // A connection whose client sends or reads nothing does not hold up the end.
//!     let _ = timeout(Duration::from_secs(1), server).await;
//! }
//! # }
//! ```
//!
//! - [`give_up_after`](crate::DeliveryOptions::give_up_after) is 1 minute for a producer and 15 minutes for a batch or a
//!   stream. In a producer the time of an entry begins when it is handed over. An attempt that has begun may end, which takes up to
//!   30 s by default, so a shorter time needs a shorter [`attempt_timeout`](crate::DeliveryOptions::attempt_timeout). Here a
//!   client waits for 13 s at most, however many others wait.
//! - When the service accepts nothing, entries accumulate: first in the calls, then in the
//!   [`buffer`](crate::DeliveryOptions::buffer) of 1,000. When that is full, senders wait for room, and an entry that finds none in
//!   its time is handed back. Use [`try_send`](crate::Producer::try_send) to get an error at once instead.
//! - **Close the producer beside the server's graceful shutdown, not after it.** The server waits for its handlers, and these
//!   wait for the producer: the other way round nothing limits the time while the queue accepts nothing.
//! - [`close_within`](crate::Producer::close_within) delivers as much as possible in the given time, and hands back the rest
//!   within three [`grace`](crate::DeliveryOptions::grace) periods of 1 s: one for calls in flight, and one each for the target
//!   to clean up and for a [handler of undelivered entries](crate::Delivery::on_undelivered), if there are any. So each
//!   request that waits is answered within the time and that, whatever hangs.
//!   [`close`](crate::Producer::close) is limited only by the time of each entry.
//! - The [log](crate::events) has a warning after 5 s without an accepted entry.
//!
//! # Metrics and traces
//! A delivery is a span, and each call is a span in it: [`events`](crate::events) lists their fields, and [`metrics`](crate::metrics)
//! what is measured. A change of the pace is an event of the call whose answer was the reason for it. `throttled_by` of the calls at that time
//! names the table or the index at fault. DynamoDB tells it of calls of which it accepts nothing.
#![doc = include_str!("../docs/pictures/trace.svg")]
//!
//! The picture shows two such calls in Jaeger, of a load of 2,000 orders into a table that takes 3,000 units/s and whose index takes half of
//! that (2026-11-24). `cargo run --package observability --bin otlp` in the repository makes the trace of a smaller load, in which the
//! index is at fault on slow machines as well; `examples/observability/src/bin/otlp.rs` says how to start Jaeger.
//!
//! # When to choose what
//! - **`Adaptive`**, the default: bulk loads, queues, everything that is limited by the capacity of the service.
//! - **`FullJitter`**, `EqualJitter`, `DecorrelatedJitter`: occasional entries, where failures are rare and callers that failed
//!   together should not retry together.
//! - **`Responsive`**: when the pace must be a single number that is easy to show and explain, or when you want the published
//!   algorithm.
//! - **`Schedule`**: when you know how long the service takes to recover.
//! - **`Linear`, `Quadratic`, `Exponential`, `Delays`, a closure**: to keep the behaviour of another program.
//!
//! # What `Responsive` does
//! By default all workers share one interval between their calls. When the share of rejected entries is above the share that is
//! rejected at any pace, the interval becomes longer by half; otherwise it becomes shorter by a tenth.
//!
//! [`Responsive::published`](crate::backoff::Responsive::published) is the algorithm as it was published: each failure makes the
//! interval longer by half, and ten successes make it shorter by a tenth. This is the published picture, with five successes and a
//! factor of 0.6: requests fail until the delay has reached 291.9 ms, and later whenever it is 60 ms or less.
#![doc = include_str!("../docs/pictures/responsive.svg")]
//!
//! # Testing
//! [`aws-batch-simulator`](https://docs.rs/aws-batch-simulator) is a simulated AWS in the process of the test, with scripted outages
//! and refusals: see the example `testing_with_simulator`.
//!
//! A client that is mocked with `aws_smithy_mocks` panics at every call without a rule. A delivery to a table calls `DescribeTable`
//! before its first write to get the key: set the key, or add a rule for that call.
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
//! The rule for `BatchWriteItem` must set `unprocessed_items` to an empty map, as DynamoDB does. A delivery to a FIFO queue calls
//! `GetQueueAttributes` unless `limits` are set, and for a FIFO queue `content_based_deduplication`. When a mock panics, the delivery
//! [stops](crate::Cause::Stopped): the cause names the method of the target, such as `prepare`, and its source has the message of the
//! panic.
//!
//! # Cookbook
//! Whole programs, in `examples/` of the package. All but the last two run against the simulator, without an AWS account:
//! `cargo run --all-features --example load_with_dead_letters`.
//!
//! | example | what it shows |
//! |---|---|
//! | `load_with_dead_letters` | loads a file of JSON lines into a table; keeps refused lines; continues after Ctrl-C and after a kill |
//! | `web_service` | an axum service whose requests share a producer; the status for each cause; a limited shutdown, with a test |
//! | `lambda_handler` | a batch of messages in, `batchItemFailures` out, within the invocation's time |
//! | `observability` | exports metrics and traces by OpenTelemetry, and metrics for Prometheus; a separate package in the repository |
//! | `own_strategy` | a strategy: a fixed number of entries a second for all workers together |
//! | `own_target` | a target on an SDK of AWS: deletes messages by `DeleteMessageBatch` |
//! | `bulk_index` | a target without an SDK: documents for an index with a `_bulk` API |
//! | `testing_with_simulator` | tests of a program: outages, refusals, lost answers, in paused time |
//! | `from_batch_writer` | moving from boto3's `batch_writer` |
//! | `from_own_loop` | moving from a hand-written loop around `BatchWriteItem` |
//! | `quickstart` | many workers that share one pace, with a progress line |
//! | `dynamo_bulk_writer`, `sqs_batch_producer` | against AWS or an emulator, configured by the standard environment variables |

#[doc = include_str!("../docs/benchmarks.md")]
pub mod benchmarks {}

#[doc = include_str!("../docs/guarantees.md")]
pub mod guarantees {}

#[doc = include_str!("../docs/when-to-use-what.md")]
pub mod when_to_use_what {}
