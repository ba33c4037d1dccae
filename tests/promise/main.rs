//! What the crate promises, proved against the simulator through the real SDK clients.

mod client;
mod conservation;
mod entries;
mod order;
mod permission;
mod resubmission;
mod secrecy;
mod sharing;
mod splitting;
mod stopping;
mod tables;
mod watching;
