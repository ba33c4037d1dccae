//! What the crate promises, proved on the wire: against LocalStack and DynamoDB Local, as an application would use it.
//!
//! `localstack/test` brings them up and runs these tests, which plain `cargo test` lists as ignored. Run by
//! `cargo test --test localstack -- --ignored` they use the emulators that the environment points to.

mod bucket;
mod consumers;
mod emulators;
mod extended_client;
mod films;
mod limits;
mod messages;
mod offload;
mod order;
#[cfg(all(feature = "kinesis", feature = "firehose", feature = "sns", feature = "eventbridge"))]
mod other_services;
mod outages;
mod process;
mod queue;
mod reads;
mod refusals;
mod sizes;
mod table;
mod unprocessed;
