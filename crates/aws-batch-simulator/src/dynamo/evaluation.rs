//! What a change does to the item that there is.

use serde_json::Value;

use super::change::Change;
use super::items::Write;
use crate::wire::Refusal;

/// What a change does to an item.
#[derive(Debug)]
pub(super) struct Evaluation {
    /// Whether its condition is true. It is if there is none.
    pub(super) holds: bool,
    /// What is written: nothing if the condition is false, and by a check.
    pub(super) write: Option<Write>,
    /// The updated attributes before or after an update, if the request asks for them.
    pub(super) updated: Option<Value>,
}

/// Why a change cannot be evaluated.
#[derive(Debug)]
pub(super) enum EvaluationFailure {
    /// The request is wrong, whatever the item is: a transaction is refused as a whole.
    Request(Refusal),
    /// It is wrong for this item: the reason for which a transaction is canceled.
    Item(Refusal),
}

impl EvaluationFailure {
    pub(super) fn into_refusal(self) -> Refusal {
        match self {
            Self::Request(refusal) | Self::Item(refusal) => refusal,
        }
    }
}

/// Whether a change is a call of its own or an action of a transaction, which the service checks and words differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    Alone,
    Transaction,
}

/// The write of a change that leaves this item.
pub(super) fn put(change: &Change, item: Value, size: usize) -> Write {
    Write {
        key: change.key.clone(),
        is_put: true,
        entry: item,
        size,
    }
}

/// The write of a change that deletes the item.
pub(super) fn delete(change: &Change) -> Write {
    Write {
        key: change.key.clone(),
        is_put: false,
        entry: change.entry().clone(),
        size: 0,
    }
}
