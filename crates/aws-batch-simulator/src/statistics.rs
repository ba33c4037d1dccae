//! What arrived, in numbers.

/// What arrived at a table, a queue, a stream, a topic or a bus since it was made, in numbers.
///
/// Only batch writes, sends and puts are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Batch calls that arrived.
    pub calls: u64,
    /// Of these, refused because the request breaks a rule of the service.
    pub refused_calls: u64,
    /// Of these, throttled as a whole.
    pub throttled_calls: u64,
    /// Of these, failed as a whole for another reason: errors, lost connections, answers that cannot be read.
    pub failed_calls: u64,
    /// Entries in the calls that were not refused.
    pub entries: u64,
    /// Entries that were applied.
    pub applied: u64,
    /// Entries that were not applied for lack of capacity.
    pub throttled: u64,
    /// Entries that were not applied for another reason.
    pub failed: u64,
    /// Capacity used by what was applied: write units of a table, and elsewhere one for each entry.
    pub units: f64,
}
