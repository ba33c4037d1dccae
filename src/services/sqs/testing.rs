//! Shared by the tests of this module.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::builders::SendMessageBatchRequestEntryBuilder;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};

use crate::aws::recording::{Recorder, recorded_config};

pub(super) fn client(recorder: &Recorder) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_sqs, recorder.clone()).build())
}

pub(super) fn message(body: &str) -> SendMessageBatchRequestEntryBuilder {
    SendMessageBatchRequestEntry::builder().id("id").message_body(body)
}

pub(super) fn text(data_type: &str, value: &str) -> MessageAttributeValue {
    let attribute = MessageAttributeValue::builder().data_type(data_type);
    attribute.string_value(value).build().unwrap()
}

pub(super) fn binary(value: &[u8]) -> MessageAttributeValue {
    let attribute = MessageAttributeValue::builder().data_type("Binary");
    attribute.binary_value(Blob::new(value)).build().unwrap()
}
