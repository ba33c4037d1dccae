//! Items of a table, one JSON object on each line.

use std::io::{self, Read};

use aws_sdk_dynamodb::types::WriteRequest;

use super::json::Json;
use super::typed::{Shape, has_type, shape, typed_part, untyped};
use super::{Format, OnePerLine, Parse, Source};
use crate::flaw::Flaw;
use crate::item::Item;
use crate::write::Writes;

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

/// Items to be put, or to be deleted, from JSON lines.
pub(crate) struct JsonItems {
    pub(crate) typing: Typing,
    pub(crate) writes: Writes,
    pub(crate) keeps_text: bool,
}

impl Format<WriteRequest> for JsonItems {
    fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Source<WriteRequest>>> {
        let parse = ItemLine {
            json: Json::default(),
            typing: self.typing,
            writes: self.writes.clone(),
        };
        Ok(Box::new(OnePerLine::objects(input, parse, self.keeps_text)))
    }
}

struct ItemLine {
    json: Json,
    typing: Typing,
    writes: Writes,
}

impl ItemLine {
    fn item(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let item = self.json.item(line)?;
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

impl Parse<WriteRequest> for ItemLine {
    fn parse(&mut self, line: &[u8]) -> Result<WriteRequest, Flaw> {
        let item = self.item(line)?;
        self.writes.of(item)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    fn lines(typing: Typing) -> ItemLine {
        ItemLine {
            json: Json::default(),
            typing,
            writes: Writes::puts(Some("year:N".parse().unwrap())),
        }
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
            assert_eq!(lines.item(line.as_bytes()).unwrap(), year, "{line}");
        }
    }

    #[test]
    fn a_typed_key_makes_all_of_the_line_typed() {
        let mut lines = lines(Typing::ByContent);
        let flaw = lines
            .item(br#"{"year":{"N":"2013"},"title":{"Z":"Rush"}}"#)
            .unwrap_err();
        assert!(flaw.reason.contains("no type of DynamoDB"), "{flaw}");
    }

    #[test]
    fn an_explicit_typing_is_not_detected() {
        let plain = lines(Typing::Plain).item(br#"{"year":{"N":"2013"}}"#).unwrap();
        assert!(plain["year"].is_m());
        assert!(lines(Typing::Typed).item(br#"{"year":2013}"#).is_err());
    }
}
