//! A target made outside the crate, and what the loop does with its answers.

mod abreast;
mod cleaning_up;
mod events;
mod handlers;
#[path = "../support/log.rs"]
mod log;
mod mishaps;
mod numbers;
mod on_an_sdk;
mod pace;
mod packing;
mod panics;
mod patience;
mod preparation;
mod producer;
mod shutdown;
mod standing_still;
mod streams;

mod units;
