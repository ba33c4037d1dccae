//! A change of one item: a call of its own, or an action of a transaction.

use serde_json::{Map, Value};

use super::table::Table;
use super::value::{LARGEST_ITEM, attributes, check_item, unexpected};
use super::wording::{Wording, invalid_member};
use crate::journal::Action;
use crate::wire::Refusal;

/// The members by which a request asks for more than a put or a delete whatever the item is: the expressions, and what there was
/// before them.
const EXPRESSIONS: [&str; 7] = [
    "ConditionExpression",
    "UpdateExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "Expected",
    "AttributeUpdates",
    "ConditionalOperator",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Put,
    Update,
    Delete,
    /// Only in transactions.
    Check,
}

impl ChangeKind {
    pub(super) fn action(self) -> Action {
        match self {
            Self::Put => Action::Put,
            Self::Update => Action::Update,
            Self::Delete => Action::Delete,
            Self::Check => Action::Check,
        }
    }

    /// The member of the request that names the item.
    fn entry_member(self) -> &'static str {
        if self == Self::Put { "Item" } else { "Key" }
    }
}

/// A change of one item, checked as far as that is possible without the item.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: ChangeKind,
    /// The primary key as text. Empty until it is [found](Self::find_key).
    pub(super) key: String,
    /// The bytes of the item of a put, otherwise 0.
    pub(super) size: usize,
    pub(super) request: Value,
}

impl Change {
    /// Checks the item or the key of the request, but not whether it fits the table.
    pub(super) fn parse(kind: ChangeKind, request: Value, wording: Wording) -> Result<Self, Refusal> {
        let entry = attributes(request.get(kind.entry_member()), kind.entry_member())?;
        let size = check_item(entry, wording)?;
        if kind == ChangeKind::Put && size > LARGEST_ITEM {
            return Err(Refusal::validation("Item size has exceeded the maximum allowed size"));
        }
        Ok(Self {
            kind,
            key: String::new(),
            size: if kind == ChangeKind::Put { size } else { 0 },
            request,
        })
    }

    /// Finds the primary key, and checks that the item or the key fits the table.
    pub(super) fn find_key(&mut self, table: &Table) -> Result<(), Refusal> {
        let Some(entry) = self.entry().as_object() else {
            return Ok(());
        };
        self.key = if self.kind == ChangeKind::Put {
            let key = table.schema().key_of_item(entry)?;
            table.check_indexes(entry)?;
            key
        } else {
            table.schema().key_alone(entry)?
        };
        Ok(())
    }

    /// The item of a put, otherwise the key.
    pub(super) fn entry(&self) -> &Value {
        &self.request[self.kind.entry_member()]
    }

    /// What the journal keeps: the request of an update, because its key alone does not say what it changes.
    pub(super) fn recorded(&self) -> &Value {
        if self.kind == ChangeKind::Update {
            &self.request
        } else {
            self.entry()
        }
    }

    /// Whether it depends on the item, or has members that must be refused.
    pub(super) fn has_expressions(&self) -> bool {
        EXPRESSIONS.iter().any(|member| !self.request[*member].is_null())
    }

    /// Whether the caller asks for the item if the condition is false.
    pub(super) fn returns_item_of_failure(&self) -> bool {
        self.request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
    }

    /// The attributes of the request that names the item.
    pub(super) fn attributes(&self) -> Option<&Map<String, Value>> {
        self.entry().as_object()
    }
}

/// What `ReturnConsumedCapacity` may be.
pub(super) const CAPACITY: [&str; 3] = ["INDEXES", "TOTAL", "NONE"];

/// The value of a member that has one of these values, or none.
pub(super) fn one_of<'a>(request: &'a Value, member: &str, allowed: &[&str]) -> Result<Option<&'a str>, Refusal> {
    match problem_of_enum(request, member, allowed)? {
        Some(problem) => Err(invalid_member(problem)),
        None => Ok(request[member].as_str()),
    }
}

/// What is wrong with a member that has one of these values, or none.
pub(super) fn problem_of_enum(request: &Value, member: &str, allowed: &[&str]) -> Result<Option<String>, Refusal> {
    problem_below("", request, member, allowed)
}

/// The same for a member of a part of the request. Errors name it after the path of the part, and begin its name in lower case.
pub(super) fn problem_below(
    path: &str,
    part: &Value,
    member: &str,
    allowed: &[&str],
) -> Result<Option<String>, Refusal> {
    match &part[member] {
        Value::Null => Ok(None),
        Value::String(value) if allowed.contains(&value.as_str()) => Ok(None),
        Value::String(value) => Ok(Some(format!(
            "Value '{value}' at '{path}{}{}' failed to satisfy constraint: Member must satisfy enum value set: [{}]",
            member[..1].to_lowercase(),
            &member[1..],
            allowed.join(", ")
        ))),
        _ => Err(unexpected()),
    }
}
