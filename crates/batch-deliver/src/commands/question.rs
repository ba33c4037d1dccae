//! A question on the terminal.

use std::io::{IsTerminal, Write, stderr, stdin};

use crate::outcome::Failure;

/// Whether there is a terminal to ask on.
pub(super) fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks. Any answer but y or yes is an error, which says that `nothing` has happened.
pub(super) fn question(words: &str, nothing: &str) -> Result<(), Failure> {
    let answer = || {
        write!(stderr(), "{words} [y/N] ")?;
        let mut answer = String::new();
        stdin().read_line(&mut answer).map(|_| answer)
    };
    let answer = answer().map_err(|error| Failure::WrongUse(format!("there is no answer: {error}; {nothing}")))?;
    if is_yes(&answer) {
        Ok(())
    } else {
        Err(Failure::WrongUse(format!("{nothing}, because the answer was not yes")))
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
