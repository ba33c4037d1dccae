//! Items of a table, one JSON object on each line.

use std::io::{self, Read};

use aws_sdk_dynamodb::types::WriteRequest;

use super::Item;
use super::envelope::{ItemChange, record};
use super::json::item_of_json;
use super::typed::{Shape, has_type, shape, typed_part, untyped};
use super::write::{Purpose, Writes};
use crate::format::container::Container;
use crate::format::document::Members;
use crate::format::line_records::{LineParser, LineRecords};
use crate::source::{Flaw, Format, Records};

/// How the types of values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    /// Detected from the content.
    ByContent,
    /// Plain JSON.
    Plain,
    /// DynamoDB JSON.
    Typed,
}

/// Items from JSON lines.
pub(crate) struct JsonItems {
    /// The table's name, if it is known.
    pub(crate) table: Option<String>,
    pub(crate) typing: Typing,
    pub(crate) writes: Writes,
    pub(crate) keeps_text: bool,
}

impl JsonItems {
    fn lines(
        &self,
        input: Box<dyn Read + Send>,
        members: impl Fn(Container) -> Option<Members>,
    ) -> io::Result<Box<dyn Records<WriteRequest>>> {
        let parse = ItemLine {
            typing: self.typing,
            writes: self.writes.clone(),
        };
        let key = self.writes.key();
        let is_of_key = |name: &str| key.is_some_and(|key| key.has(name));
        Ok(Box::new(LineRecords::objects(
            input,
            members,
            is_of_key,
            parse,
            self.keeps_text,
        )?))
    }
}

impl Format<WriteRequest> for JsonItems {
    fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Records<WriteRequest>>> {
        self.lines(input, |container| {
            let is_read = self.typing != Typing::Plain && container != Container::Messages;
            container.members(self.table.as_deref()).filter(|_| is_read)
        })
    }

    /// The lines of a part. Answers are not cut.
    fn open_part(&self, part: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Records<WriteRequest>>> {
        self.lines(part, |_| None)
    }
}

struct ItemLine {
    typing: Typing,
    writes: Writes,
}

impl ItemLine {
    /// An item in the types of a table.
    fn item(&self, item: Item) -> Result<Item, Flaw> {
        let is_typed = match self.typing {
            Typing::Plain => false,
            Typing::Typed => true,
            Typing::ByContent => shape(&item) != Shape::Plain || self.has_typed_key(&item),
        };
        if is_typed {
            return untyped(item);
        }
        match typed_part(&item) {
            Some(flaw) if self.typing == Typing::ByContent => Err(flaw),
            _ => Ok(item),
        }
    }

    /// Whether the line is DynamoDB JSON, although not all of it is valid.
    fn has_typed_key(&self, item: &Item) -> bool {
        let key = self.writes.key();
        key.is_some_and(|key| {
            key.attributes()
                .any(|attribute| item.get(&attribute.name).is_some_and(has_type))
        })
    }
}

impl LineParser<WriteRequest> for ItemLine {
    fn parse(&mut self, line: &[u8]) -> Result<WriteRequest, Flaw> {
        let line = item_of_json(line)?;
        if self.typing == Typing::Plain {
            return self.writes.of(line);
        }
        match (record(line, self.writes.key())?, self.writes.purpose()) {
            (ItemChange::Changed(_) | ItemChange::Removed(_), Purpose::Delete) => Err(Flaw::new(CHANGE)),
            (ItemChange::Put(_), Purpose::Delete) => Err(Flaw::new(PUT)),
            (ItemChange::Key(_), Purpose::Put) => Err(Flaw::new(KEY)),
            (ItemChange::Delete(_) | ItemChange::Removed(_), Purpose::Update) => Err(Flaw::new(DELETION)),
            (ItemChange::Item(item) | ItemChange::Put(item) | ItemChange::Changed(item), _) => {
                self.writes.of(self.item(item)?)
            }
            (ItemChange::Key(key) | ItemChange::Delete(key) | ItemChange::Removed(key), _) => {
                self.writes.of_key(self.item(key)?)
            }
        }
    }
}

const CHANGE: &str = "this is a change of an item, and which items to delete is not clear: `batch-deliver load` repeats the changes, \
                      and `jq -c .Keys FILE` makes lines of all keys";

const PUT: &str = "this is a request to put an item, and not to delete it: `batch-deliver load` does what each request says, and \
                   `jq -c .PutRequest.Item FILE` makes lines of the items, which can be deleted";

const KEY: &str = "this is a key alone, which would replace the item: `batch-deliver delete` deletes the items with these keys, and \
                   `jq -c .Key FILE` makes lines that can be loaded";

const DELETION: &str =
    "this is the deletion of an item, which an update would create again: `batch-deliver load` repeats the deletions";

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    fn lines(typing: Typing) -> ItemLine {
        ItemLine {
            typing,
            writes: Writes::puts(Some("year:N".parse().unwrap())),
        }
    }

    fn put(lines: &mut ItemLine, line: &str) -> Result<Item, Flaw> {
        let write = lines.parse(line.as_bytes())?;
        Ok(write.put_request.unwrap().item)
    }

    #[test]
    fn typed_and_plain_lines_are_told_apart_and_may_stand_together() {
        let mut lines = lines(Typing::ByContent);
        let year = Item::from([("year".to_owned(), AttributeValue::N("2013".to_owned()))]);
        for line in [
            r#"{"year":{"N":"2013"}}"#,
            r#"{"Item":{"year":{"N":"2013"}}}"#,
            r#"{"year":2013}"#,
        ] {
            assert_eq!(put(&mut lines, line).unwrap(), year, "{line}");
        }
    }

    #[test]
    fn a_typed_key_makes_all_of_the_line_typed() {
        let mut lines = lines(Typing::ByContent);
        let flaw = put(&mut lines, r#"{"year":{"N":"2013"},"title":{"Z":"Rush"}}"#).unwrap_err();
        assert!(flaw.reason.contains("no type of DynamoDB"), "{flaw}");
    }

    #[test]
    fn an_explicit_typing_is_not_detected() {
        let plain = put(&mut lines(Typing::Plain), r#"{"year":2013,"a":{"N":"1"}}"#).unwrap();
        assert!(plain["a"].is_m());
        let flaw = put(&mut lines(Typing::Plain), r#"{"Item":{"year":2013}}"#).unwrap_err();
        assert!(flaw.reason.contains("there is no year"), "{flaw}");
        assert!(put(&mut lines(Typing::Typed), r#"{"year":2013}"#).is_err());
    }
}
