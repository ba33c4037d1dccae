//! The next retry of an entry.

use std::time::Duration;

/// The next retry of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// 1 for the first retry of the entry, 2 for the second …
    pub number: u32,
    /// How long the entry waited before its last retry; `None` before the first.
    pub previous: Option<Duration>,
}

impl Retry {
    /// The retry of this number, from 1, of an entry that waited for `previous` before the last one.
    pub const fn new(number: u32, previous: Option<Duration>) -> Self {
        Self { number, previous }
    }

    /// The retry that follows `self` when the entry waited for `delay` and was rejected again.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self {
            number: self.number.saturating_add(1),
            previous: Some(delay),
        }
    }

    /// The first retry of an entry.
    pub const FIRST: Self = Self::new(1, None);
}
