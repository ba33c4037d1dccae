//! The program as a whole, run as people and machines run it.

mod accounts;
#[cfg(all(unix, feature = "distributed"))]
mod activity;
mod ambiguous;
#[cfg(feature = "s3")]
mod bucket;
mod cases;
#[cfg(all(unix, feature = "distributed"))]
mod checkpoints;
mod connections;
mod copy;
mod dead_letters;
#[cfg(feature = "s3")]
mod deletions;
mod diff;
mod drains;
mod dry_runs;
#[cfg(unix)]
mod endings;
mod endless;
mod export;
#[cfg_attr(
    not(any(feature = "s3", all(unix, feature = "distributed"))),
    expect(dead_code, reason = "queues need less of it")
)]
mod http;
mod input;
mod journals;
#[cfg(all(unix, feature = "lambda"))]
mod lambda;
mod manual;
mod matching;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(feature = "s3")]
mod objects;
#[cfg(unix)]
mod outputs;
#[cfg(unix)]
mod pipes;
mod program;
#[cfg(unix)]
mod pseudo_terminal;
#[cfg(feature = "put")]
mod put;
mod queues;
mod resuming;
mod sample;
#[cfg(all(unix, feature = "distributed"))]
mod segment_exports;
#[cfg(all(unix, feature = "distributed"))]
mod segments;
mod served;
#[cfg(feature = "s3")]
mod shards;
mod simulated;
#[cfg(feature = "spool")]
mod spool;
mod summary;
mod tables;
mod trouble;
mod values;
#[cfg(all(unix, feature = "distributed"))]
mod worker;
#[cfg(unix)]
mod writers;
