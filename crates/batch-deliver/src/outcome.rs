//! How the program ends.

use std::fmt;

/// The exit code of a program that was interrupted and has stopped cleanly: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandOutcome {
    /// Everything was delivered.
    Delivered,
    /// Something was not delivered, or not read.
    Undelivered,
    /// It was interrupted, and has stopped cleanly.
    Interrupted,
}

impl CommandOutcome {
    /// Of a command that has ended by itself.
    pub(crate) fn of(is_complete: bool) -> Self {
        if is_complete {
            Self::Delivered
        } else {
            Self::Undelivered
        }
    }
}

/// Why the program ends without a delivery, and what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments ask for something that cannot be done: exit code 2.
    WrongUse(String),
    /// This machine lacks what another one may have, such as credentials or a mounted file system: exit code 2.
    Unequipped(String),
    /// Another process has what is needed, and may end: exit code 2.
    InUse(String),
    /// Something else failed: exit code 1.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::WrongUse(words) | Self::Unequipped(words) | Self::InUse(words) | Self::Failed(words)) = self;
        f.write_str(words)
    }
}

/// The exit code of the program: 0 all delivered, 1 something was not, 2 nothing was started, 130 interrupted.
pub(crate) fn exit_code(ended: &Result<CommandOutcome, Failure>) -> u8 {
    match ended {
        Ok(CommandOutcome::Delivered) => 0,
        Ok(CommandOutcome::Undelivered) | Err(Failure::Failed(_)) => 1,
        Ok(CommandOutcome::Interrupted) => INTERRUPTED,
        Err(Failure::WrongUse(_) | Failure::Unequipped(_) | Failure::InUse(_)) => 2,
    }
}
