//! The options of a delivery stream.

use crate::bucket::Capacity;

/// The options of a delivery stream of Firehose.
///
/// # Default
/// - capacity: unlimited
/// - records are kept
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryStreamOptions {
    pub(super) records: Capacity,
    pub(super) bytes: Capacity,
    pub(super) is_forgetful: bool,
}

impl DeliveryStreamOptions {
    /// The capacity, in records per second.
    #[must_use]
    pub fn capacity(mut self, records: impl Into<Capacity>) -> Self {
        self.records = records.into();
        self
    }

    /// The capacity, in bytes of data per second.
    #[must_use]
    pub fn byte_capacity(mut self, bytes: impl Into<Capacity>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// Records are counted but not kept, so any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
