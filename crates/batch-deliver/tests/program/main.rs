//! The program as a whole, run as people and machines run it.

#[cfg(feature = "s3")]
mod bucket;
mod dead_letters;
mod input;
#[cfg(feature = "s3")]
mod objects;
mod program;
mod resuming;
mod served;
#[cfg(feature = "s3")]
mod shards;
mod summary;
