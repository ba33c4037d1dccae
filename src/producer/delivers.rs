//! The delivery behind a producer.

use std::sync::Arc;

use crate::engine::{self, Delivered, Input};
use crate::guarded::destination;
use crate::options::DeliveryOptions;
use crate::targets::BatchTarget;

/// Delivers an input, until it ends or the delivery stops.
pub(crate) trait Delivers<E>: Send + Sync + 'static {
    fn deliver(
        &self,
        input: impl Input<Entry = E> + Send,
        options: DeliveryOptions,
    ) -> impl Future<Output = Delivered<E>> + Send;

    /// The name of the destination in the log.
    fn destination(&self) -> String;
}

impl<T: BatchTarget> Delivers<T::Entry> for Arc<T> {
    async fn deliver(
        &self,
        input: impl Input<Entry = T::Entry> + Send,
        options: DeliveryOptions,
    ) -> Delivered<T::Entry> {
        engine::deliver(Self::clone(self), input, options).await
    }

    fn destination(&self) -> String {
        destination(&**self)
    }
}
