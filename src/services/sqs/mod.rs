//! SQS: messages to one queue by `SendMessageBatch`, and for received messages deletions by `DeleteMessageBatch` and changes
//! of the visibility timeout by `ChangeMessageVisibilityBatch`.

mod calls;
mod check;
#[cfg(test)]
mod deduplication_tests;
mod deletions;
mod handles;
#[cfg(feature = "s3-offload")]
mod offload;
mod plain;
mod queue;
mod receive;
mod receives;
mod redrive;
#[cfg(test)]
mod testing;
mod visibility;

use aws_sdk_sqs::types::{BatchResultErrorEntry, MessageAttributeValue, SendMessageBatchRequestEntry};

use super::described::FIFO_SUFFIX;
use crate::aws::classify_entry;
use crate::contract::Verdict;

pub use check::{ENCODING, ENCODING_ATTRIBUTE};
pub use deletions::SqsDeletions;
#[cfg(feature = "s3-offload")]
pub use offload::{Offload, PAYLOAD_SIZE_ATTRIBUTE};
pub use queue::{MAX_BATCH_BYTES, MAX_MESSAGE_BYTES, MAX_MESSAGES, SqsQueue};
pub(crate) use receive::{ReceiveRequest, Receiver};
pub(crate) use receives::Receives;
pub(crate) use redrive::max_receive_count;
pub use visibility::{MAX_VISIBILITY_TIMEOUT, SqsVisibility, VisibilityChange};

/// The id and the verdict of an entry that failed.
fn failed(entry: &BatchResultErrorEntry) -> (&str, Verdict) {
    (
        entry.id(),
        classify_entry(entry.code(), entry.sender_fault(), entry.message()),
    )
}

/// Whether this is the URL of a FIFO queue. Emulators take one that ends in a slash, too.
pub(crate) fn is_fifo(queue_url: &str) -> bool {
    queue_url.trim_end_matches('/').ends_with(FIFO_SUFFIX)
}

/// The name of the queue, without the rest of its URL, which contains the account id.
fn short_name(queue_url: &str) -> &str {
    queue_url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Bytes that SQS counts for a message and adds up for a call: the body, and the name, data type and value of each attribute.
/// System attributes do not count.
pub fn message_size(message: &SendMessageBatchRequestEntry) -> usize {
    let attributes = message.message_attributes().into_iter().flatten();
    message.message_body().len()
        + attributes
            .map(|(name, value)| name.len() + attribute_size(value))
            .sum::<usize>()
}

fn attribute_size(value: &MessageAttributeValue) -> usize {
    let text = value.string_value().map_or(0, str::len);
    let binary = value.binary_value().map_or(0, |bytes| bytes.as_ref().len());
    value.data_type().len() + text + binary
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::{MessageSystemAttributeNameForSends, MessageSystemAttributeValue};

    use super::*;
    use crate::services::sqs::testing::{binary, message, text};

    #[test]
    fn body_and_attributes_count() {
        assert_eq!(message_size(&message("bödy").build().unwrap()), 5);
        let with_text = message("body").message_attributes("name", text("String.label", "välue"));
        assert_eq!(message_size(&with_text.build().unwrap()), 4 + 4 + 12 + 6);
        let with_binary = message("body").message_attributes("name", binary(&[0; 7]));
        assert_eq!(message_size(&with_binary.build().unwrap()), 4 + 4 + 6 + 7);
    }

    #[test]
    fn system_attributes_do_not_count() {
        let trace = MessageSystemAttributeValue::builder()
            .data_type("String")
            .string_value("Root=1-5759e988-bd862e3fe1be46a994272793")
            .build()
            .unwrap();
        let message =
            message("body").message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, trace);
        assert_eq!(message_size(&message.build().unwrap()), 4);
    }
}
