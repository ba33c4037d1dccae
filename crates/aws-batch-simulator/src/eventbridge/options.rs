//! How an event bus is made.

use crate::bucket::Capacity;

/// How an event bus of EventBridge is made.
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
    /// Events a second.
    #[must_use]
    pub fn capacity(mut self, events: impl Into<Capacity>) -> Self {
        self.capacity = events.into();
        self
    }

    /// Events are counted and forgotten, so that any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
