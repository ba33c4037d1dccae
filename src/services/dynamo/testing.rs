//! Shared by the tests of this module.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};

use crate::aws::recording::{Recorder, recorded_config};

pub(super) fn client(recorder: &Recorder) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_dynamodb, recorder.clone()).build())
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

pub(super) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(super) fn attributes<const N: usize>(attributes: [(&str, AttributeValue); N]) -> HashMap<String, AttributeValue> {
    attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub(super) fn put<'a>(item: impl IntoIterator<Item = (&'a str, AttributeValue)>) -> WriteRequest {
    let item = item.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
    WriteRequest::builder().put_request(put).build()
}

pub(super) fn delete<const N: usize>(key: [(&str, AttributeValue); N]) -> WriteRequest {
    let key = key.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let delete = DeleteRequest::builder().set_key(Some(key)).build().unwrap();
    WriteRequest::builder().delete_request(delete).build()
}
