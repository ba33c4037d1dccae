//! What a change does to the item that there is.

use serde_json::Value;

use super::change::{Change, Kind};
use super::expressions;
use super::items::Write;
use super::key::Schema;
use super::value::size_of_item;
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
pub(super) enum Failure {
    /// The request is wrong, whatever the item is: a transaction is refused as a whole.
    Request(Refusal),
    /// It is wrong for this item: the reason for which a transaction is canceled.
    Item(Refusal),
}

impl Failure {
    pub(super) fn into_refusal(self) -> Refusal {
        match self {
            Self::Request(refusal) | Self::Item(refusal) => refusal,
        }
    }
}

/// Whether a change stands alone or is an action of a transaction, which the service checks and words differently.
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

/// Evaluates a change of the item with this text, or of one that does not exist.
pub(super) fn evaluate(
    schema: &Schema,
    change: &Change,
    old: Option<&str>,
    setting: Setting,
) -> Result<Evaluation, Failure> {
    if change.has_expressions() {
        return expressions::evaluate(schema, change, old, setting);
    }
    Ok(Evaluation {
        holds: true,
        write: write(change, old),
        updated: None,
    })
}

/// What a change without expressions writes. An update writes an item that has only the key, if there is none.
fn write(change: &Change, old: Option<&str>) -> Option<Write> {
    match (change.kind, old) {
        (Kind::Put, _) => Some(put(change, change.entry().clone(), change.size)),
        (Kind::Delete, _) => Some(delete(change)),
        (Kind::Update, None) => {
            let size = change.attributes().and_then(|key| size_of_item(key).ok());
            Some(put(change, change.entry().clone(), size.unwrap_or_default()))
        }
        (Kind::Update, Some(_)) | (Kind::Check, _) => None,
    }
}
