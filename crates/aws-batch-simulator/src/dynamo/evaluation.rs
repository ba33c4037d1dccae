//! What a change does to the item that there is.

use serde_json::Value;

use super::change::{Change, Kind};
#[cfg(feature = "expressions")]
use super::expressions::Expressions;
use super::items::Write;
use super::key::Schema;
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

/// Stands for the evaluation of expressions where it is not compiled.
#[cfg(not(feature = "expressions"))]
#[derive(Default)]
pub(super) struct Expressions;

#[cfg(not(feature = "expressions"))]
impl Expressions {
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    pub(super) fn evaluate(
        &mut self,
        _: &Schema,
        _: &Change,
        _: Option<&str>,
        _: Setting,
    ) -> Result<Evaluation, Failure> {
        Err(Failure::Request(Refusal::validation(
            "The simulator evaluates expressions only with its feature `expressions`, which is off",
        )))
    }
}

/// Evaluates a change of the item with this text, or of one that does not exist.
pub(super) fn evaluate(
    expressions: &mut Expressions,
    schema: &Schema,
    change: &Change,
    old: Option<&str>,
    setting: Setting,
) -> Result<Evaluation, Failure> {
    if change.has_expressions() {
        return expressions.evaluate(schema, change, old, setting);
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
            let size = change.attributes().and_then(|key| super::value::size_of_item(key).ok());
            Some(put(change, change.entry().clone(), size.unwrap_or_default()))
        }
        (Kind::Update, Some(_)) | (Kind::Check, _) => None,
    }
}

pub(super) fn put(change: &Change, item: Value, size: usize) -> Write {
    Write {
        key: change.key.clone(),
        is_put: true,
        entry: item,
        size,
    }
}

pub(super) fn delete(change: &Change) -> Write {
    Write {
        key: change.key.clone(),
        is_put: false,
        entry: change.entry().clone(),
        size: 0,
    }
}
