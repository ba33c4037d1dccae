//! The caller's functions for entries that were delivered and for those that were not.

mod handled;
mod handling;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

pub(crate) use self::handled::Handled;
pub(crate) use self::handling::Handling;
use crate::fate::Fate;
use crate::report::Undelivered;

type OnDelivered = dyn Fn(u64, &Fate) + Send + Sync;
type OnUndelivered<E> = dyn Fn(Undelivered<E>) -> BoxFuture<'static, ()> + Send + Sync;

/// The functions that are called with each entry when its fate is known.
pub(crate) struct Handlers<E> {
    delivered: Option<Arc<OnDelivered>>,
    undelivered: Option<Arc<OnUndelivered<E>>>,
}

impl<E> Handlers<E> {
    pub(crate) fn none() -> Self {
        Self {
            delivered: None,
            undelivered: None,
        }
    }

    pub(crate) fn on_delivered(mut self, handler: impl Fn(u64, &Fate) + Send + Sync + 'static) -> Self {
        self.delivered = Some(Arc::new(handler));
        self
    }

    pub(crate) fn on_undelivered<F>(mut self, handler: impl Fn(Undelivered<E>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.undelivered = Some(Arc::new(move |undelivered| handler(undelivered).boxed()));
        self
    }

    fn are_none(&self) -> bool {
        self.delivered.is_none() && self.undelivered.is_none()
    }
}

impl<E> Clone for Handlers<E> {
    fn clone(&self) -> Self {
        Self {
            delivered: self.delivered.clone(),
            undelivered: self.undelivered.clone(),
        }
    }
}
