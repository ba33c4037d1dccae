//! Why the program ends without having done all.

use std::fmt;

/// Why nothing was begun, and what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for something that cannot be done: exit code 2.
    WrongUse(String),
    /// Something else is not as it should be: exit code 1.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::WrongUse(words) | Self::Failed(words)) = self;
        f.write_str(words)
    }
}
