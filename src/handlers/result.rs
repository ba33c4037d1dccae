//! What a handler of undelivered entries may return.

use std::error::Error;

use crate::fate::Fate;

/// Why a handler has failed.
pub(crate) type HandlerError = Box<dyn Error + Send + Sync>;

/// What a [handler of undelivered entries](crate::Delivery::on_undelivered) may return: `()` if it cannot fail, or a result
/// with any error that converts into a boxed one.
///
/// The value of the result is `()`, or the [`Fate`] that [`Producer::send`](crate::Producer::send) returns, and nothing
/// else: the error of an inner result would be overlooked.
pub trait HandlerResult: Sealed {}

impl HandlerResult for () {}
impl<X: Into<HandlerError>> HandlerResult for Result<(), X> {}
impl<X: Into<HandlerError>> HandlerResult for Result<Fate, X> {}

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

impl<X: Into<HandlerError>> Sealed for Result<Fate, X> {
    fn boxed(self) -> Result<(), HandlerError> {
        self.map(drop).map_err(Into::into)
    }
}
