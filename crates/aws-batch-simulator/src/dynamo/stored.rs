//! Items as the service keeps them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::number::Number;
use super::value::bytes;

/// The item as the service returns it: numbers are written out, and the members of sets are in their order.
///
/// It must be valid.
pub(super) fn stored(item: &Value) -> Cow<'_, Value> {
    match item.as_object() {
        Some(members) if !members.values().all(is_stored) => Cow::Owned(all_stored(members)),
        _ => Cow::Borrowed(item),
    }
}

/// Whether a value is certainly as the service returns it. Most are, and need no copy.
fn is_stored(value: &Value) -> bool {
    let mut members = value.as_object().into_iter().flatten();
    members.all(|(tag, content)| match (tag.as_str(), content) {
        ("N", Value::String(number)) => is_short_integer(number),
        ("SS" | "NS" | "BS", _) => false,
        ("L", Value::Array(elements)) => elements.iter().all(is_stored),
        ("M", Value::Object(members)) => members.values().all(is_stored),
        _ => true,
    })
}

/// Most numbers. Others are parsed.
fn is_short_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    number == "0"
        || (1..=38).contains(&digits.len())
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn all_stored(members: &Map<String, Value>) -> Value {
    let members = members.iter().map(|(name, value)| (name.clone(), stored_value(value)));
    Value::Object(members.collect())
}

fn stored_value(value: &Value) -> Value {
    let members = value.as_object().into_iter().flatten();
    let members = members.map(|(tag, content)| {
        let content = match (tag.as_str(), content) {
            ("N", Value::String(number)) => plain(number).into(),
            ("SS", Value::Array(members)) => sorted(members, str::to_owned),
            ("BS", Value::Array(members)) => sorted(members, |member| bytes(member).unwrap_or_default()),
            ("NS", Value::Array(members)) => {
                let numbers = members.iter().filter_map(|member| Number::parse(member.as_str()?).ok());
                let mut numbers: Vec<Number> = numbers.collect();
                numbers.sort_unstable();
                numbers.iter().map(Number::plain).collect()
            }
            ("L", Value::Array(elements)) => elements.iter().map(stored_value).collect(),
            ("M", Value::Object(members)) => all_stored(members),
            _ => content.clone(),
        };
        (tag.clone(), content)
    });
    Value::Object(members.collect())
}

fn plain(number: &str) -> String {
    Number::parse(number).map_or_else(|_| number.to_owned(), |number| number.plain())
}

fn sorted<K: Ord>(members: &[Value], order: impl Fn(&str) -> K) -> Value {
    let mut members: Vec<&str> = members.iter().filter_map(Value::as_str).collect();
    members.sort_by_cached_key(|member| order(member));
    members.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_out_and_sets_are_sorted_at_any_depth() {
        let item = json!({
            "n": {"N": "1.50e1"},
            "l": {"L": [{"N": "007"}, {"M": {"s": {"SS": ["b", "B", "a"]}}}]},
            "ns": {"NS": ["1e1", "-2", "9.0"]},
            "bs": {"BS": ["/w==", "AA==", "AQ=="]},
            "s": {"S": "1.0"},
        });
        let expected = json!({
            "n": {"N": "15"},
            "l": {"L": [{"N": "7"}, {"M": {"s": {"SS": ["B", "a", "b"]}}}]},
            "ns": {"NS": ["-2", "9", "10"]},
            "bs": {"BS": ["AA==", "AQ==", "/w=="]},
            "s": {"S": "1.0"},
        });
        assert_eq!(*stored(&item), expected);
        assert_eq!(*stored(&expected), expected);
    }

    #[test]
    fn an_item_that_is_kept_as_it_is_is_not_copied() {
        let item =
            json!({"n": {"N": "-15"}, "z": {"N": "0"}, "m": {"M": {"l": {"L": [{"N": "100"}]}}}, "b": {"BOOL": true}});
        assert!(matches!(stored(&item), Cow::Borrowed(_)));
        for number in ["-0", "01", "1.0", "1e2", "+1", "-"] {
            assert!(
                matches!(stored(&json!({"n": {"N": number}})), Cow::Owned(_)),
                "{number}"
            );
        }
    }
}
