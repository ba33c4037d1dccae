//! Messages that are too large for SQS go through S3, and the promise holds for them as for others. Against the simulator,
//! through the real SDK clients.

mod conservation;
mod entries;
mod fifo;
mod pointers;
mod removals;
mod uploads;
