//! The message that is sent instead of one whose body is in S3, as the Extended Client Libraries write and read it.

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use serde_json::json;

use super::super::check::MAX_ATTRIBUTES;
use crate::invalid::InvalidEntry;
use crate::services::checks::check_count;

/// The message attribute of a message whose body is in S3; its value is the size of the body in bytes of UTF-8. From version 2
/// of the Extended Client Library for Java.
pub const PAYLOAD_SIZE_ATTRIBUTE: &str = "ExtendedPayloadSize";

/// The same attribute in version 1 of that library. Readers accept both.
const LEGACY_PAYLOAD_SIZE_ATTRIBUTE: &str = "SQSLargePayloadSize";

/// The Java class of a pointer, which is part of the format.
const CLASS: &str = "software.amazon.payloadoffloading.PayloadS3Pointer";

/// The message with a pointer to the object instead of its body. Everything else stays the same.
pub(super) fn to(bucket: &str, key: &str, message: &SendMessageBatchRequestEntry) -> SendMessageBatchRequestEntry {
    let size = MessageAttributeValue::builder()
        .data_type("Number")
        .string_value(message.message_body().len().to_string());
    let mut attributes = message.message_attributes.clone().unwrap_or_default();
    // Building fails only without a data type.
    attributes.extend(size.build().ok().map(|size| (PAYLOAD_SIZE_ATTRIBUTE.to_owned(), size)));
    let pointer = SendMessageBatchRequestEntry::builder()
        .id(&message.id)
        .message_body(body(bucket, key))
        .set_message_attributes(Some(attributes))
        .set_message_system_attributes(message.message_system_attributes.clone())
        .set_delay_seconds(message.delay_seconds)
        .set_message_group_id(message.message_group_id.clone())
        .set_message_deduplication_id(message.message_deduplication_id.clone());
    // Building fails only without an id or a body.
    pointer.build().unwrap_or_else(|_| message.clone())
}

/// Checks that the message has a body and room for the attribute of the pointer. The rest is checked on the pointer itself.
pub(super) fn check_room(message: &SendMessageBatchRequestEntry) -> Result<(), InvalidEntry> {
    if message.message_body().is_empty() {
        return Err(InvalidEntry::Missing { part: "message body" });
    }
    let Some(attributes) = message.message_attributes() else {
        return Ok(());
    };
    if [PAYLOAD_SIZE_ATTRIBUTE, LEGACY_PAYLOAD_SIZE_ATTRIBUTE]
        .iter()
        .any(|name| attributes.contains_key(*name))
    {
        let part = "name of an attribute of an offloaded message";
        let rule = "other than `ExtendedPayloadSize` and `SQSLargePayloadSize`";
        return Err(InvalidEntry::malformed(part, rule));
    }
    check_count(
        "attributes of an offloaded message",
        MAX_ATTRIBUTES - 1,
        attributes.len(),
    )
}

/// The body of a pointer, byte for byte as the library for Python writes it. The library for Java writes no spaces between the
/// tokens; each library reads both forms.
fn body(bucket: &str, key: &str) -> String {
    format!(
        r#"["{CLASS}", {{"s3BucketName": {}, "s3Key": {}}}]"#,
        json!(bucket),
        json!(key)
    )
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{MessageSystemAttributeNameForSends, MessageSystemAttributeValue};

    use super::super::super::testing::{message, text};
    use super::*;

    #[test]
    fn a_pointer_is_written_as_the_library_for_python_writes_it() {
        assert_eq!(
            body("large", "orders/c0ffee"),
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "large", "s3Key": "orders/c0ffee"}]"#
        );
    }

    #[test]
    fn the_size_is_that_of_the_body_in_utf_8() {
        let pointer = to("large", "key", &message("bödy €😀").build().unwrap());
        let size = &pointer.message_attributes().unwrap()[PAYLOAD_SIZE_ATTRIBUTE];
        assert_eq!((size.data_type(), size.string_value()), ("Number", Some("13")));
    }

    #[test]
    fn everything_but_the_body_stays() {
        let trace = MessageSystemAttributeValue::builder()
            .data_type("String")
            .string_value("t");
        let original = message("body")
            .message_attributes("mine", text("String", "x"))
            .message_system_attributes(
                MessageSystemAttributeNameForSends::AwsTraceHeader,
                trace.build().unwrap(),
            )
            .delay_seconds(7)
            .message_group_id("g")
            .message_deduplication_id("d")
            .build()
            .unwrap();
        let mut pointer = to("large", "key", &original);
        let attributes = pointer.message_attributes.as_mut().unwrap();
        assert!(attributes.remove(PAYLOAD_SIZE_ATTRIBUTE).is_some());
        pointer.message_body = original.message_body.clone();
        assert_eq!(pointer, original);
    }
}
