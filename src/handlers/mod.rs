//! The caller's functions for entries that were delivered and for those that were not.

mod handled;
mod handling;
mod result;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

pub(crate) use self::handled::Handled;
pub(crate) use self::handling::Handling;
pub use self::result::HandlerResult;
use self::result::{HandlerError, Sealed};
use crate::fate::Fate;
use crate::report::Undelivered;

type OnDelivered<E> = dyn Fn(u64, &E, &Fate) + Send + Sync;
type OnUndelivered<E> = dyn Fn(&Undelivered<E>) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync;

/// The functions that are called with each entry when its fate is known.
pub(crate) struct Handlers<E> {
    delivered: Option<Arc<OnDelivered<E>>>,
    undelivered: Option<Arc<OnUndelivered<E>>>,
}

impl<E> Handlers<E> {
    pub(crate) fn none() -> Self {
        Self {
            delivered: None,
            undelivered: None,
        }
    }

    pub(crate) fn on_delivered(mut self, handler: impl Fn(u64, &E, &Fate) + Send + Sync + 'static) -> Self {
        self.delivered = Some(Arc::new(handler));
        self
    }

    pub(crate) fn on_undelivered<F>(mut self, handler: impl Fn(&Undelivered<E>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: HandlerResult> + Send + 'static,
    {
        self.undelivered = Some(Arc::new(move |undelivered| {
            handler(undelivered).map(Sealed::boxed).boxed()
        }));
        self
    }

    /// Whether a handler takes undelivered entries.
    pub(crate) fn take_undelivered(&self) -> bool {
        self.undelivered.is_some()
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
