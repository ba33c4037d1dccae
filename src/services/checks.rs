//! What several services check of an entry.

use crate::invalid::InvalidEntry;

/// The size of this part in bytes, which may not be above the limit.
pub(super) fn check_size(part: &'static str, limit: usize, actual: usize) -> Result<usize, InvalidEntry> {
    if actual > limit {
        return Err(InvalidEntry::TooLarge { part, limit, actual });
    }
    Ok(actual)
}

/// The number of these parts, which may not be above the limit.
pub(super) fn check_count(part: &'static str, limit: usize, actual: usize) -> Result<(), InvalidEntry> {
    if actual > limit {
        return Err(InvalidEntry::TooMany { part, limit, actual });
    }
    Ok(())
}

/// The number of the characters of this text, which may not be above the limit that the rule states.
pub(super) fn check_length(
    part: &'static str,
    text: &str,
    limit: usize,
    rule: &'static str,
) -> Result<(), InvalidEntry> {
    if text.chars().count() > limit {
        return Err(InvalidEntry::malformed(part, rule));
    }
    Ok(())
}

/// Each character of this text has to be allowed.
pub(super) fn check_characters(
    part: &'static str,
    text: &str,
    is_allowed: impl Fn(char) -> bool,
) -> Result<(), InvalidEntry> {
    match text.char_indices().find(|(_, character)| !is_allowed(*character)) {
        None => Ok(()),
        Some((position, character)) => Err(InvalidEntry::Character {
            part,
            code_point: character.into(),
            position,
        }),
    }
}
