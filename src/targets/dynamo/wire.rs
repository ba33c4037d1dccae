//! The body of a call, as the SDK would write it, and how long it is.
//!
//! DynamoDB limits the body, and the body exceeds what the items count: base64, escapes, type tags.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};

use super::length::{Length, LongestLength};
use crate::targets::body::{Body, is_known};
use crate::targets::json::Json;

type Attributes = HashMap<String, AttributeValue>;

/// All that a write has is written here.
const ALL_KNOWN: bool = is_known::<WriteRequest, (Option<Attributes>, Option<Attributes>)>()
    && is_known::<PutRequest, Attributes>()
    && is_known::<DeleteRequest, Attributes>();

/// The question what capacity a call takes.
const QUESTION: &str = r#","ReturnConsumedCapacity":"TOTAL""#;

/// Bytes of the question what capacity a call takes.
pub(super) const ASKING: usize = QUESTION.len();

/// The body of a call with some tables' requests; `None` if only the SDK can write it.
pub(super) fn body(tables: &[(&str, Vec<&WriteRequest>)], metered: bool) -> Option<Body> {
    let content = |body: &mut Vec<u8>| {
        body.raw(r#"{"RequestItems":{"#);
        body.list(tables, |body, (table, requests)| {
            body.string(table);
            body.raw(":[");
            body.list(requests, |body, request| write(body, request));
            body.raw("]");
        });
        body.raw("}");
        if metered {
            body.raw(QUESTION);
        }
        body.raw("}");
    };
    ALL_KNOWN.then(|| Body::written(content))
}

/// Bytes of a body that writes to `table`, without its requests. The comma that each request but the last has is counted by
/// [`request`], so one is taken off here.
pub(super) fn envelope(table: &str) -> usize {
    let mut length = Length::default();
    length.string(table);
    r#"{"RequestItems":{:[]}}"#.len() + length.0 - 1
}

/// A call full of requests that count as long as they might be takes up one part of so many of its body: few calls are that
/// full. And as many of them as a delivery lets wait stay within the bytes that it lets wait.
const SMALL_PART: usize = 100;

/// Bytes that one request takes up of a body with room for so many, in so many requests. A small one counts as long as it
/// might be, so that its text need not be looked at; see [`request`].
pub(super) fn taken(request: &WriteRequest, room: usize, requests: usize) -> usize {
    let mut longest = LongestLength::default();
    write(&mut longest, request);
    if longest.0 < room / SMALL_PART / requests.max(1) {
        longest.0 + 1
    } else {
        self::request(request)
    }
}

/// Bytes of one request and of the comma after it.
pub(super) fn request(request: &WriteRequest) -> usize {
    let mut length = Length::default();
    write(&mut length, request);
    length.0 + 1
}

fn write(json: &mut impl Json, request: &WriteRequest) {
    json.raw("{");
    if let Some(put) = request.put_request() {
        json.raw(r#""PutRequest":{"Item":{"#);
        attributes(json, put.item());
        json.raw("}}");
    }
    if let Some(delete) = request.delete_request() {
        json.raw(if request.put_request().is_some() { "," } else { "" });
        json.raw(r#""DeleteRequest":{"Key":{"#);
        attributes(json, delete.key());
        json.raw("}}");
    }
    json.raw("}");
}

fn attributes<J: Json>(json: &mut J, attributes: &Attributes) {
    json.list(attributes, |json, (name, value)| {
        json.raw("\"");
        json.escaped(name);
        json.raw("\":");
        self::value(json, value);
    });
}

/// `{"S":"…"}` and its like.
fn value<J: Json>(json: &mut J, value: &AttributeValue) {
    match value {
        AttributeValue::S(text) => tagged(json, r#"{"S":""#, text, r#""}"#),
        AttributeValue::N(number) => tagged(json, r#"{"N":""#, number, r#""}"#),
        AttributeValue::B(blob) => {
            json.raw(r#"{"B":"#);
            json.base64(blob.as_ref());
            json.raw("}");
        }
        AttributeValue::Ss(texts) => listed(json, r#"{"SS":["#, texts, |json, text| json.string(text)),
        AttributeValue::Ns(numbers) => listed(json, r#"{"NS":["#, numbers, |json, number| json.string(number)),
        AttributeValue::Bs(blobs) => listed(json, r#"{"BS":["#, blobs, |json, blob| json.base64(blob.as_ref())),
        AttributeValue::L(values) => listed(json, r#"{"L":["#, values, self::value),
        AttributeValue::M(map) => {
            json.raw(r#"{"M":{"#);
            attributes(json, map);
            json.raw("}}");
        }
        AttributeValue::Bool(true) => json.raw(r#"{"BOOL":true}"#),
        AttributeValue::Bool(false) => json.raw(r#"{"BOOL":false}"#),
        AttributeValue::Null(true) => json.raw(r#"{"NULL":true}"#),
        AttributeValue::Null(false) => json.raw(r#"{"NULL":false}"#),
        // No entry with a value that is not known passes its check. The service refuses one without a type.
        _ => json.raw("{}"),
    }
}

fn tagged(json: &mut impl Json, before: &'static str, text: &str, after: &'static str) {
    json.raw(before);
    json.escaped(text);
    json.raw(after);
}

fn listed<'a, J: Json, T>(json: &mut J, before: &'static str, parts: &'a [T], write: impl FnMut(&mut J, &'a T)) {
    json.raw(before);
    json.list(parts, write);
    json.raw("]}");
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::Client;
    use proptest::collection::{hash_map, vec};
    use proptest::prelude::*;

    use super::super::DynamoTable;
    use super::super::testing::{client, runtime, watched};
    use super::*;
    use crate::targets::BatchTarget;
    use crate::targets::recording::Recorder;
    use aws_sdk_dynamodb::primitives::Blob;

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

    fn sent(client: Client, recorder: &Recorder, table: &str, requests: &[WriteRequest], metered: bool) -> String {
        let target = DynamoTable::new(client, table);
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
        fn bodies_are_the_sdks_and_have_the_bytes_that_were_counted(
            requests in vec(any_request(), 1..6),
            table in "[a-zA-Z0-9_.:/-]{3,60}",
            metered in any::<bool>(),
        ) {
            let recorder = || Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
            let (ours, of_the_sdk) = (recorder(), recorder());
            let ours = sent(client(&ours), &ours, &table, &requests, metered);
            prop_assert_eq!(&ours, &sent(watched(&of_the_sdk), &of_the_sdk, &table, &requests, metered));
            let counted = envelope(&table) + requests.iter().map(request).sum::<usize>();
            prop_assert_eq!(ours.len(), if metered { counted + ASKING } else { counted });
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
