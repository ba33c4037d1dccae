//! Finds messages that SQS would refuse.
//!
//! A message that breaks a rule of FIFO queues causes the whole call to be refused, so it is found before the call. Rules that
//! AWS documents but does not enforce (letters beyond ASCII in attribute names) are left to the service.

use std::borrow::Cow;

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use aws_smithy_types::base64;

use super::message_size;
use crate::invalid::InvalidEntry;
use crate::services::checks::{check_characters, check_count, check_length, check_size};
use crate::services::described::check_ids;

/// Attributes of a message.
pub(super) const MAX_ATTRIBUTES: usize = 10;

/// Characters of an attribute's name, and of its data type.
const MAX_NAME_LENGTH: usize = 256;

const LENGTH_RULE: &str = "of at most 256 characters";

/// Seconds by which a message may be delayed: 15 minutes.
const MAX_DELAY: i32 = 900;

/// Prefixes of attribute names that AWS reserves, in upper or lower case.
const RESERVED_PREFIXES: &[&str] = &["aws.", "amazon."];

/// Checks one message, which may have at most `message_bytes`, and returns its size.
pub(super) fn check(
    message: &SendMessageBatchRequestEntry,
    fifo: bool,
    message_bytes: usize,
) -> Result<usize, InvalidEntry> {
    let size = message_size(message);
    if message.message_body().is_empty() {
        return Err(InvalidEntry::Missing { part: "message body" });
    }
    check_size("message", message_bytes, size)?;
    characters("message body", message.message_body())?;
    attributes(message)?;
    delay(message.delay_seconds(), fifo)?;
    let (group, deduplication) = (message.message_group_id(), message.message_deduplication_id());
    check_ids(group, deduplication, fifo)?;
    Ok(size)
}

fn attributes(message: &SendMessageBatchRequestEntry) -> Result<(), InvalidEntry> {
    let Some(attributes) = message.message_attributes() else {
        return Ok(());
    };
    check_count("message attributes", MAX_ATTRIBUTES, attributes.len())?;
    attributes.iter().try_for_each(|(name, value)| {
        let checked = attribute_name(name).and_then(|()| attribute_value(value));
        checked.map_err(|invalid| invalid.of_attribute(name))
    })
}

fn attribute_name(name: &str) -> Result<(), InvalidEntry> {
    let part = "attribute name";
    if name.is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    let malformed = |rule| Err(InvalidEntry::malformed(part, rule));
    check_length(part, name, MAX_NAME_LENGTH, LENGTH_RULE)?;
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
        return Err(InvalidEntry::malformed(part, "a single value, not a list"));
    }
    let part_of_type = "attribute data type";
    check_length(part_of_type, data_type, MAX_NAME_LENGTH, LENGTH_RULE)?;
    characters(part_of_type, data_type)?;
    if data_type.starts_with("Binary") {
        return match value.binary_value() {
            Some(bytes) if !bytes.as_ref().is_empty() => Ok(()),
            _ => Err(InvalidEntry::Missing { part }),
        };
    }
    if !data_type.starts_with("String") && !data_type.starts_with("Number") {
        let rule = "`String`, `Number` or `Binary`, with a label or without";
        return Err(InvalidEntry::malformed(part_of_type, rule));
    }
    let text = value.string_value().unwrap_or_default();
    if text.is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    characters(part, text)?;
    if data_type == "Number" && !is_number(text) {
        return Err(InvalidEntry::malformed(part, "a number"));
    }
    Ok(())
}

/// Whether the text can be read as a number, other than `inf` and `NaN`. Range and precision are left to the service.
fn is_number(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit()) && text.trim().parse::<f64>().is_ok()
}

fn delay(delay: Option<i32>, fifo: bool) -> Result<(), InvalidEntry> {
    let part = "delay in seconds";
    match delay {
        // A FIFO queue refuses a delay of a single message, but accepts 0.
        None | Some(0) => Ok(()),
        Some(seconds) if !(0..=MAX_DELAY).contains(&seconds) => Err(InvalidEntry::OutOfRange {
            part,
            low: 0,
            high: i64::from(MAX_DELAY),
            actual: i64::from(seconds),
        }),
        Some(_) if fifo => Err(InvalidEntry::malformed(part, "absent or 0 if the queue is FIFO")),
        Some(_) => Ok(()),
    }
}

fn characters(part: &'static str, text: &str) -> Result<(), InvalidEntry> {
    if !is_suspicious(text) {
        return Ok(());
    }
    check_characters(part, text, is_allowed)
}

/// Whether the text may have a character that is not allowed: a control character, or one with the first byte of U+FFFE and
/// U+FFFF. It reads the whole text without an early exit, so that the compiler can vectorize the loop.
fn is_suspicious(text: &str) -> bool {
    let bytes = text.bytes();
    bytes.fold(0, |found, byte| found | u8::from(byte < 0x20) | u8::from(byte == 0xEF)) > 0
}

/// From the API reference of `SendMessage`: the characters of XML 1.0. Surrogates cannot occur in a `char`.
pub(super) fn is_allowed(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..)
}

/// The message attribute that marks an encoded body. MIME has a header with this name.
pub const ENCODING_ATTRIBUTE: &str = "Content-Transfer-Encoding";

/// The value of [`ENCODING_ATTRIBUTE`]: the body is the base64, with padding, of the UTF-8 bytes of the original body.
pub const ENCODING: &str = "base64";

/// The message in a form that SQS accepts. A message that needs no encoding stays as it is. So does a message that already has
/// the attribute: its reader could not know whether the sender or this crate encoded it.
pub(super) fn encoded(message: &SendMessageBatchRequestEntry) -> Cow<'_, SendMessageBatchRequestEntry> {
    let attributes = message.message_attributes();
    let is_taken = attributes.is_some_and(|attributes| attributes.contains_key(ENCODING_ATTRIBUTE));
    if is_taken || message.message_body().chars().all(is_allowed) {
        return Cow::Borrowed(message);
    }
    let value = MessageAttributeValue::builder()
        .data_type("String")
        .string_value(ENCODING);
    let Ok(value) = value.build() else {
        // Building fails only without a data type.
        return Cow::Borrowed(message);
    };
    let mut encoded = message.clone();
    encoded.message_body = base64::encode(message.message_body());
    let attributes = encoded.message_attributes.get_or_insert_default();
    attributes.insert(ENCODING_ATTRIBUTE.to_owned(), value);
    Cow::Owned(encoded)
}

#[cfg(test)]
mod tests;
