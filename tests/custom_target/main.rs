//! A target made outside the crate, and what the loop does with its answers.

mod mishaps;
mod numbers;
mod packing;
mod patience;
mod preparation;
mod units;
