//! How a journal of another load, or of another run, is treated.

use crate::console::Console;
use crate::outcome::Failure;

/// The option by which the user answers for what is another one than in the journal.
pub(super) const TRUST: &str = "--trust-journal";

/// How a journal of another load, or of another run, is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The journal was named by the user. It is an error if it belongs to another load or is in use by another run.
    Named,
    /// The same, but the user says that what is read and written is the same, however it looks.
    Trusted,
    /// The load was handed to this process only. Another run of it is about to end, and the journal of another load is replaced.
    Granted,
}

impl Claim {
    /// Whether the user has named the journal.
    pub(super) fn is_of_user(self) -> bool {
        matches!(self, Self::Named | Self::Trusted)
    }

    /// What was found of earlier runs. A journal that is replaced is printed, with why none of it is used.
    pub(super) fn accepted<F: Default>(self, found: Result<F, Failure>, console: &Console) -> Result<F, Failure> {
        match found {
            Err(failure) if !self.is_of_user() => {
                console.warn(&format!(
                    "the checkpoint is replaced, and the shard starts from its beginning: {failure}"
                ));
                Ok(F::default())
            }
            found => found,
        }
    }

    /// The words are printed if the user answers for what they say, and an error with that option otherwise.
    pub(super) fn trusts(self, words: &str, console: &Console) -> Result<(), String> {
        match self {
            Self::Trusted => {
                console.warn(words);
                Ok(())
            }
            Self::Named => Err(format!("{words}; {TRUST} continues anyway")),
            Self::Granted => Err(words.to_owned()),
        }
    }
}
