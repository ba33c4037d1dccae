//! JSON lines as attributes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::Item;
use crate::source::Flaw;

/// Levels that are read. An item has 32 at most; DynamoDB JSON writes each of them as two.
const MAX_LEVELS: usize = 80;

/// The attributes of a JSON object on a line: numbers with all of their digits, and everything else as `serde_dynamo` reads it.
pub(crate) fn item_of_json(line: &[u8]) -> Result<Item, Flaw> {
    if line.starts_with(b"\xFF\xFE") || line.starts_with(b"\xFE\xFF") {
        return Err(Flaw::new("this is UTF-16: save the file as UTF-8").at(line, 0));
    }
    let start = line.trim_ascii_start();
    let what = match start.first() {
        None | Some(b'{') => None,
        Some(b'[') => {
            Some("this is a JSON array, but each line must be an object: `jq -c '.[]' FILE` makes lines of it")
        }
        Some(b'"') => Some("this is a JSON string, but each line must be an object"),
        Some(b'n' | b't' | b'f') => Some("this is a single JSON word, but each line must be an object"),
        Some(b'-' | b'0'..=b'9') => Some("this is a number, but each line must be a JSON object"),
        Some(_) => Some("this is not JSON, but each line must be a JSON object"),
    };
    if let Some(what) = what {
        return Err(Flaw::new(what).at(line, line.len() - start.len()));
    }
    let reader = Reader { text: utf8(line)? };
    reader.map(reader.whole()?, 1)
}

/// Any value of JSON.
pub(crate) fn value_of_json(text: &[u8]) -> Result<AttributeValue, Flaw> {
    let reader = Reader { text: utf8(text)? };
    reader.value(reader.whole()?, 1)
}

fn utf8(line: &[u8]) -> Result<&str, Flaw> {
    let text = std::str::from_utf8(line);
    text.map_err(|error| Flaw::new("this is not JSON: invalid unicode code point").at(line, error.valid_up_to()))
}

/// Reads the values of a text. Their own texts are parts of it, so that numbers keep their digits and flaws have their places.
struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    /// The only value of the text.
    fn whole(&self) -> Result<&'a str, Flaw> {
        let value = serde_json::from_str::<&RawValue>(self.text);
        value.map(RawValue::get).map_err(|error| self.flaw(self.text, &error))
    }

    fn value(&self, json: &'a str, level: usize) -> Result<AttributeValue, Flaw> {
        if level > MAX_LEVELS {
            return Err(self.at(json, format!("there are more than {MAX_LEVELS} levels of nesting")));
        }
        let flaw = |error| self.flaw(json, &error);
        Ok(match json.as_bytes().first() {
            Some(b'{') => AttributeValue::M(self.map(json, level + 1)?),
            Some(b'[') => {
                let values: Vec<&RawValue> = serde_json::from_str(json).map_err(flaw)?;
                let values = values.into_iter().map(|value| self.value(value.get(), level + 1));
                AttributeValue::L(values.collect::<Result<_, Flaw>>()?)
            }
            Some(b'"') => AttributeValue::S(serde_json::from_str(json).map_err(flaw)?),
            Some(b't') => AttributeValue::Bool(true),
            Some(b'f') => AttributeValue::Bool(false),
            Some(b'n') => AttributeValue::Null(true),
            _ => AttributeValue::N(json.to_owned()),
        })
    }

    fn map(&self, json: &'a str, level: usize) -> Result<Item, Flaw> {
        let members = serde_json::Deserializer::from_str(json).deserialize_map(Members);
        let members = members.map_err(|error| self.flaw(json, &error))?;
        let mut attributes = HashMap::with_capacity(members.len());
        for (name, value) in members {
            match attributes.entry(name) {
                Entry::Vacant(vacant) => _ = vacant.insert(self.value(value.get(), level)?),
                Entry::Occupied(_) => {
                    return Err(self.at(value.get(), "the object has two attributes with this name".to_owned()));
                }
            }
        }
        Ok(attributes)
    }

    /// The flaw of a value.
    fn at(&self, json: &str, words: String) -> Flaw {
        Flaw::new(words).at(self.text.as_bytes(), self.bytes_before(json))
    }

    /// Why a value cannot be read.
    fn flaw(&self, json: &str, error: &serde_json::Error) -> Flaw {
        let lines = json.split_inclusive('\n').take(error.line().saturating_sub(1));
        let before = self.bytes_before(json) + lines.map(str::len).sum::<usize>();
        let flaw = if error.classify() == Category::Eof {
            Flaw::new(
                "the object does not end on its line, but each line must be an object: `jq -c . FILE` makes lines of it",
            )
        } else {
            let words = error.to_string();
            let reason = words.split(" at line ").next().unwrap_or(&words);
            Flaw::new(format!("this is not JSON: {reason}"))
        };
        flaw.at(self.text.as_bytes(), before + error.column().saturating_sub(1))
    }

    /// The bytes in front of a part of the text.
    fn bytes_before(&self, part: &str) -> usize {
        part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr())
    }
}

/// The members of an object in their order, even those with the same name.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(line: &str) -> Result<Item, Flaw> {
        item_of_json(line.as_bytes())
    }

    fn refusal(line: &str) -> String {
        read(line).unwrap_err().to_string()
    }

    /// The attributes as JSON again.
    fn plain(value: &AttributeValue) -> Value {
        match value {
            AttributeValue::S(text) => json!(text),
            // serde_json itself reads some fractions a little off.
            AttributeValue::N(number) if number.contains(['.', 'e']) => json!(number.parse::<f64>().unwrap()),
            AttributeValue::N(number) => serde_json::from_str(number).unwrap(),
            AttributeValue::Bool(yes) => json!(yes),
            AttributeValue::Null(_) => Value::Null,
            AttributeValue::L(values) => values.iter().map(plain).collect(),
            AttributeValue::M(map) => map.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_read_as_they_were_written(fields in prop::collection::hash_map(any::<String>(), values(), 0..6)) {
            let written: Value = fields.into_iter().collect();
            let item = read(&written.to_string()).unwrap();
            prop_assert_eq!(plain(&AttributeValue::M(item)), written);
        }

        #[test]
        fn nothing_that_is_read_panics(line in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = item_of_json(&line);
        }
    }

    #[test]
    fn numbers_keep_all_of_their_digits() {
        let item = read(
            r#"{"a":0.10000000000000000000000000000000000001,"b":-12345678901234567890123456789012345678,"c":1E+5}"#,
        )
        .unwrap();
        let number = |name: &str| item[name].as_n().unwrap().as_str();
        assert_eq!(number("a"), "0.10000000000000000000000000000000000001");
        assert_eq!(number("b"), "-12345678901234567890123456789012345678");
        assert_eq!(number("c"), "1E+5");
    }

    #[test]
    fn escapes_are_read_in_names_and_texts() {
        let item = read(r#"{"a\u00e9":"b\n\ud83d\ude00"}"#).unwrap();
        assert_eq!(item["aé"], AttributeValue::S("b\n😀".to_owned()));
        let flaw = read(r#"{"é":["a","\ud800"]}"#).unwrap_err();
        assert!(flaw.column.is_some_and(|column| (11..=19).contains(&column)), "{flaw}");
    }

    #[test]
    fn a_flaw_has_its_column_and_what_to_do() {
        assert_eq!(refusal(r#"{"é":oops}"#), "column 6: this is not JSON: expected value");
        assert_eq!(
            refusal(r#"{"a":1,"a":2}"#),
            "column 12: the object has two attributes with this name"
        );
        assert!(refusal("[1]").contains("`jq -c '.[]' FILE`"));
        assert!(refusal(r#"{"a":"#).contains("`jq -c . FILE`"));
        assert_eq!(
            refusal("42"),
            "column 1: this is a number, but each line must be a JSON object"
        );
        assert!(refusal(r#"{"a":1} {"b":2}"#).contains("trailing characters"));
        let nested = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(refusal(&nested).contains("more than 80 levels"));
        let flaw = item_of_json(b"{\"a\":\"\xFF\"}").unwrap_err();
        assert_eq!(flaw.column, Some(7), "{flaw}");
    }
}
