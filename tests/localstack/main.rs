//! The guarantees of the crate, tested against LocalStack and an emulator of DynamoDB, as an application would use it.
//!
//! `localstack/test` starts the emulators and runs these tests; a plain `cargo test` leaves them out.
//! `cargo test --test localstack -- --ignored` runs them with the emulators that the environment names.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

mod bucket;
#[path = "../support/chaos/mod.rs"]
#[expect(dead_code, reason = "the tests look closer")]
mod chaos;
mod consumers;
mod emulators;
mod extended_client;
mod films;
#[path = "../support/key_unknown.rs"]
mod key_unknown;
mod limited;
mod limits;
mod messages;
mod offload;
mod order;
#[cfg(all(feature = "kinesis", feature = "firehose", feature = "sns", feature = "eventbridge"))]
mod other_services;
mod outages;
mod process;
mod queries;
mod queue;
mod reads;
mod refusals;
mod sizes;
mod table;
mod unprocessed;
