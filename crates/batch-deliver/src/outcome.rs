//! How the program ends.

use std::fmt;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was delivered.
    Delivered,
    /// Something was not delivered, or not read.
    Undelivered,
    /// It was interrupted, and has stopped cleanly.
    Interrupted,
}

/// Why the program ends without a delivery, and what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments ask for something that cannot be done: exit code 2.
    WrongUse(String),
    /// Something else failed: exit code 1.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::WrongUse(words) | Self::Failed(words)) = self;
        f.write_str(words)
    }
}
