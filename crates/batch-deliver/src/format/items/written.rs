//! Items as lines of JSON.

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::Item;
use super::typed::to_json;
use crate::value_names::value_names;

/// How an item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemFormat {
    /// DynamoDB JSON, with the type of each value.
    Dynamodb,
    /// Plain JSON, which has neither sets nor binary values.
    Json,
}

value_names!(ItemFormat, Dynamodb = "dynamodb", Json = "json");

impl ItemFormat {
    /// Appends the item as a line, its attributes in the order of their names. Returns whether none of it was lost.
    pub(crate) fn append(self, item: &Item, lines: &mut Vec<u8>) -> bool {
        let is_whole = match self {
            Self::Dynamodb => {
                lines.extend(to_json(item).to_string().into_bytes());
                true
            }
            Self::Json => {
                let mut line = String::new();
                let is_whole = object(item, &mut line);
                lines.extend(line.into_bytes());
                is_whole
            }
        };
        lines.push(b'\n');
        is_whole
    }
}

fn object(item: &Item, line: &mut String) -> bool {
    let mut members: Vec<_> = item.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    let member = |(name, attribute): (&String, &AttributeValue), line: &mut String| {
        text(name, line);
        line.push(':');
        value(attribute, line)
    };
    list(['{', '}'], members, line, member)
}

/// Appends each member, with commas between them. Returns whether nothing was lost of any.
fn list<T>(
    [open, close]: [char; 2],
    members: impl IntoIterator<Item = T>,
    line: &mut String,
    append: impl Fn(T, &mut String) -> bool,
) -> bool {
    line.push(open);
    let mut is_whole = true;
    for (number, member) in members.into_iter().enumerate() {
        if number > 0 {
            line.push(',');
        }
        is_whole &= append(member, line);
    }
    line.push(close);
    is_whole
}

fn value(value: &AttributeValue, line: &mut String) -> bool {
    let mut texts = |texts: &[String], is_number: bool| {
        list(['[', ']'], texts, line, |member, line| {
            if is_number {
                line.push_str(member);
            } else {
                text(member, line);
            }
            true
        });
        false
    };
    match value {
        AttributeValue::Ss(members) => return texts(members, false),
        AttributeValue::Ns(members) => return texts(members, true),
        AttributeValue::Bs(members) => {
            let members: Vec<String> = members.iter().map(|member| BASE64_STANDARD.encode(member)).collect();
            return texts(&members, false);
        }
        AttributeValue::S(content) => text(content, line),
        // All of its digits, as the service has it.
        AttributeValue::N(number) => line.push_str(number),
        AttributeValue::B(bytes) => {
            text(&BASE64_STANDARD.encode(bytes), line);
            return false;
        }
        AttributeValue::Bool(yes) => line.push_str(if *yes { "true" } else { "false" }),
        AttributeValue::M(map) => return object(map, line),
        AttributeValue::L(values) => return list(['[', ']'], values, line, self::value),
        // Other types exist only in newer versions of the SDK.
        _ => line.push_str("null"),
    }
    true
}

fn text(content: &str, line: &mut String) {
    line.push_str(&serde_json::Value::from(content).to_string());
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::*;
    use crate::format::items::json::item_of_json;

    fn line(item: &Item, format: ItemFormat) -> (String, bool) {
        let mut lines = Vec::new();
        let is_whole = format.append(item, &mut lines);
        (String::from_utf8(lines).unwrap(), is_whole)
    }

    #[test]
    fn plain_json_has_all_digits_and_is_read_as_the_same_item() {
        let nested = AttributeValue::M(Item::from([("a\"b".to_owned(), AttributeValue::Null(true))]));
        let item = Item::from([
            (
                "z".to_owned(),
                AttributeValue::N("12345678901234567890.123456789012345678".to_owned()),
            ),
            ("a".to_owned(), AttributeValue::S("ü\n\u{1}".to_owned())),
            (
                "l".to_owned(),
                AttributeValue::L(vec![AttributeValue::Bool(false), nested]),
            ),
        ]);
        let (written, is_whole) = line(&item, ItemFormat::Json);
        assert!(is_whole);
        assert!(
            written.starts_with("{\"a\":\"ü\\n\\u0001\",\"l\":[false,{\"a\\\"b\":null}],\"z\":12345678901234567890.")
        );
        assert_eq!(item_of_json(written.trim_end().as_bytes()).unwrap(), item);
    }

    #[test]
    fn sets_and_binary_values_are_told_to_be_lost() {
        for (value, expected) in [
            (
                AttributeValue::Ns(vec!["1".to_owned(), "2".to_owned()]),
                "{\"v\":[1,2]}\n",
            ),
            (AttributeValue::Ss(vec!["a".to_owned()]), "{\"v\":[\"a\"]}\n"),
            (AttributeValue::B(Blob::new([1, 2, 3])), "{\"v\":\"AQID\"}\n"),
            (
                AttributeValue::L(vec![AttributeValue::Bs(vec![Blob::new([1])])]),
                "{\"v\":[[\"AQ==\"]]}\n",
            ),
        ] {
            let item = Item::from([("v".to_owned(), value)]);
            assert_eq!(line(&item, ItemFormat::Json), (expected.to_owned(), false));
            assert!(line(&item, ItemFormat::Dynamodb).1);
        }
    }
}
