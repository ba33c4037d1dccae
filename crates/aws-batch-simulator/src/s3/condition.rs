//! Conditions of puts and deletes.

use super::answer;
use super::object::Object;
use crate::wire::Refusal;

/// What must hold for the object that a put replaces or a delete removes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    None,
    /// `If-None-Match: *`.
    IsMissing,
    /// `If-Match: *`.
    Exists,
    /// `If-Match` with an `ETag`, here without its quotes.
    HasTag(String),
}

impl Condition {
    /// The error of a write for whose object it does not hold.
    pub(super) fn check(&self, object: Option<&Object>) -> Result<(), Refusal> {
        match (self, object) {
            (Self::None, _) | (Self::IsMissing, None) | (Self::Exists, Some(_)) => Ok(()),
            (Self::HasTag(tag), Some(object)) if object.etag.trim_matches('"') == tag => Ok(()),
            (Self::IsMissing | Self::HasTag(_), Some(_)) => Err(answer::PRECONDITION_FAILED),
            (Self::Exists | Self::HasTag(_), None) => Err(answer::NO_SUCH_KEY),
        }
    }
}
