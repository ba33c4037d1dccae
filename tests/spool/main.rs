//! Entries that are on disk before they are delivered.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

mod again;
mod basics;
#[path = "../support/cases.rs"]
mod cases;
mod changed;
mod child;
#[path = "../support/corpus.rs"]
mod corpus;
mod damage;
#[cfg(unix)]
mod disk;
mod full;
mod gone;
mod kills;
mod liveness;
#[path = "../support/log.rs"]
#[expect(dead_code, reason = "other tests have spans and levels")]
mod log;
mod numbers;
#[path = "../support/options.rs"]
mod options;
mod outage;
mod panics;
#[path = "../support/paused.rs"]
mod paused;
#[path = "../support/phases.rs"]
#[expect(dead_code, reason = "other tests have groups and reads")]
mod phases;
#[cfg(target_os = "linux")]
mod power;
#[path = "../support/scripted.rs"]
mod scripted;
mod served;
mod values;
mod window;
