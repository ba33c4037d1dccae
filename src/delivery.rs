//! The ways in: a delivery to one table or queue, and the two functions for a single batch.

use std::sync::Arc;

use crate::engine;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
use crate::target::BatchTarget;

/// Delivers entries to one target, as often as wanted.
///
/// It is cheap to clone. Clones share the target and the pace.
#[derive(Debug)]
pub struct Delivery<T> {
    target: Arc<T>,
    options: DeliveryOptions,
}

impl<T> Clone for Delivery<T> {
    fn clone(&self) -> Self {
        Self {
            target: Arc::clone(&self.target),
            options: self.options.clone(),
        }
    }
}

impl<T: BatchTarget> Delivery<T> {
    /// Delivers to any target, with the default options.
    pub fn new(target: T) -> Self {
        Self {
            target: Arc::new(target),
            options: DeliveryOptions::default(),
        }
    }

    /// How to deliver.
    #[must_use]
    pub fn options(mut self, options: DeliveryOptions) -> Self {
        self.options = options;
        self
    }

    /// Delivers every entry, or hands it back.
    ///
    /// Entries are taken from the iterator as they are needed. The calls run as tasks of the current tokio runtime; a future
    /// that is dropped takes its calls with it.
    ///
    /// # Errors
    /// When any entry was not delivered. The error carries all of them, each with its cause.
    pub async fn deliver<I>(&self, entries: I) -> Result<Report, DeliveryError<T::Entry>>
    where
        I: IntoIterator<Item = T::Entry>,
    {
        engine::deliver(Arc::clone(&self.target), entries.into_iter(), self.options.clone()).await
    }
}
