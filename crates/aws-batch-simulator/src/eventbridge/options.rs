//! The options of an event bus.

use crate::bucket::Capacity;

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
    /// The capacity, in events per second.
    #[must_use]
    pub fn capacity(mut self, events: impl Into<Capacity>) -> Self {
        self.capacity = events.into();
        self
    }

    /// Events are counted but not kept, so any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
