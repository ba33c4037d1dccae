//! An entry that was not delivered.

use std::error::Error;
use std::fmt;

use super::Cause;

/// An entry that was not delivered.
///
/// Later entries of its key or message group went on without it. Delivering it again may put an older value over a
/// newer one.
#[non_exhaustive]
pub struct Undelivered<E> {
    /// The entry, as it was handed over; completed if the target [completes](crate::targets::BatchTarget::complete) entries.
    ///
    /// Boxed, so that an error is small whatever the entry is; `*undelivered.entry` takes it out.
    pub entry: Box<E>,
    /// Its place in the input, from 0. 0 also when a producer did not take it.
    pub position: u64,
    /// Why it was not delivered.
    pub cause: Cause,
    /// How often it was sent.
    pub attempts: u32,
    /// The service may have it all the same: an answer was lost, or could not be read, or said nothing of this entry, or
    /// came from something else than the service.
    ///
    /// `false` is certain: the entry never left, or each time that it did the service itself refused it or handed it back.
    pub may_have_been_delivered: bool,
}

impl<E> Undelivered<E> {
    /// An entry that was not sent.
    pub(crate) fn unsent(entry: E, position: u64, cause: Cause) -> Self {
        Self {
            entry: Box::new(entry),
            position,
            cause,
            attempts: 0,
            may_have_been_delivered: false,
        }
    }
}

impl<E> fmt::Display for Undelivered<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the entry was not delivered: {}", self.cause)
    }
}

impl<E> Error for Undelivered<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<E> fmt::Debug for Undelivered<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undelivered")
            .field("position", &self.position)
            .field("cause", &self.cause)
            .field("attempts", &self.attempts)
            .field("may_have_been_delivered", &self.may_have_been_delivered)
            .finish_non_exhaustive()
    }
}
