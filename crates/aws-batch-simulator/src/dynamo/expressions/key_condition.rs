//! The condition of a query: one partition key, and a range of sort keys.

use serde_json::{Map, Value};

use super::comparison::{parts, tag};
use super::condition::{Comparator, Condition, ConditionPart, Operand, Test};
use super::path::Path;
use crate::dynamo::key::{Schema, empty};
use crate::wire::Refusal;

/// Which items a query reads.
#[derive(Debug)]
pub(crate) struct KeyCondition {
    /// The partition key.
    pub(crate) partition: Value,
    /// What must be true of the sort key.
    sort: Condition,
}

/// What a condition says about one attribute.
struct AttributeCondition<'c> {
    name: &'c str,
    /// The value that it must be equal to, if it must be.
    equal: Option<&'c Value>,
    values: Vec<&'c Value>,
    test: Test,
}

const MEMBER: &str = "KeyConditionExpression";

impl KeyCondition {
    /// The condition as one on the keys of a schema.
    pub(crate) fn of(condition: &Condition, schema: &Schema) -> Result<Self, Refusal> {
        let mut of_keys: Vec<AttributeCondition<'_>> = Vec::new();
        for part in &condition.parts {
            match part {
                ConditionPart::And => {}
                ConditionPart::Test(test) => of_keys.push(of_key(test)?),
                ConditionPart::Or => return Err(invalid_operator("OR")),
                ConditionPart::Not => return Err(invalid_operator("NOT")),
            }
        }
        if of_keys.len() > 2 {
            return Err(Refusal::validation("Conditions can be of length 1 or 2 only"));
        }
        if let [one, other] = of_keys.as_slice()
            && one.name == other.name
        {
            return Err(invalid(
                "KeyConditionExpressions must only contain one condition per key",
            ));
        }
        let partition = of_keys.iter().position(|of_key| of_key.name == schema.partition.0);
        let Some(partition) = partition.map(|place| of_keys.swap_remove(place)) else {
            return Err(missed(&schema.partition.0));
        };
        let sort = of_keys.pop();
        if let Some(of_key) = &sort {
            match &schema.sort {
                Some((name, _)) if name == of_key.name => {}
                Some((name, _)) => return Err(missed(name)),
                None => return Err(not_supported()),
            }
        }
        let equal = partition.equal.ok_or_else(not_supported)?;
        check(&partition, schema)?;
        if let Some(sort) = &sort {
            check(sort, schema)?;
        }
        Ok(Self {
            partition: equal.clone(),
            sort: Condition {
                parts: sort
                    .into_iter()
                    .map(|of_key| ConditionPart::Test(of_key.test))
                    .collect(),
            },
        })
    }

    /// Whether the sort key of an item is in the range.
    pub(crate) fn holds(&self, item: &Map<String, Value>) -> bool {
        self.sort.holds(item)
    }
}

fn of_key(test: &Test) -> Result<AttributeCondition<'_>, Refusal> {
    let (path, comparator, values, test) = match test {
        Test::Compare(Operand::Path(path), comparator, Operand::Value(value)) => (path, *comparator, vec![value], test),
        Test::Compare(Operand::Value(value), comparator, Operand::Path(path)) => {
            (path, comparator.reversed(), vec![value], test)
        }
        Test::Between(Operand::Path(path), Operand::Value(low), Operand::Value(high)) => {
            (path, Comparator::LessOrEqual, vec![low, high], test)
        }
        Test::BeginsWith(Operand::Path(path), Operand::Value(prefix)) => {
            if tag(prefix) == "N" {
                return Err(invalid(
                    "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
                ));
            }
            (path, Comparator::LessOrEqual, vec![prefix], test)
        }
        Test::Compare(..) | Test::Between(..) | Test::BeginsWith(..) => {
            return Err(invalid(
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
            ));
        }
        Test::In(..) => return Err(invalid_operator("IN")),
        Test::Exists(_) => return Err(invalid_operator("attribute_exists")),
        Test::NotExists(_) => return Err(invalid_operator("attribute_not_exists")),
        Test::HasType(..) => return Err(invalid_operator("attribute_type")),
        Test::Contains(..) => return Err(invalid_operator("contains")),
    };
    if comparator == Comparator::NotEqual {
        return Err(invalid_operator("<>"));
    }
    let Path { root: name, steps } = path;
    if !steps.is_empty() {
        return Err(invalid(
            "KeyConditionExpressions cannot have conditions on nested attributes",
        ));
    }
    Ok(AttributeCondition {
        name,
        equal: values.first().copied().filter(|_| comparator == Comparator::Equal),
        values,
        test: test.clone(),
    })
}

/// The values of a condition have the type of the key, and are not empty.
fn check(of_key: &AttributeCondition<'_>, schema: &Schema) -> Result<(), Refusal> {
    let Some((name, kind)) = schema.attributes().find(|(name, _)| name == of_key.name) else {
        return Ok(());
    };
    for value in &of_key.values {
        let (tag, content) = parts(value);
        if tag != kind.tag() {
            return Err(Refusal::validation(
                "One or more parameter values were invalid: Condition parameter type does not match schema type",
            ));
        }
        if content == "" {
            return Err(empty(name, *kind));
        }
    }
    Ok(())
}

fn invalid(problem: &str) -> Refusal {
    Refusal::validation(format!("Invalid {MEMBER}: {problem}"))
}

fn invalid_operator(operator: &str) -> Refusal {
    Refusal::validation(format!("Invalid operator used in {MEMBER}: {operator}"))
}

fn not_supported() -> Refusal {
    Refusal::validation("Query key condition not supported")
}

fn missed(name: &str) -> Refusal {
    Refusal::validation(format!("Query condition missed key schema element: {name}"))
}
