//! Whether a call may leave: the question and the answer.

use std::time::Instant;

/// A worker that is ready to make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// How many entries are ready for the call.
    pub entries: usize,
    /// Whether at least ten calls of entries are known to wait.
    pub more: bool,
}

impl Waiter {
    /// A worker with this many entries for its call, and no more known to wait.
    pub const fn new(entries: usize) -> Self {
        Self { entries, more: false }
    }

    /// Whether at least ten calls of entries are known to wait.
    #[must_use]
    pub(crate) const fn with_more(mut self, more: bool) -> Self {
        self.more = more;
        self
    }
}

/// The answer to a [`Waiter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The call may leave now, with at most this many entries (at least one is always sent).
    Go(usize),
    /// Wait until then, or until the next outcome.
    WaitUntil(Instant),
}
