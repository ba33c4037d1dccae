//! Checks the attributes of messages. From the page on message metadata in the developer guide.

use serde_json::{Map, Value};

use super::refusals::invalid_value;
use crate::wire::Refusal;

/// Attributes of a message at most.
const MOST: usize = 10;
/// Characters of a name and of a type at most. The error says "shorter than 256 bytes", the guide "up to 256 characters".
const LONGEST: usize = 256;
/// Prefixes of names that are reserved, in any case.
const RESERVED: [&str; 2] = ["aws.", "amazon."];
/// The only system attribute that a sender can set.
const TRACE_HEADER: &str = "AWSTraceHeader";

/// Why a message with these attributes fails.
pub(super) fn check(attributes: &Map<String, Value>) -> Result<(), Refusal> {
    if attributes.len() > MOST {
        return Err(invalid_value(format!(
            "Number of message attributes [{}] exceeds the allowed maximum [{MOST}].",
            attributes.len()
        )));
    }
    for (name, attribute) in attributes {
        check_name(name)?;
        check_value(name, attribute)?;
    }
    Ok(())
}

/// Why a message with these system attributes fails.
pub(super) fn check_system(attributes: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, attribute) in attributes {
        if name != TRACE_HEADER {
            return Err(invalid_value(format!(
                "Message system attribute name '{name}' is invalid."
            )));
        }
        if attribute["DataType"] != "String" {
            return Err(invalid_value(format!(
                "The type of message system attribute '{name}' must be String."
            )));
        }
        check_value(name, attribute)?;
    }
    Ok(())
}

/// Whether a body and the texts of attributes may have this character.
pub(super) fn is_allowed(character: char) -> bool {
    matches!(character, '\u{9}' | '\u{A}' | '\u{D}' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(invalid_value(
            "The request must contain non-empty message attribute names.",
        ));
    }
    if name.chars().count() > LONGEST {
        return Err(invalid_value(
            "Message (user) attribute names must be shorter than 256 Bytes",
        ));
    }
    // Letters beyond ASCII are not documented, but accepted; other signs are not.
    let is_allowed = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    if !name.chars().all(is_allowed) {
        return Err(invalid_value(
            "Message (user) attributes name can only contain upper and lower score characters, digits, periods, hyphens and \
             underscores.",
        ));
    }
    let lower = name.to_ascii_lowercase();
    let is_reserved = RESERVED.iter().any(|prefix| lower.starts_with(prefix));
    if is_reserved || name.starts_with('.') || name.ends_with('.') {
        return Err(invalid_value(
            "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for internal \
             use. Additionally, they cannot start or end with '.'.",
        ));
    }
    if name.contains("..") {
        return Err(invalid_value(
            "Message (user) attribute name must not have successive '.' characters.",
        ));
    }
    Ok(())
}

fn check_value(name: &str, attribute: &Value) -> Result<(), Refusal> {
    let kind = attribute["DataType"].as_str().unwrap_or_default();
    let is_of = |prefix: &&str| kind.starts_with(prefix);
    let Some(prefix) = ["Binary", "Number", "String"].into_iter().find(is_of) else {
        return Err(invalid_value(format!(
            "The type of message (user) attribute '{name}' is invalid. You must use only the following supported type prefixes: \
             Binary, Number, String."
        )));
    };
    if kind.chars().count() > LONGEST {
        return Err(invalid_value(
            "Message (user) attribute types must be shorter than 256 Bytes",
        ));
    }
    let member = if prefix == "Binary" {
        "BinaryValue"
    } else {
        "StringValue"
    };
    let value = attribute[member].as_str().unwrap_or_default();
    if value.is_empty() {
        return Err(invalid_value(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'."
        )));
    }
    if prefix != "Binary" && !value.chars().all(is_allowed) {
        // Not `InvalidMessageContents`, as for the body.
        return Err(invalid_value(format!(
            "Invalid characters were found in the value of message (user) attribute '{name}'."
        )));
    }
    // A type with a label of its own is not looked at.
    if kind == "Number" && !is_number(value) {
        return Err(invalid_value(format!(
            "Can't cast the value of message (user) attribute '{name}' to a number."
        )));
    }
    Ok(())
}

/// Whether the text is a number, other than `inf` and `NaN`.
fn is_number(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(name: &str, kind: &str, value: &str) -> Result<(), Refusal> {
        let member = if kind.starts_with("Binary") {
            "BinaryValue"
        } else {
            "StringValue"
        };
        check(json!({ name: {"DataType": kind, member: value} }).as_object().unwrap())
    }

    #[test]
    fn names_are_those_of_the_guide() {
        for name in ["a", "A-b_c.9", "größe", "aws", "awsome.x", &"n".repeat(256)] {
            assert_eq!(of(name, "String", "x"), Ok(()), "{name}");
        }
        for name in [
            "",
            "a b",
            "a/b",
            "a§b",
            "a😀",
            ".a",
            "a.",
            "a..b",
            "AWS.a",
            "amazon.a",
            &"n".repeat(257),
        ] {
            let refusal = of(name, "String", "x").unwrap_err();
            assert_eq!(refusal.short_code(), "InvalidParameterValue", "{name}");
        }
    }

    #[test]
    fn a_type_is_one_of_three_with_a_label_or_without() {
        let longest = format!("String.{}", "t".repeat(249));
        for kind in ["String", "String.label", "Strings", "Binary.png", &longest] {
            assert_eq!(of("a", kind, "AAEC"), Ok(()), "{kind}");
        }
        for kind in ["", "string", "Boolean", &format!("{longest}t")] {
            assert!(of("a", kind, "AAEC").is_err(), "{kind}");
        }
    }

    #[test]
    fn a_number_can_be_read_as_one() {
        for value in ["0", "-1.5e3", "+7"] {
            assert_eq!(of("a", "Number", value), Ok(()), "{value}");
        }
        for value in ["", "abc", "NaN", "inf", "0x10"] {
            assert!(of("a", "Number", value).is_err(), "{value}");
        }
        assert_eq!(of("a", "Number.own", "abc"), Ok(()));
    }

    #[test]
    fn a_value_is_not_empty_and_of_the_characters_of_a_body() {
        for (kind, value) in [("String", ""), ("Binary", ""), ("String", "a\u{1f}")] {
            let refusal = of("a", kind, value).unwrap_err();
            assert_eq!(refusal.short_code(), "InvalidParameterValue", "{kind}");
        }
        let other_member = json!({"a": {"DataType": "String", "BinaryValue": "AAEC"}});
        assert!(check(other_member.as_object().unwrap()).is_err());
    }

    #[test]
    fn the_trace_header_is_the_only_system_attribute() {
        let text = json!({"DataType": "String", "StringValue": "Root=1"});
        let checked = |attributes: Value| check_system(attributes.as_object().unwrap());
        assert_eq!(checked(json!({ "AWSTraceHeader": text })), Ok(()));
        assert!(checked(json!({ "Other": text })).is_err());
        assert!(checked(json!({"AWSTraceHeader": {"DataType": "Binary", "BinaryValue": "AAEC"}})).is_err());
    }
}
