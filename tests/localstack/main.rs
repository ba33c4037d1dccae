//! What the crate promises, proved on the wire: against LocalStack and DynamoDB Local, as an application would use it.
//!
//! `localstack/test` brings them up and runs these tests. Run otherwise they use the emulators that the environment points
//! to, and a test that finds none says so and passes. With `AWS_BATCH_DELIVERY_REQUIRE_LOCALSTACK=1` it fails instead.

mod bucket;
mod emulators;
mod extended_client;
mod films;
mod limits;
mod messages;
mod offload;
mod order;
mod outages;
mod process;
mod queue;
mod refusals;
mod sizes;
mod table;
mod unprocessed;
