//! Evaluates changes of the items of one table, and the filters and projections of its scans.

use serde_json::Value;

use super::change::{Change, Kind};
use super::evaluation::{Evaluation, Failure, Queried, Setting, delete, put};
#[cfg(feature = "expressions")]
use super::expressions::Expressions;
use super::items::Write;
use super::key::Schema;
use super::value::size_of_item;

/// Evaluates changes, and the filters of scans. Those with expressions need the feature `expressions`.
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

    /// The items of a page that the filter of the request holds for, with the attributes of its projection.
    #[cfg(feature = "expressions")]
    pub(super) fn select(
        &mut self,
        schema: &Schema,
        request: &Value,
        items: Vec<Value>,
    ) -> Result<Vec<Value>, Failure> {
        let expressions = [
            "FilterExpression",
            "ProjectionExpression",
            "ExpressionAttributeNames",
            "ExpressionAttributeValues",
        ];
        if expressions.iter().all(|member| request[*member].is_null()) {
            return Ok(items);
        }
        self.expressions.select(schema, request, &items)
    }

    /// The same without filters, and with projections of attributes at the top of an item.
    #[cfg(not(feature = "expressions"))]
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    pub(super) fn select(&mut self, _: &Schema, request: &Value, items: Vec<Value>) -> Result<Vec<Value>, Failure> {
        if !request["FilterExpression"].is_null() {
            return Err(Failure::Request(without_expressions()));
        }
        Ok(
            match super::projection::attributes(request).map_err(Failure::Request)? {
                Some(attributes) => items
                    .into_iter()
                    .map(|item| super::projection::only(item, &attributes))
                    .collect(),
                None => items,
            },
        )
    }

    /// What a query of these items, which have one partition key, returns.
    #[cfg(feature = "expressions")]
    pub(super) fn query(&mut self, schema: &Schema, request: &Value, items: &[Value]) -> Result<Queried, Failure> {
        self.expressions.query(schema, request, items)
    }

    #[cfg(not(feature = "expressions"))]
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    pub(super) fn query(&mut self, _: &Schema, _: &Value, _: &[Value]) -> Result<Queried, Failure> {
        Err(Failure::Request(without_expressions()))
    }

    /// The attributes that a request for an item asks for.
    #[cfg(feature = "expressions")]
    pub(super) fn project(
        &mut self,
        schema: &Schema,
        request: &Value,
        key: &Value,
        item: Option<&Value>,
    ) -> Result<Option<Value>, Failure> {
        self.expressions.project(schema, request, key, item)
    }

    /// The same with projections of attributes at the top of an item.
    #[cfg(not(feature = "expressions"))]
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    pub(super) fn project(
        &mut self,
        _: &Schema,
        request: &Value,
        _: &Value,
        item: Option<&Value>,
    ) -> Result<Option<Value>, Failure> {
        let attributes = super::projection::attributes(request).map_err(Failure::Request)?;
        Ok(match (item, attributes) {
            (Some(item), Some(attributes)) => Some(super::projection::only(item.clone(), &attributes)),
            (item, _) => item.cloned(),
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
        Err(Failure::Request(without_expressions()))
    }
}

#[cfg(not(feature = "expressions"))]
fn without_expressions() -> crate::wire::Refusal {
    crate::wire::Refusal::validation(
        "The simulator evaluates expressions only with its feature `expressions`, which is off",
    )
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
