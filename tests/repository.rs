//! What the files of the repository promise each other.

mod blocks;
mod imports;
mod links;
#[path = "../benches/pacing/recorded.rs"]
#[expect(
    dead_code,
    clippy::cast_precision_loss,
    reason = "what only the bench uses, and its counts are small"
)]
mod recorded;
mod releases;
mod words;
