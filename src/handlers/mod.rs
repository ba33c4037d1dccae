//! The caller's functions for entries that were delivered and for those that were not.

mod handled;
mod handling;

use std::error::Error;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::disposition::Disposition;
use crate::report::Undelivered;

pub(crate) use handled::HandledInput;
pub(crate) use handling::ActiveHandlers;

type OnDelivered<E> = dyn Fn(u64, &E, &Disposition) + Send + Sync;
type OnUndelivered<E> = dyn Fn(&Undelivered<E>) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync;

/// The functions that are called with each entry when it is settled.
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

    pub(crate) fn on_delivered(mut self, handler: impl Fn(u64, &E, &Disposition) + Send + Sync + 'static) -> Self {
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

/// Why a handler has failed.
pub(crate) type HandlerError = Box<dyn Error + Send + Sync>;

/// What a [handler of undelivered entries](crate::Delivery::on_undelivered) may return: `()` if it cannot fail, or a result
/// with any error that converts into a boxed one.
///
/// The value of the result is `()`, or the [`Disposition`] that [`Producer::send`](crate::Producer::send) returns, and nothing
/// else: the error of an inner result would be overlooked.
pub trait HandlerResult: Sealed {}

impl HandlerResult for () {}
impl<X: Into<HandlerError>> HandlerResult for Result<(), X> {}
impl<X: Into<HandlerError>> HandlerResult for Result<Disposition, X> {}

/// Keeps the trait to the types of this file.
pub trait Sealed {
    /// The error, in a box.
    fn boxed(self) -> Result<(), HandlerError>;
}

impl Sealed for () {
    fn boxed(self) -> Result<(), HandlerError> {
        Ok(())
    }
}

impl<X: Into<HandlerError>> Sealed for Result<(), X> {
    fn boxed(self) -> Result<(), HandlerError> {
        self.map_err(Into::into)
    }
}

impl<X: Into<HandlerError>> Sealed for Result<Disposition, X> {
    fn boxed(self) -> Result<(), HandlerError> {
        self.map(drop).map_err(Into::into)
    }
}
