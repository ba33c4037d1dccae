//! What travels with an entry and is told its fate.

use std::fmt;

use futures::future::BoxFuture;

use crate::fate::Fate;
use crate::report::Undelivered;

/// What travels with an entry and is told its fate.
///
/// It takes no more room than a pointer to it, since every entry has room for one.
pub(crate) struct Confirmation<E>(Box<dyn Confirms<E>>);

/// What a [`Confirmation`] tells the fate to.
pub(crate) trait Confirms<E>: Send + Sync {
    /// A good end.
    fn good(self: Box<Self>, fate: Fate);

    /// The entry is handed back. Returned if it is not waited for any more.
    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>>;
}

impl<E> Confirmation<E> {
    pub(crate) fn to(confirms: impl Confirms<E> + 'static) -> Self {
        Self(Box::new(confirms))
    }

    /// Tells a good end. Whether it is still waited for does not matter.
    pub(crate) fn good(self, fate: Fate) {
        self.0.good(fate);
    }

    /// Hands an entry back. Returns it when it is not waited for any more.
    pub(crate) fn hand_back(self, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>> {
        self.0.hand_back(undelivered)
    }
}

impl<E> fmt::Debug for Confirmation<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirmation").finish_non_exhaustive()
    }
}
