//! The report of a contestant at its end.

use serde::{Deserialize, Serialize};

/// The line of JSON that a contestant prints at its end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Told {
    /// Whether it reported a failure in any way.
    pub failed: bool,
    /// The numbers of the entries that it named as undelivered.
    pub handed_back: Vec<usize>,
}

impl Told {
    /// All is delivered.
    pub fn success() -> Self {
        Self::default()
    }

    /// These entries are not delivered.
    pub fn undelivered(handed_back: Vec<usize>) -> Self {
        Self {
            failed: !handed_back.is_empty(),
            handed_back,
        }
    }

    /// Something failed, but the entries are not known.
    pub fn failure() -> Self {
        Self {
            failed: true,
            handed_back: Vec::new(),
        }
    }

    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.failed |= other.failed;
        self.handed_back.extend(other.handed_back);
        self
    }
}
