//! The pacing of other libraries, for comparison.
//!
//! Each is written from its published algorithm as a strategy of this crate, so that all of them have the same loop, the same
//! packing and the same service. The strategy decides when a call may leave, how large it may be, and how long leftovers wait.
//! This crate tops leftovers up with fresh entries; a library that does not makes fewer calls here than on its own.

mod aimd;
mod answered;
mod flink;
mod sdk;
mod vector;

pub(crate) use aimd::Aimd;
pub(crate) use flink::FlinkAimd;
pub(crate) use sdk::SdkAdaptive;
pub(crate) use vector::VectorConcurrency;
