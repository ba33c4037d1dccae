//! The order within lanes, with throttles, failures and concurrency.

mod keys;
mod lanes;
mod model;
mod scenario;
mod service;
