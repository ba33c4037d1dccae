//! Makes writes to a table from items.

use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, WriteRequest};

use super::Item;
use super::key::Key;
use crate::source::Flaw;

/// What is done with items. It decides which records of an input are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Put,
    Update,
    Delete,
}

/// Makes writes from items.
#[derive(Debug, Clone)]
pub(crate) struct Writes {
    key: Option<Key>,
    purpose: Purpose,
    /// Whether only the key of an item is kept.
    keeps_key_only: bool,
}

impl Writes {
    /// Puts items. If the key is known, each item is checked for it.
    pub(crate) fn puts(key: Option<Key>) -> Self {
        Self::whole(key, Purpose::Put)
    }

    /// Keeps items whole, because expressions may name any of their attributes.
    pub(crate) fn whole(key: Option<Key>, purpose: Purpose) -> Self {
        Self {
            key,
            purpose,
            keeps_key_only: false,
        }
    }

    /// Deletes the items with these keys; all other attributes are ignored.
    pub(crate) fn deletes(key: Key) -> Self {
        Self {
            key: Some(key),
            purpose: Purpose::Delete,
            keeps_key_only: true,
        }
    }

    /// The key of the table, if it is known.
    pub(crate) fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The write of an item.
    pub(crate) fn of(&self, item: Item) -> Result<WriteRequest, Flaw> {
        if self.keeps_key_only {
            return self.delete(item);
        }
        if let Some(key) = &self.key {
            key.check(&item)?;
        }
        let put = PutRequest::builder().set_item(Some(item)).build();
        let put = put.map_err(|_| Flaw::new("the item is empty"))?;
        Ok(WriteRequest::builder().put_request(put).build())
    }

    /// The write of the item with this key, as its deletion. The key of another table may have the attributes of this one among others.
    pub(crate) fn of_key(&self, key: Item) -> Result<WriteRequest, Flaw> {
        match &self.key {
            Some(own) if key.keys().any(|name| !own.has(name)) => Err(Flaw::new(format!(
                "this is a key of another table: that of this table is {own}"
            ))),
            _ => self.delete(key),
        }
    }

    /// The deletion of an item, whichever attributes other than the key are given.
    fn delete(&self, mut item: Item) -> Result<WriteRequest, Flaw> {
        if let Some(key) = &self.key {
            key.check(&item)?;
            item.retain(|name, _| key.has(name));
        }
        let delete = DeleteRequest::builder().set_key(Some(item)).build();
        let delete = delete.map_err(|_| Flaw::new("the key is empty"))?;
        Ok(WriteRequest::builder().delete_request(delete).build())
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    #[test]
    fn a_delete_has_only_the_key() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let key: Key = "id".parse().unwrap();
        let item = Item::from([("id".to_owned(), text("a")), ("name".to_owned(), text("b"))]);
        let put = Writes::puts(Some(key.clone())).of(item.clone()).unwrap();
        assert_eq!(put.put_request().unwrap().item(), &item);
        let delete = Writes::deletes(key).of(item).unwrap();
        assert_eq!(
            delete.delete_request().unwrap().key(),
            &Item::from([("id".to_owned(), text("a"))])
        );
    }
}
