//! Shared by the tests of this module.

use aws_sdk_sqs::config::{BehaviorVersion, Builder, Credentials, Region, SharedAsyncSleep};
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::builders::SendMessageBatchRequestEntryBuilder;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use aws_sdk_sqs::{Client, Config};
use aws_smithy_async::rt::sleep::TokioSleep;

use crate::aws::recording::Recorder;

pub(super) fn client(recorder: &Recorder) -> Client {
    Client::from_conf(config(recorder).build())
}

fn config(recorder: &Recorder) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .http_client(recorder.clone())
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
