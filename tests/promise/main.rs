//! What the crate promises, proved against the simulator through the real SDK clients.

mod acknowledgements;
mod answers;
mod client;
mod clock;
mod connections;
mod conservation;
mod doubt;
mod entries;
mod groups;
#[path = "../support/log.rs"]
mod log;
mod mocks;
mod order;
mod permission;
mod raw;
mod reading;
mod resubmission;
mod resuming;
mod secrecy;
mod setup;
mod sharing;
mod spans;
mod splitting;
mod stalled;
mod stopping;
mod tables;
mod throttling;
mod throughput;
mod watching;
