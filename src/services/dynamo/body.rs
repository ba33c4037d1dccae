//! The size of a call's body, as the SDK writes it.
//!
//! DynamoDB limits the body, which is larger than the size of the items: base64, escapes, type tags.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use aws_smithy_types::base64;

/// Bytes that a call needs to ask for the capacity that it consumes.
pub(super) const ASKING: usize = r#","ReturnConsumedCapacity":"TOTAL""#.len();

const QUOTES: usize = r#""""#.len();
const COLON: usize = ":".len();
const COMMA: usize = ",".len();

/// Bytes of a character that is escaped by its code point.
const CODE: usize = r"\u0000".len();

/// Requests below this part of the body's limit are counted at their largest possible size. Few calls are so full that this
/// matters, and the entries that may wait in memory stay within their limit as well.
const SMALL_PART: usize = 100;

/// Bytes of a body that writes to `table`, without its requests. [`request`] counts a comma after each request, so one is
/// subtracted here.
pub(super) fn envelope(table: &str) -> usize {
    r#"{"RequestItems":{:[]}}"#.len() + QUOTES + text_bytes(table) - COMMA
}

/// Bytes that one request takes in a body with `room` bytes for at most `requests` requests. A small request is counted at
/// its largest possible size, so that its text need not be read; see [`request`].
pub(super) fn taken(request: &WriteRequest, room: usize, requests: usize) -> usize {
    let longest = Counter(most_text_bytes).request(request);
    if longest < room / SMALL_PART / requests.max(1) {
        longest + COMMA
    } else {
        self::request(request)
    }
}

/// Bytes of one request and of the comma after it.
pub(super) fn request(request: &WriteRequest) -> usize {
    Counter(text_bytes).request(request) + COMMA
}

/// Counts bytes of JSON; the field counts the bytes of a text between its quotes.
#[derive(Clone, Copy)]
struct Counter<Text>(Text);

impl<Text: Fn(&str) -> usize + Copy> Counter<Text> {
    fn request(self, request: &WriteRequest) -> usize {
        let put = request.put_request().map_or(0, |put| {
            r#""PutRequest":{"Item":{}}"#.len() + self.attributes(put.item())
        });
        let delete = request.delete_request().map_or(0, |delete| {
            r#""DeleteRequest":{"Key":{}}"#.len() + self.attributes(delete.key())
        });
        let comma = if put > 0 && delete > 0 { COMMA } else { 0 };
        "{}".len() + put + comma + delete
    }

    fn attributes(self, attributes: &HashMap<String, AttributeValue>) -> usize {
        list(attributes, |(name, value)| {
            self.string(name) + COLON + self.value(value)
        })
    }

    /// `{"S":"…"}` and the other types.
    fn value(self, value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) => r#"{"S":}"#.len() + self.string(text),
            AttributeValue::N(number) => r#"{"N":}"#.len() + self.string(number),
            AttributeValue::B(blob) => r#"{"B":}"#.len() + bytes(blob),
            AttributeValue::Ss(texts) => r#"{"SS":[]}"#.len() + list(texts, |text| self.string(text)),
            AttributeValue::Ns(numbers) => r#"{"NS":[]}"#.len() + list(numbers, |number| self.string(number)),
            AttributeValue::Bs(blobs) => r#"{"BS":[]}"#.len() + list(blobs, bytes),
            AttributeValue::L(values) => r#"{"L":[]}"#.len() + list(values, |value| self.value(value)),
            AttributeValue::M(map) => r#"{"M":{}}"#.len() + self.attributes(map),
            AttributeValue::Bool(true) => r#"{"BOOL":true}"#.len(),
            AttributeValue::Bool(false) => r#"{"BOOL":false}"#.len(),
            AttributeValue::Null(true) => r#"{"NULL":true}"#.len(),
            AttributeValue::Null(false) => r#"{"NULL":false}"#.len(),
            // An entry with a value of an unknown type does not pass its check.
            _ => 0,
        }
    }

    fn string(self, text: &str) -> usize {
        QUOTES + (self.0)(text)
    }
}

/// Bytes of a text between its quotes.
fn text_bytes(text: &str) -> usize {
    let letters = text.bytes().filter(|byte| has_letter(*byte)).count();
    let codes = text.bytes().filter(|byte| *byte < 0x20 && !has_letter(*byte)).count();
    text.len() + (r"\n".len() - 1) * letters + (CODE - 1) * codes
}

/// An upper bound of the bytes between its quotes, without reading the text: as if all of it were escaped.
fn most_text_bytes(text: &str) -> usize {
    CODE * text.len()
}

/// Whether the byte has an escape of two characters; other bytes below 0x20 are escaped by their code point.
fn has_letter(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0x08 | 0x0C | b'\n' | b'\r' | b'\t')
}

/// A string of base64 with padding.
fn bytes(blob: &Blob) -> usize {
    QUOTES + base64::encoded_length(blob.as_ref().len())
}

/// Parts with commas between them.
fn list<T>(parts: impl IntoIterator<Item = T>, length: impl Fn(T) -> usize) -> usize {
    let with_commas: usize = parts.into_iter().map(|part| length(part) + COMMA).sum();
    with_commas.saturating_sub(COMMA)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest};
    use proptest::collection::{hash_map, vec};
    use proptest::prelude::*;

    use super::super::DynamoTable;
    use super::super::testing::{client, runtime};
    use super::*;
    use crate::aws::recording::Recorder;
    use crate::contract::BatchTarget;

    fn any_value() -> impl Strategy<Value = AttributeValue> {
        let bytes = || vec(any::<u8>(), 0..20).prop_map(Blob::new);
        // Control characters, quotes, and characters of two to four bytes.
        let text = || "[\\x00-\\x7f€ü😀\"\\\\]{0,12}";
        let leaf = prop_oneof![
            text().prop_map(AttributeValue::S),
            any::<f64>().prop_map(|number| AttributeValue::N(number.to_string())),
            bytes().prop_map(AttributeValue::B),
            vec(text(), 0..4).prop_map(AttributeValue::Ss),
            vec(any::<i32>(), 0..4)
                .prop_map(|numbers| AttributeValue::Ns(numbers.iter().map(i32::to_string).collect())),
            vec(bytes(), 0..4).prop_map(AttributeValue::Bs),
            any::<bool>().prop_map(AttributeValue::Bool),
            any::<bool>().prop_map(AttributeValue::Null),
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
                hash_map(text(), inner, 0..4).prop_map(AttributeValue::M),
            ]
        })
    }

    fn any_request() -> impl Strategy<Value = WriteRequest> {
        (hash_map("[a-z\"\n€]{1,8}", any_value(), 0..5), any::<bool>()).prop_map(|(attributes, put)| {
            if put {
                let put = PutRequest::builder().set_item(Some(attributes)).build().unwrap();
                WriteRequest::builder().put_request(put).build()
            } else {
                let delete = DeleteRequest::builder().set_key(Some(attributes)).build().unwrap();
                WriteRequest::builder().delete_request(delete).build()
            }
        })
    }

    fn sent(table: &str, requests: &[WriteRequest], metered: bool) -> String {
        let recorder = Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
        let target = DynamoTable::new(client(&recorder), table);
        if metered {
            runtime().block_on(target.send_metered(requests));
        } else {
            runtime().block_on(target.send(requests));
        }
        recorder.only_request().body
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_body_has_the_bytes_that_were_counted(
            requests in vec(any_request(), 1..6),
            table in "[a-zA-Z0-9_.:/-]{3,60}",
            metered in any::<bool>(),
        ) {
            let counted = envelope(&table) + requests.iter().map(request).sum::<usize>();
            let counted = if metered { counted + ASKING } else { counted };
            prop_assert_eq!(sent(&table, &requests, metered).len(), counted);
        }

        #[test]
        fn only_a_small_request_counts_for_more_than_it_has(
            any in any_request(),
            room in 0..10_000_000_usize,
            requests in 1..50_usize,
        ) {
            let (taken, exact) = (taken(&any, room, requests), request(&any));
            let is_small = taken * requests <= room / SMALL_PART;
            prop_assert!(taken == exact || taken > exact && is_small, "{} of {}", taken, exact);
        }
    }
}
