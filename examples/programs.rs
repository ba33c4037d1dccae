//! The tests of the programs in this folder, in one binary.

#![cfg(test)]
#![allow(dead_code, reason = "the programs themselves are binaries")]

mod bulk_index;
mod bulk_writer_under_limits;
mod conditional_writes;
mod counter;
#[path = "from_own_loop/main.rs"]
mod from_own_loop;
mod own_strategy;
mod own_target;
#[path = "sink_with_barriers/main.rs"]
mod sink_with_barriers;
mod testing_with_simulator;
mod transaction;
mod web_service;
