//! Counts of calls and entries.

/// Counts of the calls to a table, queue, stream, topic or bus since its creation, and of their entries.
///
/// Only batch writes, sends and puts are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Batch calls that arrived.
    pub calls: u64,
    /// Calls that were refused because the request breaks a rule of the service.
    pub refused_calls: u64,
    /// Calls that were throttled as a whole.
    pub throttled_calls: u64,
    /// Calls that failed as a whole for another reason: errors, lost connections, answers that cannot be read.
    pub failed_calls: u64,
    /// Entries in the calls that were not refused.
    pub entries: u64,
    /// Entries that were applied.
    pub applied: u64,
    /// Entries that were not applied for lack of capacity.
    pub throttled: u64,
    /// Entries that were not applied for another reason.
    pub failed: u64,
    /// Capacity that the applied entries have consumed: write units of a table; elsewhere one for each entry.
    pub units: f64,
}
