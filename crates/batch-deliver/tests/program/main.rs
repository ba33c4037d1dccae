//! The program as a whole, run as people and machines run it.

mod accounts;
#[cfg(unix)]
mod activity;
mod ambiguous;
mod bucket;
mod cases;
#[cfg(unix)]
mod checkpoints;
mod connections;
mod copy;
mod dead_letters;
mod deletions;
mod diff;
#[cfg(unix)]
mod documents;
mod drains;
mod dry_runs;
#[cfg(unix)]
mod endings;
mod endless;
mod export;
mod fifo_sends;
mod http;
mod input;
mod journals;
#[cfg(unix)]
mod lambda;
mod languages;
mod manual;
mod matching;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(unix)]
#[path = "../../../../tests/support/cases.rs"]
mod number_of_cases;
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
#[cfg(unix)]
mod segment_exports;
#[cfg(unix)]
mod segments;
mod served;
mod shards;
mod simulated;
#[cfg(feature = "spool")]
mod spool;
mod summary;
mod tables;
mod trouble;
#[cfg(unix)]
mod unread;
mod values;
mod vectors;
#[cfg(unix)]
mod worker;
#[cfg(unix)]
mod writers;
