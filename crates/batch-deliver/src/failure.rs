//! Errors that end the program.

use std::fmt;

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
