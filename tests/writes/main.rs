//! Writes with conditions, updates and transactions, with lost answers and with other writers: what is reported is what the
//! service has done.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

#[path = "../support/chaos/mod.rs"]
#[expect(dead_code, reason = "other tests have whole puts, deletes and messages")]
mod chaos;
mod counters;
mod entries;
mod filters;
mod missing;
mod mix;
mod mixes;
mod model;
mod outcomes;
#[path = "../support/paused.rs"]
mod paused;
mod queries;
mod races;
mod reports;
#[cfg(feature = "spool")]
mod spooled;
mod transactions;
mod typed;
