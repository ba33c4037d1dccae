//! Bytes of a call's body on the wire.
//!
//! DynamoDB limits the body, and the body exceeds what the items count: base64, escapes, type tags. These are the bytes that
//! the SDK's JSON has, without building it.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};

/// Bytes of a body that writes to `table`, without its requests. The comma that each request but the last has is counted by
/// [`request`], so one is taken off here.
pub(super) fn envelope(table: &str) -> usize {
    r#"{"RequestItems":{:[]}}"#.len() + string(table) - 1
}

/// Bytes of the question what capacity a call takes.
pub(super) const ASKING: usize = r#","ReturnConsumedCapacity":"TOTAL""#.len();

/// Bytes of one request and of the comma after it.
pub(super) fn request(request: &WriteRequest) -> usize {
    let put = request
        .put_request()
        .map(|put| r#""PutRequest":{"Item":}"#.len() + attributes(put.item()));
    let delete = request
        .delete_request()
        .map(|delete| r#""DeleteRequest":{"Key":}"#.len() + attributes(delete.key()));
    let parts = put.into_iter().chain(delete);
    list(parts) + 1
}

fn attributes(attributes: &HashMap<String, AttributeValue>) -> usize {
    list(
        attributes
            .iter()
            .map(|(name, value)| string(name) + 1 + self::value(value)),
    )
}

/// `{"S":"…"}` and its like.
fn value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => tagged("S", string(text)),
        AttributeValue::N(number) => tagged("N", string(number)),
        AttributeValue::B(bytes) => tagged("B", blob(bytes)),
        AttributeValue::Ss(texts) => tagged("SS", list(texts.iter().map(|text| string(text)))),
        AttributeValue::Ns(numbers) => tagged("NS", list(numbers.iter().map(|number| string(number)))),
        AttributeValue::Bs(blobs) => tagged("BS", list(blobs.iter().map(blob))),
        AttributeValue::L(values) => tagged("L", list(values.iter().map(self::value))),
        AttributeValue::M(map) => tagged("M", attributes(map)),
        AttributeValue::Bool(value) => tagged("BOOL", boolean(*value)),
        AttributeValue::Null(value) => tagged("NULL", boolean(*value)),
        // What this SDK does not know it does not send.
        _ => 0,
    }
}

fn tagged(tag: &str, value: usize) -> usize {
    r#"{"":}"#.len() + tag.len() + value
}

/// A list or an object: its parts, the commas between them, the brackets around them.
fn list(parts: impl Iterator<Item = usize>) -> usize {
    let (count, bytes) = parts.fold((0_usize, 0), |(count, bytes), part| (count + 1, bytes + part));
    "[]".len() + bytes + count.saturating_sub(1)
}

fn boolean(value: bool) -> usize {
    if value { "true".len() } else { "false".len() }
}

/// Base64 with padding, in quotes.
fn blob(bytes: &Blob) -> usize {
    r#""""#.len() + bytes.as_ref().len().div_ceil(3) * 4
}

/// A string in quotes, escaped.
fn string(text: &str) -> usize {
    let bytes = text.as_bytes();
    // Nearly no text has any. Without an early end, so that many bytes are looked at at once.
    let needs_escapes = bytes.iter().fold(0, |found, byte| {
        found | u8::from(*byte < 0x20) | u8::from(*byte == b'"') | u8::from(*byte == b'\\')
    });
    let escaped = if needs_escapes > 0 {
        bytes.iter().copied().map(escaped).sum()
    } else {
        bytes.len()
    };
    r#""""#.len() + escaped
}

fn escaped(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => r"\n".len(),
        0..=0x1F => r"\u0000".len(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest};
    use proptest::collection::{hash_map, vec};
    use proptest::prelude::*;

    use super::super::DynamoTable;
    use super::super::testing::{client, runtime};
    use super::*;
    use crate::target::BatchTarget;
    use crate::target::recording::Recorder;

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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn bodies_have_the_bytes_that_were_counted(requests in vec(any_request(), 1..6), table in "[a-zA-Z0-9_.:/-]{3,60}") {
            let recorder = Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
            let target = DynamoTable::new(client(&recorder), table.as_str());
            runtime().block_on(target.send(&requests));
            let counted = envelope(&table) + requests.iter().map(request).sum::<usize>();
            prop_assert_eq!(recorder.only_request().body.len(), counted);
        }
    }
}
