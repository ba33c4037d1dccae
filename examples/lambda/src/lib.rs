//! A Lambda function that writes the records of an event to a table, and reports those that failed.
//!
//! The event may be that of a queue, a FIFO queue, a stream of Kinesis or a stream of DynamoDB. `README.md` says how to deploy it.

mod batch;
mod failures;
mod function;

pub use self::function::Function;
