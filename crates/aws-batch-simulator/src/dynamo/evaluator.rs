//! Evaluates changes of the items of one table.

use super::change::{Change, Kind};
use super::evaluation::{Evaluation, Failure, Setting, delete, put};
#[cfg(feature = "expressions")]
use super::expressions::Expressions;
use super::items::Write;
use super::key::Schema;
use super::value::size_of_item;

/// Evaluates changes. Those with expressions need the feature `expressions`.
#[derive(Default)]
pub(super) struct Evaluator {
    #[cfg(feature = "expressions")]
    expressions: Expressions,
}

impl Evaluator {
    /// Evaluates a change of the item with this text, or of one that does not exist.
    pub(super) fn evaluate(
        &mut self,
        schema: &Schema,
        change: &Change,
        old: Option<&str>,
        setting: Setting,
    ) -> Result<Evaluation, Failure> {
        if change.has_expressions() {
            return self.evaluate_expressions(schema, change, old, setting);
        }
        Ok(Evaluation {
            holds: true,
            write: write(change, old),
            updated: None,
        })
    }

    #[cfg(feature = "expressions")]
    fn evaluate_expressions(
        &mut self,
        schema: &Schema,
        change: &Change,
        old: Option<&str>,
        setting: Setting,
    ) -> Result<Evaluation, Failure> {
        self.expressions.evaluate(schema, change, old, setting)
    }

    #[cfg(not(feature = "expressions"))]
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    fn evaluate_expressions(
        &mut self,
        _: &Schema,
        _: &Change,
        _: Option<&str>,
        _: Setting,
    ) -> Result<Evaluation, Failure> {
        Err(Failure::Request(crate::wire::Refusal::validation(
            "The simulator evaluates expressions only with its feature `expressions`, which is off",
        )))
    }
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
