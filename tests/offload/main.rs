//! Messages that are too large for SQS are sent through S3, with the same guarantees as others. With the real SDK clients, against the
//! simulator.

mod conservation;
mod entries;
mod fifo;
#[path = "../support/options.rs"]
mod options;
#[path = "../support/paused.rs"]
mod paused;
mod pointers;
mod removals;
mod uploads;
