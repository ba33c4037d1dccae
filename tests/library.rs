//! What the library promises, against the simulator or a scripted target, on tokio's paused clock.
//!
//! One binary, because each more takes as long to build and link as all the code of a folder.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

mod answers;
mod conformance;
mod custom_target;
mod guarantees;
mod isolation;
mod offload;
mod order;
mod receives;
mod scans;
mod support;
mod typed;
