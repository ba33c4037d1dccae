//! Bodies with characters that SQS does not accept.

use std::borrow::Cow;

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use aws_smithy_types::base64;

use super::check::is_allowed;

/// The message attribute that marks an encoded body. MIME has a header with this name.
pub const ENCODING_ATTRIBUTE: &str = "Content-Transfer-Encoding";

/// The value of [`ENCODING_ATTRIBUTE`]: the body is the base64, with padding, of the UTF-8 bytes of the original body.
pub const ENCODING: &str = "base64";

/// The message in a form that SQS accepts. A message that needs no encoding stays as it is. So does a message that already has
/// the attribute: its reader could not tell whether the sender or this crate encoded it.
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
mod tests {
    use super::super::SqsQueue;
    use super::super::testing::{client, message, text};
    use super::*;
    use crate::invalid::InvalidEntry;
    use crate::targets::BatchTarget;
    use crate::targets::recording::Recorder;

    fn queue(recorder: &Recorder) -> SqsQueue {
        SqsQueue::new(
            client(recorder),
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
        )
        .encode_invalid_characters()
    }

    #[tokio::test]
    async fn a_body_with_invalid_characters_is_encoded_and_marked() {
        let recorder = Recorder::answering(200, "{}");
        let queue = queue(&recorder);
        let entry = message("a\u{0}ü")
            .message_attributes("mine", text("String", "x"))
            .build()
            .unwrap();
        // `YQDDvA==`, and both attributes.
        assert_eq!(queue.check(&entry), Ok(8 + 11 + 25 + 6 + 6));
        queue.send(&[entry]).await;
        let body = recorder.only_request().body;
        assert!(body.contains(r#""MessageBody":"YQDDvA==""#), "{body}");
        assert!(
            body.contains(r#""Content-Transfer-Encoding":{"#) && body.contains("mine"),
            "{body}"
        );
    }

    #[tokio::test]
    async fn a_valid_body_stays_as_it_is() {
        let recorder = Recorder::answering(200, "{}");
        let queue = queue(&recorder);
        let entry = message("größe\t😀").build().unwrap();
        assert_eq!(queue.check(&entry), Ok(12));
        queue.send(&[entry]).await;
        let body = recorder.only_request().body;
        assert!(body.contains("größe") && !body.contains(ENCODING_ATTRIBUTE), "{body}");
    }

    #[test]
    fn a_message_that_would_be_too_large_encoded_is_refused() {
        let queue = queue(&Recorder::answering(200, "{}"));
        let entry = |bytes: usize| message(&"\u{1}".repeat(bytes)).build().unwrap();
        // Three bytes become four, and the attribute has 37.
        assert_eq!(queue.check(&entry(786_402)), Ok(1_048_536 + 37));
        assert!(matches!(
            queue.check(&entry(786_405)),
            Err(InvalidEntry::TooLarge { actual: 1_048_577, .. })
        ));
    }

    #[test]
    fn without_the_option_or_with_the_attribute_it_is_refused() {
        let recorder = Recorder::answering(200, "{}");
        let plain = SqsQueue::new(
            client(&recorder),
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
        );
        let entry = message("\u{1}").build().unwrap();
        assert!(matches!(plain.check(&entry), Err(InvalidEntry::Character { .. })));
        let taken = message("\u{1}").message_attributes(ENCODING_ATTRIBUTE, text("String", "x"));
        let refusal = queue(&recorder).check(&taken.build().unwrap());
        assert!(matches!(refusal, Err(InvalidEntry::Character { .. })));
    }
}
