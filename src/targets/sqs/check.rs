//! What SQS would refuse in one message.
//!
//! A message that breaks a rule of FIFO queues takes the whole call down, so it is found before the call. Rules that AWS
//! documents but does not keep (letters beyond ASCII in attribute names) are left to the service.

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};

use super::size::message_size;
use crate::invalid::InvalidEntry;

/// Attributes of a message.
pub(super) const MAX_ATTRIBUTES: usize = 10;

/// Characters of an attribute's name, and of its data type.
const MAX_NAME_LENGTH: usize = 256;

/// Seconds by which a message may be delayed: 15 minutes.
const MAX_DELAY: i32 = 900;

/// Characters of a group id, and of a deduplication id.
const MAX_ID_LENGTH: usize = 128;

/// Attribute names that AWS keeps for itself, in any case.
const RESERVED_PREFIXES: &[&str] = &["aws.", "amazon."];

/// Checks one message. It may have `message_bytes`.
pub(super) fn check(
    message: &SendMessageBatchRequestEntry,
    fifo: bool,
    message_bytes: usize,
) -> Result<usize, InvalidEntry> {
    let size = message_size(message);
    if message.message_body().is_empty() {
        return Err(InvalidEntry::Missing { part: "message body" });
    }
    if size > message_bytes {
        return Err(InvalidEntry::TooLarge {
            part: "message",
            limit: message_bytes,
            actual: size,
        });
    }
    characters("message body", message.message_body())?;
    attributes(message)?;
    delay(message.delay_seconds(), fifo)?;
    ids(message, fifo)?;
    Ok(size)
}

fn attributes(message: &SendMessageBatchRequestEntry) -> Result<(), InvalidEntry> {
    let Some(attributes) = message.message_attributes() else {
        return Ok(());
    };
    if attributes.len() > MAX_ATTRIBUTES {
        return Err(InvalidEntry::TooMany {
            part: "message attributes",
            limit: MAX_ATTRIBUTES,
            actual: attributes.len(),
        });
    }
    attributes.iter().try_for_each(|(name, value)| {
        attribute_name(name)?;
        attribute_value(value)
    })
}

fn attribute_name(name: &str) -> Result<(), InvalidEntry> {
    let part = "attribute name";
    if name.is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    let malformed = |rule| Err(InvalidEntry::Malformed { part, rule });
    if name.chars().count() > MAX_NAME_LENGTH {
        return malformed("of at most 256 characters");
    }
    // Letters beyond ASCII are not documented, but accepted.
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter) || !letter.is_ascii();
    if !name.chars().all(allowed) {
        return malformed("made of letters, digits, underscores, hyphens and periods");
    }
    if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        return malformed("without periods at its ends or in a row");
    }
    let lower = name.to_ascii_lowercase();
    if RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
        return malformed("without the prefixes `AWS.` and `Amazon.`");
    }
    Ok(())
}

fn attribute_value(value: &MessageAttributeValue) -> Result<(), InvalidEntry> {
    let data_type = value.data_type();
    let part = "attribute value";
    if !value.string_list_values().is_empty() || !value.binary_list_values().is_empty() {
        // Reserved: SQS answers `UnsupportedOperation` to the whole call.
        return Err(InvalidEntry::Malformed {
            part,
            rule: "a single value and no list",
        });
    }
    if data_type.chars().count() > MAX_NAME_LENGTH {
        return Err(InvalidEntry::Malformed {
            part: "attribute data type",
            rule: "of at most 256 characters",
        });
    }
    characters("attribute data type", data_type)?;
    if data_type.starts_with("Binary") {
        return match value.binary_value() {
            Some(bytes) if !bytes.as_ref().is_empty() => Ok(()),
            _ => Err(InvalidEntry::Missing { part }),
        };
    }
    if !data_type.starts_with("String") && !data_type.starts_with("Number") {
        return Err(InvalidEntry::Malformed {
            part: "attribute data type",
            rule: "`String`, `Number` or `Binary`, with a label or without",
        });
    }
    let text = value.string_value().unwrap_or_default();
    if text.is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    characters(part, text)?;
    if data_type == "Number" && !is_number(text) {
        return Err(InvalidEntry::Malformed { part, rule: "a number" });
    }
    Ok(())
}

/// Whatever can be read as a number, without the words `inf` and `NaN`. Range and precision are left to the service.
fn is_number(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit()) && text.trim().parse::<f64>().is_ok()
}

fn delay(delay: Option<i32>, fifo: bool) -> Result<(), InvalidEntry> {
    let part = "delay in seconds";
    match delay {
        // A FIFO queue takes no delay of a single message, but takes a zero for none.
        None | Some(0) => Ok(()),
        Some(seconds) if !(0..=MAX_DELAY).contains(&seconds) => Err(InvalidEntry::OutOfRange {
            part,
            low: 0,
            high: i64::from(MAX_DELAY),
            actual: i64::from(seconds),
        }),
        Some(_) if fifo => Err(InvalidEntry::Malformed {
            part,
            rule: "left to the queue where the queue is FIFO",
        }),
        Some(_) => Ok(()),
    }
}

fn ids(message: &SendMessageBatchRequestEntry, fifo: bool) -> Result<(), InvalidEntry> {
    let group = message.message_group_id();
    if fifo && group.is_none_or(str::is_empty) {
        return Err(InvalidEntry::Missing {
            part: "message group id",
        });
    }
    // Standard queues take group ids too: they make the queue fair.
    group.map_or(Ok(()), |group| id("message group id", group))?;

    // A FIFO queue may make the deduplication id from the body; whether it does only the queue knows.
    let Some(deduplication) = message.message_deduplication_id() else {
        return Ok(());
    };
    if !fifo {
        // SQS answers `InvalidParameterValue`: not valid for this queue type.
        return Err(InvalidEntry::Malformed {
            part: "message deduplication id",
            rule: "absent where the queue is not FIFO",
        });
    }
    id("message deduplication id", deduplication)
}

fn id(part: &'static str, id: &str) -> Result<(), InvalidEntry> {
    // The graphic characters of ASCII are the letters, the digits and the punctuation.
    if (1..=MAX_ID_LENGTH).contains(&id.len()) && id.bytes().all(|letter| letter.is_ascii_graphic()) {
        return Ok(());
    }
    Err(InvalidEntry::Malformed {
        part,
        rule: "1 to 128 letters, digits and punctuation characters of ASCII",
    })
}

fn characters(part: &'static str, text: &str) -> Result<(), InvalidEntry> {
    if !is_suspicious(text) {
        return Ok(());
    }
    match text.char_indices().find(|(_, letter)| !is_allowed(*letter)) {
        None => Ok(()),
        Some((position, letter)) => Err(InvalidEntry::Character {
            part,
            code_point: u32::from(letter),
            position,
        }),
    }
}

/// Whether any character may be one that is not allowed: a control character, or one that starts as U+FFFE and U+FFFF do.
/// Without an early end, so that many bytes are looked at at once.
fn is_suspicious(text: &str) -> bool {
    let bytes = text.bytes();
    bytes.fold(0, |found, byte| found | u8::from(byte < 0x20) | u8::from(byte == 0xEF)) > 0
}

/// From the API reference of `SendMessage`: what XML 1.0 can write. Surrogates cannot occur in a `char`.
pub(super) fn is_allowed(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::primitives::Blob;
    use aws_sdk_sqs::types::builders::SendMessageBatchRequestEntryBuilder;

    use super::super::MAX_MESSAGE_BYTES;
    use super::super::testing::{binary, message, text};
    use super::*;

    const STANDARD: bool = false;
    const FIFO: bool = true;

    fn checked(message: SendMessageBatchRequestEntryBuilder, fifo: bool) -> Result<usize, String> {
        check(&message.build().unwrap(), fifo, MAX_MESSAGE_BYTES).map_err(|refusal| refusal.to_string())
    }

    fn refusal(message: SendMessageBatchRequestEntryBuilder) -> String {
        checked(message, STANDARD).unwrap_err()
    }

    #[test]
    fn lists_of_values_are_reserved() {
        let value = || MessageAttributeValue::builder().data_type("String").string_value("a");
        let lists = [
            value().string_list_values("b").build().unwrap(),
            value().binary_list_values(Blob::new("b")).build().unwrap(),
        ];
        for list in lists {
            let refused = refusal(message("body").message_attributes("list", list));
            assert_eq!(refused, "the attribute value must be a single value and no list");
        }
    }

    #[test]
    fn a_message_of_exactly_the_limit_passes_and_one_byte_more_is_refused() {
        assert_eq!(checked(message(&"x".repeat(1_048_576)), STANDARD), Ok(1_048_576));
        assert_eq!(
            refusal(message(&"x".repeat(1_048_577))),
            "the message has 1048577 bytes, the limit is 1048576"
        );
    }

    #[test]
    fn attributes_count() {
        let with = |bytes: usize| message(&"x".repeat(bytes)).message_attributes("name", text("String", "value"));
        assert_eq!(checked(with(1_048_576 - 15), STANDARD), Ok(1_048_576));
        assert_eq!(
            refusal(with(1_048_576 - 14)),
            "the message has 1048577 bytes, the limit is 1048576"
        );
    }

    #[test]
    fn a_body_is_needed() {
        assert_eq!(refusal(message("")), "the message body is missing or empty");
    }

    #[test]
    fn characters_are_those_of_xml() {
        for allowed in [
            '\t',
            '\n',
            '\r',
            ' ',
            '\u{7f}',
            '\u{D7FF}',
            '\u{E000}',
            '\u{FFFD}',
            '\u{10000}',
            '\u{10FFFF}',
        ] {
            assert!(checked(message(&allowed.to_string()), STANDARD).is_ok(), "{allowed:?}");
        }
        for refused in [
            '\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{FFFE}', '\u{FFFF}',
        ] {
            assert!(checked(message(&refused.to_string()), STANDARD).is_err(), "{refused:?}");
        }
        assert_eq!(
            refusal(message("sécret\u{1}")),
            "the message body has U+0001 at byte 7, a character that is not allowed"
        );
        assert_eq!(
            refusal(message("x").message_attributes("name", text("String", "\u{FFFE}"))),
            "the attribute value has U+FFFE at byte 0, a character that is not allowed"
        );
    }

    #[test]
    fn ten_attributes_pass_and_eleven_are_refused() {
        let with = |count: usize| {
            (0..count).fold(message("x"), |message, number| {
                message.message_attributes(format!("a{number}"), text("String", "x"))
            })
        };
        assert!(checked(with(10), STANDARD).is_ok());
        assert_eq!(refusal(with(11)), "there are 11 message attributes, the limit is 10");
    }

    #[test]
    fn attribute_names_keep_the_rules() {
        let named = |name: &str| checked(message("x").message_attributes(name, text("String", "x")), STANDARD);
        let longest = "n".repeat(256);
        for name in ["a", "A-b_c.9", "größe", "aws", "awsome.x", longest.as_str()] {
            assert!(named(name).is_ok(), "{name}");
        }
        let longer = "n".repeat(257);
        for name in [
            "",
            "a b",
            "a/b",
            ".a",
            "a.",
            "a..b",
            "AWS.a",
            "amazon.a",
            longer.as_str(),
        ] {
            assert!(named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn attribute_values_keep_the_rules() {
        let valued = |value| checked(message("x").message_attributes("name", value), STANDARD);
        for value in [
            text("String", "x"),
            text("String.label", "x"),
            text("Number", "-1.5e3"),
            text("Number.int", "x"),
            binary(b"x"),
        ] {
            assert!(valued(value).is_ok());
        }
        let long_type = format!("String.{}", "x".repeat(250));
        for value in [
            text("String", ""),
            text("Binary", "x"),
            text("Number", "x"),
            text("Number", "NaN"),
            text("Number", ""),
            text("Text", "x"),
            text("", "x"),
            text(&long_type, "x"),
            binary(b""),
        ] {
            assert!(valued(value).is_err());
        }
    }

    #[test]
    fn delays_go_from_0_to_900() {
        for delay in [0, 1, 900] {
            assert!(checked(message("x").delay_seconds(delay), STANDARD).is_ok());
        }
        assert_eq!(
            refusal(message("x").delay_seconds(901)),
            "the delay in seconds is 901, the limits are 0 and 900"
        );
        assert!(checked(message("x").delay_seconds(-1), STANDARD).is_err());
    }

    #[test]
    fn a_fifo_queue_takes_no_delay() {
        let with = |delay| checked(message("x").message_group_id("g").delay_seconds(delay), FIFO);
        assert!(with(0).is_ok());
        assert_eq!(
            with(1).unwrap_err(),
            "the delay in seconds must be left to the queue where the queue is FIFO"
        );
    }

    #[test]
    fn a_fifo_queue_needs_a_group() {
        assert_eq!(
            checked(message("x"), FIFO).unwrap_err(),
            "the message group id is missing or empty"
        );
        assert!(checked(message("x").message_group_id(""), FIFO).is_err());
        assert!(checked(message("x").message_group_id("g"), FIFO).is_ok());
        assert!(checked(message("x").message_group_id("g"), STANDARD).is_ok());
    }

    #[test]
    fn ids_are_up_to_128_graphic_characters() {
        let with = |id: &str| message("x").message_group_id(id).message_deduplication_id(id);
        let punctuation = r##"azAZ09!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"##;
        assert!(checked(with(punctuation), FIFO).is_ok());
        assert!(checked(with(&"x".repeat(128)), FIFO).is_ok());
        for id in ["a b", "ä", "\u{7f}", &"x".repeat(129)] {
            assert!(checked(message("x").message_group_id(id), FIFO).is_err(), "{id}");
            let deduplicated = message("x").message_group_id("g").message_deduplication_id(id);
            assert!(checked(deduplicated, FIFO).is_err(), "{id}");
        }
    }

    #[test]
    fn a_standard_queue_takes_no_deduplication_id() {
        assert_eq!(
            refusal(message("x").message_deduplication_id("d")),
            "the message deduplication id must be absent where the queue is not FIFO"
        );
    }
}
