//! Writes with conditions, updates and transactions, with lost answers and with other writers: what is reported is what the
//! service has done.

mod counters;
mod entries;
mod mix;
mod model;
mod outcomes;
#[path = "../support/paused.rs"]
mod paused;
mod races;
mod reports;
mod transactions;
mod typed;
