//! An entry that was not delivered.

use std::error::Error;
use std::fmt;

use super::Cause;
use crate::debug::debug_fields;

/// An entry that was not delivered.
///
/// Later entries with its key or message group were sent without it. Delivering it again may overwrite a newer value with
/// an older one.
#[non_exhaustive]
pub struct Undelivered<E> {
    /// The entry as it was submitted, or [completed](crate::targets::BatchTarget::complete) by the target.
    ///
    /// Boxed, so that an error stays small whatever the entry is; `*undelivered.entry` takes it out.
    pub entry: Box<E>,
    /// Its position in the input, from 0. Also 0 if a producer did not accept it.
    pub position: u64,
    /// Why it was not delivered.
    pub cause: Cause,
    /// How often it was sent.
    pub attempts: u32,
    /// Whether the service may have the entry: an answer was lost, could not be read, did not name this entry, or did not
    /// come from the service.
    ///
    /// `false` is certain: the entry was never sent, or the service itself refused it or returned it each time.
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
        self.cause.source()
    }
}

debug_fields!(Undelivered<E>, position, cause, attempts, may_have_been_delivered);
