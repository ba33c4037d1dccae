//! A put, an update or a deletion of one item, and its condition.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, DeleteRequest, Put, PutRequest, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    Update, WriteRequest,
};

use super::assignments::Assignments;
use super::attempts::Attempts;
use super::equality::same_attributes;
use super::expression::placeholders;
use super::{Attributes, key};
use crate::debug::debug_fields;

/// A put, an update or a deletion of one item, for [`DynamoWrites`](super::DynamoWrites).
///
/// ```
/// # use std::collections::HashMap;
/// # use aws_batch_delivery::targets::dynamo::ItemWrite;
/// # use aws_sdk_dynamodb::types::AttributeValue;
/// # let (item, key) = (HashMap::new(), HashMap::new());
/// let if_absent = ItemWrite::put(item).condition("attribute_not_exists(id)");
/// let shipped = ItemWrite::update(key, "SET #s = :s")
///     .name("#s", "status")
///     .value(":s", AttributeValue::S("shipped".to_owned()));
/// ```
///
/// # What it remembers
/// An attempt whose answer is lost may have been applied or not. The entry remembers that, and what recognizes the attempt, so that
/// it is not applied twice, and never reported as failed because of itself. If it is handed back
/// [in doubt](crate::Undelivered::may_have_been_delivered), deliver the same entry again, rather than one that is built again.
///
/// A clone shares this: as long as the write is in doubt, delivering a clone repeats it. Once the service has decided on the write,
/// delivering the entry or a clone again is a new write; so three clones in one delivery are three writes, one after another. Two
/// deliveries at the same time must not have clones of one entry.
#[derive(Clone)]
#[must_use]
pub struct ItemWrite {
    /// The put; or the deletion, which is also the key of an update.
    pub(super) request: WriteRequest,
    pub(super) update: Option<String>,
    pub(super) condition: Option<String>,
    pub(super) names: HashMap<String, String>,
    pub(super) values: Attributes,
    /// The table's name, if the entry was made of a type of the SDK, which has it.
    pub(super) table: Option<String>,
    pub(super) returns_old_item: bool,
    repetition: Repetition,
    pub(super) attempts: Arc<Attempts>,
}

/// Why the write may be repeated after a lost answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetition {
    /// What the write does decides.
    Recognized,
    /// The caller says that it may.
    Idempotent,
    /// A token.
    Token,
}

/// The call that a write is sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Put,
    Update,
    Delete,
    /// A transaction of one action, because a token recognizes its repetition.
    Transaction,
}

impl ItemWrite {
    /// Puts the item. It replaces the existing one.
    pub fn put(item: Attributes) -> Self {
        let put = PutRequest::builder().set_item(Some(item)).build().ok();
        Self::of(WriteRequest::builder().set_put_request(put).build())
    }

    /// Updates the item with this key, or creates it: `SET`, `REMOVE`, `ADD`, `DELETE`, in DynamoDB's language of expressions.
    ///
    /// An update that only sets top-level attributes to values or removes them, such as `SET a = :v, #b = :w REMOVE c`, has the same
    /// result when it is applied twice, and is sent by `UpdateItem`. Every other one, such as a counter's `ADD n :one`, is sent by
    /// `TransactWriteItems` with a token that recognizes a repetition, at twice the write units, unless it is
    /// [`idempotent`](Self::idempotent). A global table with multi-Region strong consistency takes no transactions.
    pub fn update(key: Attributes, expression: impl Into<String>) -> Self {
        let mut write = Self::delete(key);
        write.update = Some(expression.into());
        write
    }

    /// Deletes the item with this key, if there is one.
    pub fn delete(key: Attributes) -> Self {
        let delete = DeleteRequest::builder().set_key(Some(key)).build().ok();
        Self::of(WriteRequest::builder().set_delete_request(delete).build())
    }

    fn of(request: WriteRequest) -> Self {
        Self {
            request,
            update: None,
            condition: None,
            names: HashMap::new(),
            values: HashMap::new(),
            table: None,
            returns_old_item: false,
            repetition: Repetition::Recognized,
            attempts: Arc::default(),
        }
    }

    /// Writes only if the condition holds, such as `attribute_not_exists(id)`. Otherwise nothing is written, and the outcome is
    /// [`ConditionFailed`](crate::Disposition::ConditionFailed). Default: no condition.
    pub fn condition(mut self, expression: impl Into<String>) -> Self {
        self.condition = Some(expression.into());
        self
    }

    /// The name of an attribute for a placeholder, such as `#s` for `status`, in the update and in the condition.
    pub fn name(mut self, placeholder: impl Into<String>, name: impl Into<String>) -> Self {
        self.names.insert(placeholder.into(), name.into());
        self
    }

    /// The value for a placeholder, such as `:s`, in the update and in the condition.
    pub fn value(mut self, placeholder: impl Into<String>, value: AttributeValue) -> Self {
        self.values.insert(placeholder.into(), value);
        self
    }

    /// What the placeholders of the update and the condition stand for that have no name and no value yet: `#f` for the attribute
    /// `f`, and `:f` for the field `f`, if there is one.
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// # use aws_batch_delivery::targets::dynamo::ItemWrite;
    /// # use aws_sdk_dynamodb::types::AttributeValue;
    /// # let (key, fields) = (HashMap::new(), HashMap::from([("status".to_owned(), AttributeValue::Bool(true))]));
    /// let update = ItemWrite::update(key, "SET #status = :status").fields(&fields);
    /// ```
    pub fn fields(mut self, fields: &Attributes) -> Self {
        for expression in [&self.update, &self.condition].into_iter().flatten() {
            for placeholder in placeholders(expression) {
                let (kind, field) = placeholder.split_at(1);
                if kind == "#" {
                    let name = self.names.entry(placeholder.to_owned());
                    name.or_insert_with(|| field.to_owned());
                } else if let Some(value) = fields.get(field) {
                    let given = self.values.entry(placeholder.to_owned());
                    given.or_insert_with(|| value.clone());
                }
            }
        }
        self
    }

    /// Asks for the existing item when the condition does not hold: [`take_old_item`](Self::take_old_item).
    pub fn return_old_item(mut self) -> Self {
        self.returns_old_item = true;
        self
    }

    /// The write may be applied twice: the caller vouches for it. It is sent without a token, for the usual write units.
    pub fn idempotent(mut self) -> Self {
        self.repetition = Repetition::Idempotent;
        self
    }

    /// Sends the write by `TransactWriteItems` with a token, so that even after a lost answer it is known whether its
    /// condition failed. It consumes twice the write units. A global table with multi-Region strong consistency takes no transactions.
    pub fn with_token(mut self) -> Self {
        self.repetition = Repetition::Token;
        self
    }

    /// The item of a put, or the key of an update or a deletion.
    pub fn attributes(&self) -> Option<&Attributes> {
        key::attributes(&self.request)
    }

    /// Takes the existing item, if the condition did not hold in the last attempt and the entry
    /// [asks for it](Self::return_old_item). An entry whose condition failed after a lost answer, and which is handed back for that
    /// reason, always has it.
    pub fn take_old_item(&self) -> Option<Attributes> {
        self.attempts.take_failed().into_iter().find_map(|failed| failed.item)
    }

    /// Whether it replaces whatever is there.
    pub(super) fn is_whole(&self) -> bool {
        self.update.is_none() && self.condition.is_none()
    }

    /// What an update assigns, if it is recognized.
    fn assignments(&self) -> Option<Assignments<'_>> {
        Assignments::of(self.update.as_ref()?, &self.names, &self.values)
    }

    /// The call that it is sent with.
    pub(super) fn operation(&self) -> Operation {
        match (&self.update, self.repetition) {
            (_, Repetition::Token) => Operation::Transaction,
            (Some(_), Repetition::Recognized) if self.assignments().is_none() => Operation::Transaction,
            (Some(_), _) => Operation::Update,
            (None, _) if self.request.put_request().is_some() => Operation::Put,
            (None, _) => Operation::Delete,
        }
    }

    /// Whether the item is as it would be if the write had been applied. After a deletion, there is none to compare with.
    pub(super) fn stands_in(&self, item: &Attributes) -> bool {
        match (&self.update, self.request.put_request()) {
            (Some(_), _) => self.assignments().is_some_and(|assignments| assignments.stand_in(item)),
            (None, Some(put)) => same_attributes(put.item(), item),
            (None, None) => false,
        }
    }

    /// The action of a transaction; `None` only if the SDK's builder refuses it, which it does not after the check of the entry.
    pub(super) fn action(&self, table: &str) -> Option<TransactWriteItem> {
        /// Builds an action that has been given the item or the key, and the update: the rest is the same for all three.
        macro_rules! built {
            ($action:expr) => {
                $action
                    .table_name(table)
                    .set_condition_expression(self.condition.clone())
                    .set_expression_attribute_names(self.names())
                    .set_expression_attribute_values(self.values())
                    .set_return_values_on_condition_check_failure(old_item(self.returns_old_item))
                    .build()
                    .ok()?
            };
        }
        let (action, key) = (TransactWriteItem::builder(), self.attributes().cloned());
        let action = match (self.request.put_request(), &self.update) {
            (Some(_), _) => action.put(built!(Put::builder().set_item(key))),
            (None, Some(update)) => action.update(built!(Update::builder().set_key(key).update_expression(update))),
            (None, None) => action.delete(built!(Delete::builder().set_key(key))),
        };
        Some(action.build())
    }

    /// The names of placeholders; the service refuses an empty map.
    pub(super) fn names(&self) -> Option<HashMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    /// The values of placeholders; the service refuses an empty map.
    pub(super) fn values(&self) -> Option<Attributes> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// Whether the answer to a failed condition has the existing item.
pub(super) fn old_item(is_wanted: bool) -> Option<ReturnValuesOnConditionCheckFailure> {
    is_wanted.then_some(ReturnValuesOnConditionCheckFailure::AllOld)
}

/// A type of the SDK has the same fields, whatever it does with its item.
macro_rules! from_sdk {
    ($($type:ident, $new:expr;)*) => {$(
        impl From<$type> for ItemWrite {
            fn from(sdk: $type) -> Self {
                let new: fn(&mut $type) -> Self = $new;
                let mut sdk = sdk;
                let mut write = new(&mut sdk);
                write.table = Some(sdk.table_name);
                write.condition = sdk.condition_expression;
                write.names = sdk.expression_attribute_names.unwrap_or_default();
                write.values = sdk.expression_attribute_values.unwrap_or_default();
                let old_item = sdk.return_values_on_condition_check_failure;
                write.returns_old_item = old_item == Some(ReturnValuesOnConditionCheckFailure::AllOld);
                write
            }
        }
    )*};
}

from_sdk! {
    Put, |put| Self::put(std::mem::take(&mut put.item));
    Update, |update| Self::update(std::mem::take(&mut update.key), std::mem::take(&mut update.update_expression));
    Delete, |delete| Self::delete(std::mem::take(&mut delete.key));
}

// Without the item, the key and the values, which are content.
debug_fields!(write: ItemWrite, operation = write.operation(), is_conditional = write.condition.is_some());

#[cfg(test)]
mod tests {
    use super::super::testing::{attributes, text};
    use super::*;

    fn key() -> Attributes {
        attributes([("id", text("1"))])
    }

    #[test]
    fn what_a_write_does_decides_how_it_is_sent() {
        let one = || AttributeValue::N("1".to_owned());
        let counter = || ItemWrite::update(key(), "ADD n :one").value(":one", one());
        let assignment = || ItemWrite::update(key(), "SET n = :one").value(":one", one());
        for (write, operation) in [
            (ItemWrite::put(key()), Operation::Put),
            (
                ItemWrite::put(key()).condition("attribute_not_exists(id)"),
                Operation::Put,
            ),
            (ItemWrite::put(key()).with_token(), Operation::Transaction),
            (ItemWrite::delete(key()), Operation::Delete),
            (ItemWrite::delete(key()).with_token(), Operation::Transaction),
            (assignment(), Operation::Update),
            (assignment().with_token(), Operation::Transaction),
            (counter(), Operation::Transaction),
            (counter().idempotent(), Operation::Update),
        ] {
            assert_eq!(write.operation(), operation, "{write:?}");
        }
    }

    #[test]
    fn types_of_the_sdk_are_writes_with_a_table() {
        let update = Update::builder()
            .table_name("orders")
            .key("id", text("1"))
            .update_expression("SET #s = :s")
            .condition_expression("attribute_exists(id)")
            .expression_attribute_names("#s", "status")
            .expression_attribute_values(":s", text("shipped"))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .unwrap();
        let write = ItemWrite::from(update.clone());
        assert_eq!(write.table.as_deref(), Some("orders"));
        assert_eq!(write.operation(), Operation::Update);
        assert_eq!(write.action("orders").unwrap().update, Some(update));

        let put = Put::builder()
            .table_name("orders")
            .item("id", text("1"))
            .build()
            .unwrap();
        let action = ItemWrite::from(put.clone()).action("orders").unwrap();
        assert_eq!(action.put, Some(put));
        let delete = Delete::builder()
            .table_name("orders")
            .key("id", text("1"))
            .build()
            .unwrap();
        let action = ItemWrite::from(delete.clone()).action("orders").unwrap();
        assert_eq!(action.delete, Some(delete));
    }

    #[test]
    fn placeholders_stand_for_attributes_and_fields_of_their_names_unless_they_are_given() {
        let fields = attributes([("version", text("2")), ("other", text("3")), ("#x", text("4"))]);
        let write = ItemWrite::update(key(), "SET #status=:version, #a_1 = :other, #x = :missing")
            .condition("#v < :version")
            .name("#v", "version")
            .value(":other", text("given"))
            .fields(&fields);
        let names = [("#status", "status"), ("#a_1", "a_1"), ("#x", "x"), ("#v", "version")];
        let names = names.map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned()));
        assert_eq!(write.names, names.into());
        assert_eq!(
            write.values,
            attributes([(":version", text("2")), (":other", text("given"))])
        );
    }

    #[test]
    fn debug_has_no_content() {
        let write = ItemWrite::update(attributes([("id", text("secret"))]), "SET a = :a").value(":a", text("secret"));
        assert!(!format!("{write:?}").contains("secret"));
    }
}
