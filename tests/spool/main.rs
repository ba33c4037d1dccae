//! Entries that are on disk before they are delivered.

mod basics;
mod numbers;
#[path = "../support/options.rs"]
mod options;
#[path = "../support/scripted.rs"]
#[allow(dead_code, reason = "other tests throttle")]
mod scripted;
