//! The question before items are deleted.

use std::io::{IsTerminal, Write, stderr, stdin};

use crate::outcome::Failure;

/// Whether there is a person to ask.
pub(super) fn is_possible() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks. Any answer but y or yes is an error, after which nothing was deleted.
pub(super) fn ask(words: &str) -> Result<(), Failure> {
    let answer = || {
        write!(stderr(), "{words} [y/N] ")?;
        let mut answer = String::new();
        stdin().read_line(&mut answer).map(|_| answer)
    };
    let answer =
        answer().map_err(|error| Failure::WrongUse(format!("there is no answer: {error}; nothing was deleted")))?;
    if is_yes(&answer) {
        Ok(())
    } else {
        let words = "nothing was deleted, because the answer was not yes";
        Err(Failure::WrongUse(words.to_owned()))
    }
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_y_and_yes_are_yes() {
        assert!(["y", "Y\n", "yes\r\n", " YES "].into_iter().all(is_yes));
        assert!(!["", "\n", "n", "no", "yea", "yes please", "j"].into_iter().any(is_yes));
    }
}
