//! Entries that are on disk before they are delivered.

mod basics;
mod child;
#[cfg(unix)]
mod disk;
mod full;
mod kills;
mod numbers;
#[path = "../support/options.rs"]
mod options;
mod outage;
mod panics;
#[path = "../support/scripted.rs"]
mod scripted;
mod served;
mod window;
