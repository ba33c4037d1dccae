//! Several writes that are applied together or not at all.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::Attributes;
use super::attempts::{Attempts, FailedCondition};
use super::check::{self, expressions};
use super::size::{item_size, write_units};
use super::table::MAX_ITEM_BYTES;
use crate::debug::debug_fields;
use crate::invalid::InvalidEntry;
use crate::services::checks::{check_count, check_size};

/// Actions of a transaction. From the API reference of `TransactWriteItems`.
pub const MAX_ACTIONS: usize = 100;

/// Bytes of the items of a transaction: 4 MB. From the API reference of `TransactWriteItems`.
pub const MAX_TRANSACTION_BYTES: usize = 4 * 1024 * 1024;

/// How many times the write units of its writes a transaction consumes. From the developer guide of DynamoDB.
pub(super) const TRANSACTION: usize = 2;

/// Up to 100 actions on items of any tables, which are applied together or not at all, for
/// [`DynamoTransactions`](super::DynamoTransactions).
///
/// The actions are those of the SDK. No two of them may be on the same item.
///
/// It remembers its attempts as [`ItemWrite`](super::ItemWrite#what-it-remembers) does, together with its clones. If it is handed back in
/// doubt, deliver the same transaction again, rather than one that is built again.
#[derive(Clone)]
pub struct Transaction {
    actions: Arc<[TransactWriteItem]>,
    pub(super) attempts: Arc<Attempts>,
}

impl Transaction {
    /// A transaction of these actions: puts, updates, deletions and checks of conditions.
    pub fn new(actions: impl IntoIterator<Item = TransactWriteItem>) -> Self {
        Self {
            actions: actions.into_iter().collect(),
            attempts: Arc::default(),
        }
    }

    /// The actions.
    pub fn actions(&self) -> &[TransactWriteItem] {
        &self.actions
    }

    /// Takes the actions whose conditions did not hold in the last attempt. Each has the existing item, if the
    /// action asks for it by its `return_values_on_condition_check_failure`.
    pub fn take_failed_conditions(&self) -> Vec<FailedCondition> {
        self.attempts.take_failed()
    }

    /// Checks all of the actions, and returns the bytes of their items, keys and expressions.
    pub(super) fn check(&self) -> Result<usize, InvalidEntry> {
        if self.actions.is_empty() {
            return Err(InvalidEntry::Missing {
                part: "list of actions",
            });
        }
        check_count("actions", MAX_ACTIONS, self.actions.len())?;
        let of_action = |(place, action)| {
            let checked = check_action(action);
            checked.map_err(|invalid: InvalidEntry| invalid.of_member(place).of_attribute("actions"))
        };
        let bytes = self.actions.iter().enumerate().map(of_action);
        check_size("transaction", MAX_TRANSACTION_BYTES, bytes.sum::<Result<_, _>>()?)
    }

    /// Write units that it consumes. For updates and deletions they depend on the items in the tables.
    pub(super) fn units(&self) -> usize {
        let of_action = |action: &TransactWriteItem| match (action.put(), action.update()) {
            (Some(put), _) => write_units(item_size(put.item())),
            (None, Some(update)) => {
                let values = update.expression_attribute_values().map_or(0, item_size);
                write_units(item_size(update.key()) + values)
            }
            (None, None) => 1,
        };
        TRANSACTION * self.actions.iter().map(of_action).sum::<usize>()
    }
}

/// Checks one action, and returns its bytes.
fn check_action(action: &TransactWriteItem) -> Result<usize, InvalidEntry> {
    /// The placeholders of an action: the types have the same methods.
    macro_rules! placeholders {
        ($action:expr) => {
            (
                $action.expression_attribute_names(),
                $action.expression_attribute_values(),
            )
        };
    }
    match (action.put(), action.update(), action.delete(), action.condition_check()) {
        (Some(put), None, None, None) => {
            check::item(put.item(), MAX_ITEM_BYTES)?;
            Ok(item_size(put.item()) + of_condition(put.condition_expression(), placeholders!(put))?)
        }
        (None, Some(update), None, None) => {
            check::key(update.key())?;
            let (names, values) = placeholders!(update);
            not_empty(names, values)?;
            let (expression, condition) = (Some(update.update_expression()), update.condition_expression());
            Ok(item_size(update.key()) + expressions(expression, condition, names, values)?)
        }
        (None, None, Some(delete), None) => {
            check::key(delete.key())?;
            Ok(item_size(delete.key()) + of_condition(delete.condition_expression(), placeholders!(delete))?)
        }
        (None, None, None, Some(check)) => {
            check::key(check.key())?;
            Ok(item_size(check.key()) + of_condition(Some(check.condition_expression()), placeholders!(check))?)
        }
        _ => {
            let rule = "one put, update, deletion or check of a condition";
            Err(InvalidEntry::malformed("action", rule))
        }
    }
}

/// Checks the condition of a put or a deletion, and returns its bytes. Without one, a transaction may have placeholders nevertheless,
/// which other calls may not.
fn of_condition(
    condition: Option<&str>,
    (names, values): (Option<&HashMap<String, String>>, Option<&Attributes>),
) -> Result<usize, InvalidEntry> {
    not_empty(names, values)?;
    condition.map_or(Ok(0), |condition| expressions(None, Some(condition), names, values))
}

/// DynamoDB refuses maps of placeholders that are there and have none: "`ExpressionAttributeValues` must not be empty".
fn not_empty(names: Option<&HashMap<String, String>>, values: Option<&Attributes>) -> Result<(), InvalidEntry> {
    let parts = [
        ("map of attribute names", names.is_some_and(HashMap::is_empty)),
        ("map of attribute values", values.is_some_and(HashMap::is_empty)),
    ];
    match parts.into_iter().find(|(_, is_empty)| *is_empty) {
        Some((part, _)) => Err(InvalidEntry::Missing { part }),
        None => Ok(()),
    }
}

// Without the items and keys, which are content.
debug_fields!(transaction: Transaction, actions = transaction.actions.len());

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, Update};

    use super::super::testing::text;
    use super::*;

    fn put(bytes: usize) -> TransactWriteItem {
        let put = Put::builder()
            .table_name("orders")
            .item("id", text(&"x".repeat(bytes - 2)));
        TransactWriteItem::builder().put(put.build().unwrap()).build()
    }

    fn of_each_kind() -> [TransactWriteItem; 4] {
        let key = || ("id", text("1"));
        let action = TransactWriteItem::builder;
        let update = Update::builder()
            .table_name("stock")
            .key(key().0, key().1)
            .update_expression("ADD n :n")
            .expression_attribute_values(":n", text("1"));
        let delete = Delete::builder().table_name("carts").key(key().0, key().1);
        let check = ConditionCheck::builder().table_name("customers").key(key().0, key().1);
        let check = check.condition_expression("attribute_exists(id)");
        [
            put(100),
            action().update(update.build().unwrap()).build(),
            action().delete(delete.build().unwrap()).build(),
            action().condition_check(check.build().unwrap()).build(),
        ]
    }

    fn refusal(actions: impl IntoIterator<Item = TransactWriteItem>) -> String {
        Transaction::new(actions).check().unwrap_err().to_string()
    }

    #[test]
    fn up_to_a_hundred_actions_of_every_kind_pass() {
        assert!(Transaction::new(of_each_kind()).check().is_ok());
        assert_eq!(Transaction::new(of_each_kind()).units(), 8);
        assert!(Transaction::new((0..100).map(|_| put(100))).check().is_ok());
        assert_eq!(
            refusal((0..101).map(|_| put(100))),
            "there are 101 actions, the limit is 100"
        );
        assert_eq!(refusal([]), "the list of actions is missing or empty");
    }

    #[test]
    fn placeholders_without_an_expression_pass() {
        let put = Put::builder().table_name("orders").item("id", text("1"));
        let put = put.expression_attribute_names("#a", "a");
        let action = |put: Put| Transaction::new([TransactWriteItem::builder().put(put).build()]).check();
        assert!(action(put.clone().build().unwrap()).is_ok());
        let unused = put.condition_expression("attribute_exists(id)").build().unwrap();
        assert!(action(unused).is_err());
    }

    #[test]
    fn an_error_names_the_action() {
        let [_, update, delete, check] = of_each_kind();
        let both = TransactWriteItem::builder()
            .set_update(update.update)
            .set_delete(delete.delete)
            .build();
        assert_eq!(
            refusal([put(100), both]),
            "`actions[1]`: the action must be one put, update, deletion or check of a condition"
        );
        let large = refusal([check.clone(), put(409_601)]);
        assert_eq!(large, "`actions[1]`: the item has 409601 bytes, the limit is 409600");
        let mut keyless = check.condition_check.unwrap();
        keyless.key.clear();
        let keyless = TransactWriteItem::builder().condition_check(keyless).build();
        assert_eq!(refusal([keyless]), "`actions[0]`: the key is missing or empty");
    }

    #[test]
    fn all_items_together_have_a_limit() {
        let of_size = |last: usize| (0..10).map(|_| put(409_600)).chain([put(last)]);
        let rest = MAX_TRANSACTION_BYTES - 10 * 409_600;
        assert_eq!(Transaction::new(of_size(rest)).check(), Ok(MAX_TRANSACTION_BYTES));
        assert_eq!(
            refusal(of_size(rest + 1)),
            "the transaction has 4194305 bytes, the limit is 4194304"
        );
    }

    #[test]
    fn a_map_of_placeholders_is_absent_or_has_some() {
        let action = TransactWriteItem::builder;
        let put = Put::builder().table_name("orders").item("id", text("1"));
        let update = Update::builder()
            .table_name("stock")
            .key("id", text("1"))
            .update_expression("REMOVE n");
        let delete = Delete::builder().table_name("carts").key("id", text("1"));
        let check = ConditionCheck::builder()
            .table_name("customers")
            .key("id", text("1"))
            .condition_expression("attribute_exists(id)");
        let (names, values) = (Some(HashMap::new()), Some(HashMap::new()));
        let (no_names, no_values) = (
            |error: &str| error.contains("names"),
            |error: &str| error.contains("values"),
        );
        for (with_names, with_values) in [
            (
                action().put(
                    put.clone()
                        .set_expression_attribute_names(names.clone())
                        .build()
                        .unwrap(),
                ),
                action().put(put.set_expression_attribute_values(values.clone()).build().unwrap()),
            ),
            (
                action().update(
                    update
                        .clone()
                        .set_expression_attribute_names(names.clone())
                        .build()
                        .unwrap(),
                ),
                action().update(update.set_expression_attribute_values(values.clone()).build().unwrap()),
            ),
            (
                action().delete(
                    delete
                        .clone()
                        .set_expression_attribute_names(names.clone())
                        .build()
                        .unwrap(),
                ),
                action().delete(delete.set_expression_attribute_values(values.clone()).build().unwrap()),
            ),
            (
                action().condition_check(
                    check
                        .clone()
                        .set_expression_attribute_names(names.clone())
                        .build()
                        .unwrap(),
                ),
                action().condition_check(check.set_expression_attribute_values(values.clone()).build().unwrap()),
            ),
        ] {
            let refused = |action: TransactWriteItem| Transaction::new([action]).check().unwrap_err().to_string();
            let error = refused(with_names.build());
            assert!(no_names(&error), "{error}");
            let error = refused(with_values.build());
            assert!(no_values(&error), "{error}");
        }
    }

    #[test]
    fn units_are_those_of_all_items_twice() {
        let transaction = Transaction::new([put(1_024), put(1_025)]);
        assert_eq!(transaction.units(), 2 * (1 + 2));
        assert_eq!(format!("{transaction:?}"), "Transaction { actions: 2, .. }");
    }
}
