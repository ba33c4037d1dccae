//! The service's counts of one contestant.

use serde::{Deserialize, Serialize};

/// The line of JSON that the service prints at the end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Batch calls that arrived.
    pub calls: u64,
    /// Entries in the calls that were not refused.
    pub entries: u64,
    /// Of these, those that were not applied.
    pub rejected: u64,
    /// Calls refused as a whole because of what is in them.
    pub refused_calls: u64,
    /// The numbers of the entries that never arrived and have no later write of their key.
    pub missing: Vec<usize>,
    /// How often an entry was applied that had been applied before.
    pub duplicates: usize,
    /// Entries that came after a later one of their key or group.
    pub overtaken: usize,
    /// Keys whose last write was not their latest.
    pub stale: usize,
    /// Connections that were opened; 0 if they were not counted.
    pub connections: u64,
}
