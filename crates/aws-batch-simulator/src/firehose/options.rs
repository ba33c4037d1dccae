//! The options of a delivery stream.

use crate::bucket::Capacity;
use crate::options::taking;

/// The options of a delivery stream of Firehose.
///
/// # Default
/// - capacity: unlimited
/// - records are kept
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryStreamOptions {
    pub(super) capacity: Capacity,
    pub(super) bytes: Capacity,
    pub(super) is_forgetful: bool,
}

impl DeliveryStreamOptions {
    taking!("records");

    /// The capacity, in bytes of data per second.
    #[must_use]
    pub fn byte_capacity(mut self, bytes: impl Into<Capacity>) -> Self {
        self.bytes = bytes.into();
        self
    }
}
