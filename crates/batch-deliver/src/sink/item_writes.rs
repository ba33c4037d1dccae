//! Writes with conditions and updates, made of the items of an input.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::Arc;

use aws_batch_delivery::targets::dynamo::ItemWrite;
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};

use crate::format::{Item, Key, Purpose};
use crate::source::{Flaw, Format, LineBreaks, Record, Records, placeholders, unused_placeholder};

/// What a write does with its item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Put,
    /// Updates the item with this key by an expression.
    Update(Key, String),
    /// Deletes the item with this key.
    Delete(Key),
}

impl Change {
    pub(crate) fn purpose(&self) -> Purpose {
        match self {
            Self::Put => Purpose::Put,
            Self::Update(..) => Purpose::Update,
            Self::Delete(_) => Purpose::Delete,
        }
    }
}

/// How an item becomes a write.
#[derive(Debug, Clone)]
pub(crate) struct Expressions {
    pub(crate) change: Change,
    pub(crate) condition: Option<String>,
    /// What placeholders stand for, for all items. The others stand for the attributes of their names.
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: HashMap<String, AttributeValue>,
}

/// The items of an input, as writes.
pub(crate) struct ItemWrites {
    pub(crate) items: Arc<dyn Format<WriteRequest>>,
    pub(crate) expressions: Arc<Expressions>,
}

impl Format<ItemWrite> for ItemWrites {
    fn open(&self, input: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Records<ItemWrite>>> {
        Ok(self.written(self.items.open(input, name)?))
    }

    fn open_part(&self, part: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Records<ItemWrite>>> {
        Ok(self.written(self.items.open_part(part, name)?))
    }

    fn can_be_cut(&self, start: &[u8], name: &str) -> bool {
        self.items.can_be_cut(start, name)
    }

    fn take_line_breaks(&self) -> Option<LineBreaks> {
        self.items.take_line_breaks()
    }
}

impl ItemWrites {
    fn written(&self, items: Box<dyn Records<WriteRequest>>) -> Box<dyn Records<ItemWrite>> {
        let expressions = Arc::clone(&self.expressions);
        Box::new(ExpressionRecords { items, expressions })
    }
}

struct ExpressionRecords {
    items: Box<dyn Records<WriteRequest>>,
    expressions: Arc<Expressions>,
}

impl Records<ItemWrite> for ExpressionRecords {
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Record<ItemWrite>>> {
        let record = self.items.next(is_wanted)?;
        Ok(record.map(|Record { line, text, entry }| Record {
            line,
            text,
            entry: entry.map(|entry| self.expressions.write(entry?)),
        }))
    }

    fn is_ready(&self) -> bool {
        self.items.is_ready()
    }

    fn header(&self) -> Option<&[u8]> {
        self.items.header()
    }
}

impl Expressions {
    /// Keeps the placeholders that are in these expressions. The service refuses others.
    pub(crate) fn keep(&mut self, expressions: &str) {
        let used = |sign| placeholders(expressions, sign).collect::<HashSet<_>>();
        let (names, values) = (used('#'), used(':'));
        self.names.retain(|placeholder, _| names.contains(placeholder.as_str()));
        self.values
            .retain(|placeholder, _| values.contains(placeholder.as_str()));
    }

    /// Updates only items that are there. Without this condition an update creates them.
    pub(crate) fn only_existing(&mut self) {
        let Change::Update(key, update) = &self.change else {
            return;
        };
        let name = key.partition.name.clone();
        let condition = self.condition.take();
        let expressions = format!("{update} {}", condition.as_deref().unwrap_or_default());
        let used: HashSet<&str> = placeholders(&expressions, '#').collect();
        let placeholder = unused_placeholder(|name| used.contains(name) || self.names.contains_key(name));
        let exists = format!("attribute_exists({placeholder})");
        self.condition = Some(match condition {
            Some(condition) => format!("{exists} AND ({condition})"),
            None => exists,
        });
        self.names.insert(placeholder, name);
    }

    /// The write of an item that was read.
    pub(crate) fn write(&self, request: WriteRequest) -> Result<ItemWrite, Flaw> {
        let item = match (request.put_request, request.delete_request) {
            (Some(put), _) => put.item,
            (None, Some(delete)) if self.change != Change::Put => delete.key,
            _ => return Err(Flaw::new("a deletion among items to put: it has no condition")),
        };
        let write = match &self.change {
            Change::Put => ItemWrite::put(item.clone()),
            Change::Update(key, expression) => ItemWrite::update(key_of(key, &item)?, expression),
            Change::Delete(key) => ItemWrite::delete(key_of(key, &item)?),
        };
        Ok(self.complete(write).fields(&item))
    }

    /// The write with the condition, and with what placeholders stand for.
    pub(crate) fn complete(&self, write: ItemWrite) -> ItemWrite {
        let write = match &self.condition {
            Some(condition) => write.condition(condition),
            None => write,
        };
        let named = |write: ItemWrite, (placeholder, name): (&String, &String)| write.name(placeholder, name);
        let write = self.names.iter().fold(write, named);
        let valued = |write: ItemWrite, (placeholder, value): (&String, &AttributeValue)| {
            write.value(placeholder, value.clone())
        };
        self.values.iter().fold(write, valued)
    }
}

/// The key among the attributes.
fn key_of(key: &Key, item: &Item) -> Result<Item, Flaw> {
    key.check(item)?;
    let attributes = item.iter().filter(|(name, _)| key.has(name));
    Ok(attributes.map(|(name, value)| (name.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use aws_batch_delivery::targets::BatchTarget;
    use aws_batch_delivery::targets::dynamo::{DynamoTable, DynamoWrites};
    use aws_batch_simulator::Simulator;
    use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest};

    use super::*;

    fn text(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn request(attributes: &[(&str, &str)]) -> WriteRequest {
        let item: Item = attributes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), text(value)))
            .collect();
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    }

    fn expressions(change: Change, condition: Option<&str>) -> Expressions {
        Expressions {
            change,
            condition: condition.map(ToOwned::to_owned),
            names: HashMap::new(),
            values: HashMap::new(),
        }
    }

    fn key() -> Key {
        "id".parse().unwrap()
    }

    /// What the library says about the write, which has to be complete.
    fn checked(write: &ItemWrite) -> Result<(), String> {
        let table = DynamoTable::new(Simulator::new(1).dynamo_client(), "orders").key("id");
        let checked = DynamoWrites::from(table).check(write);
        checked.map(|_| ()).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn an_update_has_the_key_of_the_record_and_the_values_of_its_other_fields() {
        let update = expressions(Change::Update(key(), "SET #status = :status, n = :n".to_owned()), None);
        let update = Expressions {
            values: HashMap::from([(":n".to_owned(), text("1"))]),
            ..update
        };
        let write = update
            .write(request(&[("id", "a"), ("status", "new"), ("note", "x")]))
            .unwrap();
        assert_eq!(write.attributes(), Some(&Item::from([("id".to_owned(), text("a"))])));
        assert_eq!(checked(&write), Ok(()));
        let lacking = update.write(request(&[("id", "a")])).unwrap();
        assert!(checked(&lacking).unwrap_err().starts_with("`:status`: "));
        let flaw = update.write(request(&[("status", "new")])).unwrap_err();
        assert_eq!(flaw.to_string(), "there is no id, which is part of the table's key");
    }

    #[test]
    fn a_condition_compares_with_fields_of_the_record_also_for_a_deletion() {
        let newer = Some("#version < :version");
        let record = [("id", "a"), ("version", "2")];
        let put = expressions(Change::Put, newer).write(request(&record)).unwrap();
        assert_eq!(put.attributes().unwrap().len(), 2);
        let delete = expressions(Change::Delete(key()), newer)
            .write(request(&record))
            .unwrap();
        assert_eq!(delete.attributes().unwrap().len(), 1);
        assert_eq!((checked(&put), checked(&delete)), (Ok(()), Ok(())));
    }

    #[test]
    fn a_deletion_in_the_input_is_no_put() {
        let delete = DeleteRequest::builder().key("id", text("a")).build().unwrap();
        let delete = || WriteRequest::builder().delete_request(delete.clone()).build();
        let exists = Some("attribute_exists(id)");
        assert!(expressions(Change::Put, exists).write(delete()).is_err());
        let write = expressions(Change::Delete(key()), exists).write(delete()).unwrap();
        assert_eq!(checked(&write), Ok(()));
    }
}
