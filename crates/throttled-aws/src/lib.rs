#![doc = include_str!("../README.md")]
//!
//! # In a test in Rust
//!
//! The program's server can run in the process of a test:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use throttled_aws::{Config, Server};
//!
//! let limits = Config::parse("[tables.orders]\nwrite_units = 100")?;
//! let server = Server::to("http://127.0.0.1:4566", limits, "127.0.0.1:0").await?;
//! println!("the endpoint for clients: {}", server.endpoint());
//! # Ok(())
//! # }
//! ```

// A test may unwrap.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod alone;
mod body;
mod call;
mod config;
mod control;
mod digest;
mod dynamo;
mod faults;
mod front;
mod journal;
mod kinesis;
mod number;
mod origin;
mod plan;
#[doc(hidden)]
pub mod program;
mod refusal;
mod registry;
mod resources;
mod rule;
mod server;
mod shared;
mod sqs;
mod target;
mod time;
mod upstream;

pub use self::config::{
    AttributeType, Config, ConfigError, JournalConfig, KeyAttribute, LatencyConfig, QueueLimits, StreamLimits,
    TableLimits,
};
pub use self::rule::{ErrorAnswer, FailedEntries, Fault, Rule};
pub use self::server::Server;
