//! The options of an event bus.

use crate::bucket::Capacity;
use crate::options::taking;

/// The options of an event bus of EventBridge.
///
/// # Default
/// - capacity: unlimited
/// - events are kept
#[derive(Debug, Clone, Copy, Default)]
pub struct EventBusOptions {
    pub(super) capacity: Capacity,
    pub(super) is_forgetful: bool,
}

impl EventBusOptions {
    taking!("events");
}
