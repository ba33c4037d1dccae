//! The order inside the lanes, through throttles, failures and concurrency.

mod keys;
mod lanes;
mod model;
mod scenario;
mod service;
