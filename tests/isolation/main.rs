//! Calls that are refused as a whole: the entries at fault are found, and the others are delivered.

mod all_or_nothing;
mod disputes;
#[path = "../support/options.rs"]
mod options;
#[path = "../support/paused.rs"]
mod paused;
mod rejected;
#[path = "../support/scripted.rs"]
mod scripted;
mod search;
mod shared_reason;
