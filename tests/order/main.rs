//! The order inside the lanes, through throttles, failures and concurrency.

mod lanes;
mod model;
mod service;
