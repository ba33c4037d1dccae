//! The body of a call, as the SDK would write it.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    SendMessageBatchRequestEntry,
};

use super::correlate::wire_id;
use crate::targets::body::{Body, is_known};
use crate::targets::json::Json;

type AttributeFields = (
    Option<String>,
    Option<Blob>,
    Option<Vec<String>>,
    Option<Vec<Blob>>,
    String,
);

type MessageFields = (
    String,
    String,
    Option<i32>,
    Option<HashMap<String, MessageAttributeValue>>,
    Option<HashMap<MessageSystemAttributeNameForSends, MessageSystemAttributeValue>>,
    Option<String>,
    Option<String>,
);

/// All that a message has is written here.
const ALL_KNOWN: bool = is_known::<SendMessageBatchRequestEntry, MessageFields>()
    && is_known::<MessageAttributeValue, AttributeFields>()
    && is_known::<MessageSystemAttributeValue, AttributeFields>();

/// The body of a call with these messages, each with its id of this call; `None` if only the SDK can write it.
pub(super) fn body<'a>(
    queue_url: &str,
    messages: impl Iterator<Item = Cow<'a, SendMessageBatchRequestEntry>>,
) -> Option<Body> {
    let content = |body: &mut Vec<u8>| {
        body.raw(r#"{"QueueUrl":"#);
        body.string(queue_url);
        body.raw(r#","Entries":["#);
        body.list(messages.enumerate(), |body, (place, message)| {
            write(body, place, &message);
        });
        body.raw("]}");
    };
    ALL_KNOWN.then(|| Body::written(content))
}

fn write(json: &mut impl Json, place: usize, message: &SendMessageBatchRequestEntry) {
    json.raw(r#"{"Id":"#);
    json.string(&wire_id(place));
    json.raw(r#","MessageBody":"#);
    json.string(message.message_body());
    if let Some(delay) = message.delay_seconds() {
        json.raw(r#","DelaySeconds":"#);
        json.raw(&delay.to_string());
    }
    if let Some(attributes) = message.message_attributes() {
        json.raw(r#","MessageAttributes":{"#);
        json.list(attributes, |json, (name, value)| {
            json.string(name);
            Value::from(value).write(json);
        });
        json.raw("}");
    }
    if let Some(attributes) = message.message_system_attributes() {
        json.raw(r#","MessageSystemAttributes":{"#);
        json.list(attributes, |json, (name, value)| {
            json.string(name.as_str());
            Value::from(value).write(json);
        });
        json.raw("}");
    }
    if let Some(id) = message.message_deduplication_id() {
        json.raw(r#","MessageDeduplicationId":"#);
        json.string(id);
    }
    if let Some(id) = message.message_group_id() {
        json.raw(r#","MessageGroupId":"#);
        json.string(id);
    }
    json.raw("}");
}

/// The value of an attribute, of the caller's or of the system's.
struct Value<'a> {
    text: Option<&'a str>,
    bytes: Option<&'a Blob>,
    texts: Option<&'a [String]>,
    blobs: Option<&'a [Blob]>,
    data_type: &'a str,
}

impl<'a> From<&'a MessageAttributeValue> for Value<'a> {
    fn from(value: &'a MessageAttributeValue) -> Self {
        Self {
            text: value.string_value(),
            bytes: value.binary_value(),
            texts: value.string_list_values.as_deref(),
            blobs: value.binary_list_values.as_deref(),
            data_type: value.data_type(),
        }
    }
}

impl<'a> From<&'a MessageSystemAttributeValue> for Value<'a> {
    fn from(value: &'a MessageSystemAttributeValue) -> Self {
        Self {
            text: value.string_value(),
            bytes: value.binary_value(),
            texts: value.string_list_values.as_deref(),
            blobs: value.binary_list_values.as_deref(),
            data_type: value.data_type(),
        }
    }
}

impl Value<'_> {
    fn write(&self, json: &mut impl Json) {
        json.raw(":{");
        if let Some(text) = self.text {
            json.raw(r#""StringValue":"#);
            json.string(text);
            json.raw(",");
        }
        if let Some(bytes) = self.bytes {
            json.raw(r#""BinaryValue":"#);
            json.base64(bytes.as_ref());
            json.raw(",");
        }
        if let Some(texts) = self.texts {
            json.raw(r#""StringListValues":["#);
            json.list(texts, |json, text| json.string(text));
            json.raw("],");
        }
        if let Some(blobs) = self.blobs {
            json.raw(r#""BinaryListValues":["#);
            json.list(blobs, |json, blob| json.base64(blob.as_ref()));
            json.raw("],");
        }
        json.raw(r#""DataType":"#);
        json.string(self.data_type);
        json.raw("}");
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::Client;
    use proptest::collection::{hash_map, vec};
    use proptest::option;
    use proptest::prelude::*;

    use super::super::SqsQueue;
    use super::super::testing::{client, watched};
    use super::*;
    use crate::targets::BatchTarget;
    use crate::targets::recording::Recorder;

    /// Control characters, quotes, and characters of two to four bytes.
    const TEXT: &str = "[\\x00-\\x7f€ü😀\"\\\\]{0,12}";

    fn any_value() -> impl Strategy<Value = MessageAttributeValue> {
        let blob = || vec(any::<u8>(), 0..20).prop_map(Blob::new);
        let lists = (option::of(vec(TEXT, 0..3)), option::of(vec(blob(), 0..3)));
        (option::of(TEXT), option::of(blob()), lists, TEXT).prop_map(|(text, bytes, (texts, blobs), data_type)| {
            MessageAttributeValue::builder()
                .set_string_value(text)
                .set_binary_value(bytes)
                .set_string_list_values(texts)
                .set_binary_list_values(blobs)
                .data_type(data_type)
                .build()
                .unwrap()
        })
    }

    fn of_the_system(value: &MessageAttributeValue) -> MessageSystemAttributeValue {
        MessageSystemAttributeValue::builder()
            .set_string_value(value.string_value.clone())
            .set_binary_value(value.binary_value.clone())
            .set_string_list_values(value.string_list_values.clone())
            .set_binary_list_values(value.binary_list_values.clone())
            .data_type(&value.data_type)
            .build()
            .unwrap()
    }

    fn any_message() -> impl Strategy<Value = SendMessageBatchRequestEntry> {
        let attributes = option::of(hash_map(TEXT, any_value(), 0..4));
        let ids = (option::of(TEXT), option::of(TEXT));
        (TEXT, option::of(any::<u16>()), attributes, option::of(any_value()), ids).prop_map(
            |(body, delay, attributes, system, (group, deduplication))| {
                let system = system.map(|value| {
                    HashMap::from([(
                        MessageSystemAttributeNameForSends::AwsTraceHeader,
                        of_the_system(&value),
                    )])
                });
                SendMessageBatchRequestEntry::builder()
                    .id("mine")
                    .message_body(body)
                    .set_delay_seconds(delay.map(i32::from))
                    .set_message_attributes(attributes)
                    .set_message_system_attributes(system)
                    .set_message_group_id(group)
                    .set_message_deduplication_id(deduplication)
                    .build()
                    .unwrap()
            },
        )
    }

    fn sent(client: Client, recorder: &Recorder, messages: &[SendMessageBatchRequestEntry]) -> String {
        let queue = SqsQueue::new(client, "https://sqs.eu-central-1.amazonaws.com/123456789012/orders");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(queue.send(messages));
        recorder.only_request().body
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn bodies_are_the_sdks(messages in vec(any_message(), 1..12)) {
            let (ours, of_the_sdk) = (Recorder::answering(200, "{}"), Recorder::answering(200, "{}"));
            prop_assert_eq!(
                sent(client(&ours), &ours, &messages),
                sent(watched(&of_the_sdk), &of_the_sdk, &messages)
            );
        }
    }
}
