//! What the options of queues, topics and other destinations have in common.

/// `capacity` and `forgetful`, within an `impl`.
macro_rules! taking {
    ($entries:literal) => {
        #[doc = concat!("The capacity, in ", $entries, " per second.")]
        #[must_use]
        pub fn capacity(mut self, capacity: impl Into<$crate::Capacity>) -> Self {
            self.capacity = capacity.into();
            self
        }

        #[doc = concat!("The ", $entries, " are counted but not kept, so any number of them takes no memory.")]
        #[must_use]
        pub fn forgetful(mut self) -> Self {
            self.is_forgetful = true;
            self
        }
    };
}

/// `content_based_deduplication`, within an `impl`.
macro_rules! deduplicating {
    ($destination:literal, $content:literal) => {
        #[doc = concat!("A FIFO ", $destination, " makes the deduplication id from the ", $content, " where there is none.")]
        #[must_use]
        pub fn content_based_deduplication(mut self) -> Self {
            self.deduplicates_by_content = true;
            self
        }
    };
}

pub(crate) use {deduplicating, taking};
