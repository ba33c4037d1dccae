//! Why an expression matches nothing: it compares the key with a value of another type, which is never equal.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::format::{Key, KeyType};
use crate::source::{TableReads, words};

/// What to say when nothing matched, if a part of the key is compared with a value of another type.
pub(super) fn mismatch(reads: &TableReads, key: &Key) -> Option<String> {
    let expressions = reads.key_condition.iter().chain(&reads.filter);
    expressions.flat_map(|text| compared(text)).find_map(|(operand, placeholder)| {
        let name = reads.names.get(operand).map_or(operand, String::as_str);
        let attribute = key.attributes().find(|attribute| attribute.name == name)?;
        let has = type_of(reads.values.get(placeholder)?)?;
        let (needs, advice) = match attribute.kind {
            KeyType::S => ("S", format!("; a text is written --value '{placeholder}=\"…\"'")),
            KeyType::N => ("N", format!("; a number is written --value '{placeholder}=…', without quotes")),
            KeyType::B => ("B", String::new()),
        };
        (has != needs).then(|| {
            format!("nothing matched: {name}, a part of the key, is of type {needs}, but {placeholder} is of type {has}{advice}")
        })
    })
}

fn type_of(value: &AttributeValue) -> Option<&'static str> {
    match value {
        AttributeValue::S(_) => Some("S"),
        AttributeValue::N(_) => Some("N"),
        AttributeValue::B(_) => Some("B"),
        AttributeValue::Bool(_) => Some("BOOL"),
        _ => None,
    }
}

/// The operands next to placeholders of values, each with its placeholder.
fn compared(expression: &str) -> Vec<(&str, &str)> {
    let is_keyword = |word: &&str| !["BETWEEN", "IN"].contains(&word.to_ascii_uppercase().as_str());
    let words: Vec<&str> = words(expression).filter(is_keyword).collect();
    let is_value = |word: &str| word.starts_with(':');
    let pairs = words.windows(2).filter_map(|pair| match *pair {
        [one, other] if is_value(one) != is_value(other) => {
            Some(if is_value(other) { (one, other) } else { (other, one) })
        }
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_a_value_is_compared_with_it() {
        assert_eq!(compared("id = :a"), [("id", ":a")]);
        assert_eq!(compared(":a<>#id"), [("#id", ":a")]);
        assert_eq!(compared("begins_with(id, :a)"), [("id", ":a")]);
        assert_eq!(compared("id BETWEEN :a AND :b")[0], ("id", ":a"));
        assert_eq!(compared("id IN (:a, :b)"), [("id", ":a")]);
        assert_eq!(compared("info.id = :a"), [("info.id", ":a")]);
        assert!(compared("attribute_exists(id)").is_empty());
    }
}
