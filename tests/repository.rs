//! What the files of the repository promise each other.

#![allow(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

mod blocks;
mod imports;
mod links;
mod releases;
mod words;
