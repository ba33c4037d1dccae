//! Chunks of messages for calls at once.

use std::collections::HashMap;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use peers::{Service, Work};

/// Sequences of chunks. The sequences may be sent at once, the chunks of each only one after another: messages of a
/// group are all in one.
pub fn sequences(
    work: &Work,
    messages: Vec<SendMessageBatchRequestEntry>,
) -> Vec<Vec<Vec<SendMessageBatchRequestEntry>>> {
    if work.offered.groups == 0 {
        return chunks(&messages).into_iter().map(|chunk| vec![chunk]).collect();
    }
    let mut groups: HashMap<Option<String>, Vec<SendMessageBatchRequestEntry>> = HashMap::new();
    for message in messages {
        let group = message.message_group_id().map(str::to_owned);
        groups.entry(group).or_default().push(message);
    }
    groups.values().map(|messages| chunks(messages)).collect()
}

fn chunks(messages: &[SendMessageBatchRequestEntry]) -> Vec<Vec<SendMessageBatchRequestEntry>> {
    messages.chunks(Service::Sqs.chunk()).map(<[_]>::to_vec).collect()
}
