//! Messages that are too large for SQS are sent through S3, with the same guarantees as others. With the real SDK clients, against the
//! simulator.

mod conservation;
mod entries;
mod fifo;
mod pointers;
mod removals;
mod uploads;
