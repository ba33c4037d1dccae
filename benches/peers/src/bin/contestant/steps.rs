//! What a streaming engine passes to its sink at once.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};

/// Cuts writes into steps of this many. Of the writes of a key a step has the last one.
pub fn cut(writes: &[WriteRequest], size: usize) -> Vec<Vec<WriteRequest>> {
    writes.chunks(size).map(last_of_each_key).collect()
}

fn last_of_each_key(writes: &[WriteRequest]) -> Vec<WriteRequest> {
    let mut keys = HashSet::new();
    let mut last: Vec<WriteRequest> = writes
        .iter()
        .rev()
        .filter(|write| keys.insert(id(write)))
        .cloned()
        .collect();
    last.reverse();
    last
}

fn id(write: &WriteRequest) -> Option<&String> {
    write.put_request()?.item().get("id").map(AttributeValue::as_s)?.ok()
}
