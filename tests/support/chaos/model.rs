//! Writes of single items with conditions and updates, and a table that applies one after another.

use std::collections::{BTreeMap, HashMap};

use aws_batch_delivery::targets::dynamo::ItemWrite;
use aws_batch_simulator::Value;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};

/// What a write does to an item. Each write has a number of its own, and leaves its name in the item, except for a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Put,
    PutIfAbsent,
    Delete,
    /// Deletes if the item is that of the write this many numbers before.
    DeleteIf(usize),
    /// Makes an item that is of no write its own.
    Claim,
    /// Claims with a token.
    ClaimOnce,
    Release,
    /// Adds to a counter, which must not happen twice.
    Add(i64),
    /// Adds by `SET n = n + …`.
    AddBySet(i64),
    /// Adds to the counter of an item that is of a write.
    AddIf(i64),
}

pub(crate) fn name_of(number: usize) -> String {
    format!("write {number}")
}

/// The number of the write with this name.
pub(crate) fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix("write ")?.parse().ok()
}

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

impl Does {
    /// Whether it must not be applied twice.
    pub(crate) fn is_once(self) -> bool {
        matches!(
            self,
            Self::ClaimOnce | Self::Add(_) | Self::AddBySet(_) | Self::AddIf(_)
        )
    }

    /// Whether it leaves an item with its name as the owner.
    pub(crate) fn owns(self) -> bool {
        matches!(self, Self::Put | Self::PutIfAbsent | Self::Claim | Self::ClaimOnce)
    }

    /// The write with this number to this key, as an action of a transaction.
    pub(crate) fn action(self, table: &str, key: &str, number: usize) -> TransactWriteItem {
        let action = TransactWriteItem::builder();
        match self {
            Self::Put | Self::PutIfAbsent => {
                let put = Put::builder()
                    .table_name(table)
                    .item("id", text(key))
                    .item("by", text(name_of(number)));
                let condition = (self == Self::PutIfAbsent).then(|| "attribute_not_exists(id)".to_owned());
                action.put(put.set_condition_expression(condition).build().expect("an item"))
            }
            Self::Delete => {
                let delete = Delete::builder().table_name(table).key("id", text(key));
                action.delete(delete.build().expect("a key"))
            }
            Self::DeleteIf(before) => {
                let delete = Delete::builder()
                    .table_name(table)
                    .key("id", text(key))
                    .condition_expression("#by = :by")
                    .expression_attribute_names("#by", "by")
                    .expression_attribute_values(":by", text(name_of(number.saturating_sub(before))));
                action.delete(delete.build().expect("a key"))
            }
            Self::Claim | Self::ClaimOnce => {
                let condition = Some("attribute_not_exists(#by)");
                action.update(update(table, key, number, "SET #by = :by", condition, None))
            }
            Self::Release => action.update(update(table, key, number, "SET changed = :by REMOVE #by", None, None)),
            Self::Add(more) => action.update(update(
                table,
                key,
                number,
                "SET changed = :by ADD n :more",
                None,
                Some(more),
            )),
            Self::AddBySet(more) => {
                let expression = "SET n = if_not_exists(n, :zero) + :more, changed = :by";
                action.update(update(table, key, number, expression, None, Some(more)))
            }
            Self::AddIf(more) => {
                let (expression, condition) = ("SET changed = :by ADD n :more", Some("attribute_exists(#by)"));
                action.update(update(table, key, number, expression, condition, Some(more)))
            }
        }
        .build()
    }

    /// The same as a write of its own.
    pub(crate) fn write(self, table: &str, key: &str, number: usize) -> ItemWrite {
        let action = self.action(table, key, number);
        let write = match (action.put, action.update, action.delete) {
            (Some(put), ..) => ItemWrite::from(put),
            (_, Some(update), _) => ItemWrite::from(update),
            (.., delete) => ItemWrite::from(delete.expect("each action is one of the three")),
        };
        if self == Self::ClaimOnce {
            write.with_token()
        } else {
            write
        }
    }
}

/// An update with the placeholders that its expressions have.
fn update(
    table: &str,
    key: &str,
    number: usize,
    expression: &str,
    condition: Option<&str>,
    more: Option<i64>,
) -> Update {
    let has =
        |placeholder: &str| expression.contains(placeholder) || condition.unwrap_or_default().contains(placeholder);
    let mut update = Update::builder()
        .table_name(table)
        .key("id", text(key))
        .update_expression(expression)
        .set_condition_expression(condition.map(str::to_owned))
        .expression_attribute_values(":by", text(name_of(number)));
    if has("#by") {
        update = update.expression_attribute_names("#by", "by");
    }
    if has(":zero") {
        update = update.expression_attribute_values(":zero", AttributeValue::N("0".to_owned()));
    }
    if let Some(more) = more {
        update = update.expression_attribute_values(":more", AttributeValue::N(more.to_string()));
    }
    update.build().expect("a key and an expression")
}

/// An item of the model: the write that owns it, the last one that has changed or released it, and its counter.
#[derive(Debug, Clone, Default, PartialEq)]
struct Item {
    by: Option<String>,
    changed: Option<String>,
    n: Option<i64>,
}

/// A table that applies one write after another.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Model(BTreeMap<String, Item>);

impl Model {
    /// The write that owns the item.
    pub(crate) fn owner(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.by.as_deref()
    }

    /// Whether the condition of the write holds.
    pub(crate) fn holds(&self, key: &str, number: usize, does: Does) -> bool {
        let owner = self.owner(key);
        match does {
            Does::Put | Does::Delete | Does::Release | Does::Add(_) | Does::AddBySet(_) => true,
            Does::PutIfAbsent => !self.0.contains_key(key),
            Does::DeleteIf(before) => owner == Some(&name_of(number.saturating_sub(before))),
            Does::Claim | Does::ClaimOnce => owner.is_none(),
            Does::AddIf(_) => owner.is_some(),
        }
    }

    /// Applies the write if its condition holds, and returns whether it does.
    pub(crate) fn apply(&mut self, key: &str, number: usize, does: Does) -> bool {
        if !self.holds(key, number, does) {
            return false;
        }
        let name = Some(name_of(number));
        if let Does::Delete | Does::DeleteIf(_) = does {
            self.0.remove(key);
            return true;
        }
        let item = self.0.entry(key.to_owned()).or_default();
        match does {
            Does::Put | Does::PutIfAbsent => {
                *item = Item {
                    by: name,
                    ..Item::default()
                };
            }
            Does::Claim | Does::ClaimOnce => item.by = name,
            Does::Release => (item.by, item.changed) = (None, name),
            Does::Add(more) | Does::AddBySet(more) | Does::AddIf(more) => {
                item.changed = name;
                *item.n.get_or_insert(0) += more;
            }
            Does::Delete | Does::DeleteIf(_) => {}
        }
        true
    }

    /// The items of a table.
    pub(crate) fn of_table(items: &[Value]) -> Self {
        let text = |item: &Value, name: &str| item[name]["S"].as_str().map(str::to_owned);
        let items: HashMap<String, Item> = items
            .iter()
            .map(|item| {
                let of_model = Item {
                    by: text(item, "by"),
                    changed: text(item, "changed"),
                    n: item["n"]["N"].as_str().map(|n| n.parse().expect("a number")),
                };
                (text(item, "id").expect("a key"), of_model)
            })
            .collect();
        Self(items.into_iter().collect())
    }
}
