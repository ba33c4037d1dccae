//! How a delivery stream is made.

use crate::bucket::Capacity;

/// How a delivery stream of Firehose is made.
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
    /// Records a second.
    #[must_use]
    pub fn capacity(mut self, records: impl Into<Capacity>) -> Self {
        self.records = records.into();
        self
    }

    /// Bytes of data a second.
    #[must_use]
    pub fn byte_capacity(mut self, bytes: impl Into<Capacity>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// Records are counted and forgotten, so that any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
