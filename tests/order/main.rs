//! The order within lanes, with throttles, failures and concurrency.

mod keys;
mod lanes;
mod model;
#[path = "../support/paused.rs"]
mod paused;
mod scenario;
mod service;
