//! JSON lines as attributes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use aws_sdk_dynamodb::types::AttributeValue;
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use super::Item;
use crate::source::Flaw;

/// Levels that are read. An item has 32 at most; DynamoDB JSON writes each of them as two.
const MAX_LEVELS: usize = 80;

/// Reads one JSON object from each line: numbers with all of their digits, and everything else as `serde_dynamo` does.
#[derive(Default)]
pub(crate) struct Json {
    /// The buffer for texts with escapes, reused for each line.
    tape: Vec<u8>,
}

/// Why a value could not be read, and at which byte.
struct FlawAt {
    flaw: Flaw,
    byte: usize,
}

impl Json {
    /// The object of a line, by its names.
    pub(crate) fn item(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.starts_with(b"\xFF\xFE") || line.starts_with(b"\xFE\xFF") {
            return Err(Flaw::new("this is UTF-16: save the file as UTF-8").at(line, 0));
        }
        self.read(line, object)
    }

    /// Any value.
    pub(crate) fn value(&mut self, text: &[u8]) -> Result<AttributeValue, Flaw> {
        self.read(text, |json| {
            let peek = json.peek()?;
            let value = value(json, peek, 1)?;
            json.finish()?;
            Ok(value)
        })
    }

    fn read<T>(&mut self, text: &[u8], read: impl FnOnce(&mut Jiter<'_>) -> Result<T, FlawAt>) -> Result<T, Flaw> {
        let mut json = Jiter::with_tape(text, std::mem::take(&mut self.tape));
        let read = read(&mut json);
        self.tape = json.into_tape();
        read.map_err(|FlawAt { flaw, byte }| flaw.at(text, byte))
    }
}

fn object(json: &mut Jiter<'_>) -> Result<Item, FlawAt> {
    let peek = json.peek()?;
    let what = match peek {
        Peek::Object => None,
        Peek::Array => {
            Some("this is a JSON array, but each line must be an object: `jq -c '.[]' FILE` makes lines of it")
        }
        Peek::String => Some("this is a JSON string, but each line must be an object"),
        Peek::Null | Peek::True | Peek::False => Some("this is a single JSON word, but each line must be an object"),
        peek if peek.is_num() => Some("this is a number, but each line must be a JSON object"),
        _ => Some("this is not JSON, but each line must be a JSON object"),
    };
    if let Some(what) = what {
        let byte = json.current_index();
        return Err(FlawAt {
            flaw: Flaw::new(what),
            byte,
        });
    }
    let item = map(json, 1)?;
    json.finish()?;
    Ok(item)
}

fn value(json: &mut Jiter<'_>, peek: Peek, level: usize) -> Result<AttributeValue, FlawAt> {
    if level > MAX_LEVELS {
        let flaw = Flaw::new(format!("there are more than {MAX_LEVELS} levels of nesting"));
        let byte = json.current_index();
        return Err(FlawAt { flaw, byte });
    }
    Ok(match peek {
        Peek::Object => AttributeValue::M(map(json, level + 1)?),
        Peek::Array => {
            let mut values = Vec::new();
            let mut next = json.known_array()?;
            while let Some(peek) = next {
                values.push(value(json, peek, level + 1)?);
                next = json.array_step()?;
            }
            AttributeValue::L(values)
        }
        Peek::String => AttributeValue::S(json.known_str()?.to_owned()),
        Peek::True | Peek::False => AttributeValue::Bool(json.known_bool(peek)?),
        Peek::Null => {
            json.known_null()?;
            AttributeValue::Null(true)
        }
        _ => AttributeValue::N(String::from_utf8_lossy(json.known_number_bytes(peek)?).into_owned()),
    })
}

fn map(json: &mut Jiter<'_>, level: usize) -> Result<Item, FlawAt> {
    let mut attributes = HashMap::new();
    let mut next = json.known_object()?.map(str::to_owned);
    while let Some(name) = next {
        let byte = json.current_index();
        let peek = json.peek()?;
        let value = value(json, peek, level)?;
        match attributes.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(value),
            Entry::Occupied(_) => {
                let flaw = Flaw::new("the object has two attributes with this name");
                return Err(FlawAt { flaw, byte });
            }
        }
        next = json.next_key()?.map(str::to_owned);
    }
    Ok(attributes)
}

impl From<JiterError> for FlawAt {
    fn from(error: JiterError) -> Self {
        use JsonErrorType::{EofWhileParsingList, EofWhileParsingObject, EofWhileParsingString, EofWhileParsingValue};
        let flaw = match &error.error_type {
            JiterErrorType::JsonError(
                EofWhileParsingList | EofWhileParsingObject | EofWhileParsingString | EofWhileParsingValue,
            ) => Flaw::new(
                "the object does not end on its line, but each line must be an object: `jq -c . FILE` makes lines of it",
            ),
            other => Flaw::new(format!("this is not JSON: {other}")),
        };
        Self {
            flaw,
            byte: error.index,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(line: &str) -> Result<Item, Flaw> {
        Json::default().item(line.as_bytes())
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
            let _ = Json::default().item(&line);
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
    fn escapes_of_one_line_do_not_reach_the_next() {
        let mut json = Json::default();
        let first = json.item(br#"{"a\u00e9":"b\n"}"#).unwrap();
        assert_eq!(first["aé"], AttributeValue::S("b\n".to_owned()));
        let second = json.item(br#"{"a":"\t"}"#).unwrap();
        assert_eq!(second["a"], AttributeValue::S("\t".to_owned()));
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
        let flaw = Json::default().item(b"{\"a\":\"\xFF\"}").unwrap_err();
        assert_eq!(flaw.column, Some(7), "{flaw}");
    }
}
