//! What others do about pace, for comparison.
//!
//! Each is written from its published algorithm as a strategy of this crate, so that all of them have the same loop, the same
//! packing and the same service. What is theirs is when a call may leave, how large it may be, and how long what came back
//! waits. Topping up leftovers with fresh entries is this crate's; where theirs does not, their calls are fewer here than at
//! home.

mod aimd;
mod answered;
mod flink;
mod sdk;
mod vector;

pub(crate) use aimd::Aimd;
pub(crate) use flink::FlinkAimd;
pub(crate) use sdk::SdkAdaptive;
pub(crate) use vector::VectorConcurrency;
