//! The guarantees of the crate, tested with the real SDK clients against the simulator.

mod acknowledgements;
mod answers;
mod client;
mod clock;
mod connections;
mod conservation;
mod documented;
mod doubt;
mod entries;
mod frozen;
mod groups;
mod index_keys;
#[path = "../support/key_unknown.rs"]
mod key_unknown;
#[path = "../support/log.rs"]
mod log;
mod lookups;
mod mocks;
mod named_waits;
#[path = "../support/odd.rs"]
mod odd;
#[path = "../support/options.rs"]
mod options;
mod order;
mod outages;
#[path = "../support/paused.rs"]
mod paused;
mod permission;
mod quiet;
mod raw;
mod reading;
mod resubmission;
mod resuming;
mod rotation;
mod secrecy;
mod setup;
mod sharing;
mod sizes;
mod sources;
mod spans;
mod splitting;
mod stalled;
mod stopping;
mod tables;
mod throttling;
mod throughput;
mod watching;
