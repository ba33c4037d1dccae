//! Tells the fate of an entry to its sender.

use std::fmt;

use futures::future::BoxFuture;

use crate::fate::Fate;
use crate::report::Undelivered;

/// Tells the fate of an entry to its sender: a receipt or a handler.
///
/// It is as large as one pointer, because every entry has space for one.
pub(crate) struct Confirmation<E>(Box<dyn Confirms<E>>);

/// The receiver of an entry's fate.
pub(crate) trait Confirms<E>: Send + Sync {
    /// This entry was delivered or superseded.
    fn resolve(self: Box<Self>, entry: &E, fate: Fate);

    /// Hands the entry back. Returns it if nothing waits for it any more.
    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>>;
}

impl<E> Confirmation<E> {
    pub(crate) fn to(confirms: impl Confirms<E> + 'static) -> Self {
        Self(Box::new(confirms))
    }

    /// Tells that this entry was delivered or superseded.
    pub(crate) fn resolve(self, entry: &E, fate: Fate) {
        self.0.resolve(entry, fate);
    }

    /// Hands the entry back. Returns it if nothing waits for it any more.
    pub(crate) fn hand_back(self, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>> {
        self.0.hand_back(undelivered)
    }
}

impl<E> fmt::Debug for Confirmation<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirmation").finish_non_exhaustive()
    }
}
