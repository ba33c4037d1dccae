//! What a read returns of the items that it finds.

use serde_json::{Map, Value};

use super::condition::Condition;
use super::key_condition::KeyCondition;
use super::legacy::{check_mixed, conditions};
use super::parser::Parser;
use super::placeholders::Placeholders;
use super::projection::Projection;
use crate::dynamo::key::Schema;
use crate::dynamo::wording::Wording;
use crate::wire::Refusal;

/// The filter and the projection of a read.
#[derive(Debug)]
pub(crate) struct Selection {
    filter: Option<Condition>,
    projection: Option<Projection>,
}

impl Selection {
    /// Of a read of items by their keys, which has no filter.
    pub(crate) fn of_items(request: &Value) -> Result<Self, Refusal> {
        check_mixed(request, &["AttributesToGet"], &["ProjectionExpression"], Wording::Plain)?;
        let mut placeholders = Placeholders::of(request, &["ProjectionExpression"], Wording::Plain)?;
        let projection = Projection::of(request, &mut placeholders)?;
        placeholders.check_all_used()?;
        Ok(Self {
            filter: None,
            projection,
        })
    }

    pub(crate) fn of_scan(request: &Value) -> Result<Self, Refusal> {
        let expressions = ["ProjectionExpression", "FilterExpression"];
        let legacy = ["AttributesToGet", "ScanFilter", "ConditionalOperator"];
        check_mixed(request, &legacy, &expressions, Wording::Plain)?;
        let mut placeholders = Placeholders::of(request, &expressions, Wording::Plain)?;
        let filter = filter(request, "ScanFilter", &mut placeholders)?;
        let projection = Projection::of(request, &mut placeholders)?;
        placeholders.check_all_used()?;
        Ok(Self { filter, projection })
    }

    /// Of a query, with its condition on keys, which must [fit](Self::fit) a schema.
    pub(crate) fn of_query(request: &Value) -> Result<(Self, Condition), Refusal> {
        let expressions = ["ProjectionExpression", "FilterExpression", "KeyConditionExpression"];
        let legacy = ["AttributesToGet", "QueryFilter", "ConditionalOperator"];
        check_mixed(request, &legacy, &expressions, Wording::Plain)?;
        check_mixed(request, &["KeyConditions"], &expressions[2..], Wording::Plain)?;
        let mut placeholders = Placeholders::of(request, &expressions, Wording::Plain)?;
        let filter = filter(request, "QueryFilter", &mut placeholders)?;
        let projection = Projection::of(request, &mut placeholders)?;
        let condition = match Parser::of(request, "KeyConditionExpression", &mut placeholders)? {
            Some(parser) => Some(parser.condition()?),
            None => conditions(&request["KeyConditions"], &Value::Null, Wording::Plain)?,
        };
        let condition = condition.ok_or_else(|| {
            Refusal::validation(
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
            )
        })?;
        placeholders.check_all_used()?;
        Ok((Self { filter, projection }, condition))
    }

    /// The condition as one on the keys of a schema, which the filter must not have.
    pub(crate) fn fit(&self, condition: &Condition, schema: &Schema, request: &Value) -> Result<KeyCondition, Refusal> {
        let condition = KeyCondition::of(condition, schema)?;
        let mut keys = schema.attributes().map(|(name, _)| name);
        let filters = |name: &&String| {
            self.filter
                .as_ref()
                .is_some_and(|filter| filter.roots().any(|root| root == *name))
        };
        if let Some(name) = keys.find(filters) {
            let member = if request["QueryFilter"].is_null() {
                "Filter Expression"
            } else {
                "QueryFilter"
            };
            return Err(Refusal::validation(format!(
                "{member} can only contain non-primary key attributes: Primary key attribute: {name}"
            )));
        }
        Ok(condition)
    }

    /// The selected values of an item; `None` if the filter does not hold for it.
    pub(crate) fn select(&self, item: Value) -> Option<Value> {
        let Value::Object(item) = item else { return None };
        self.accepts(&item).then(|| self.project(item))
    }

    fn accepts(&self, item: &Map<String, Value>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.holds(item))
    }

    fn project(&self, item: Map<String, Value>) -> Value {
        Value::Object(match &self.projection {
            Some(projection) => projection.apply(&item),
            None => item,
        })
    }
}

fn filter<'a>(
    request: &'a Value,
    legacy: &str,
    placeholders: &mut Placeholders<'a>,
) -> Result<Option<Condition>, Refusal> {
    match Parser::of(request, "FilterExpression", placeholders)? {
        Some(parser) => Ok(Some(parser.condition()?)),
        None => conditions(&request[legacy], &request["ConditionalOperator"], Wording::Plain),
    }
}
