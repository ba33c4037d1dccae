//! The part of SNS that accepts messages: `PublishBatch`, and `GetTopicAttributes`.

mod publish;
mod topic;

use serde_json::{Value, json};

use self::topic::Topics;
pub use self::topic::{Notification, Topic, TopicOptions};
use crate::journal::AnswerReceipt;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Query,
    namespace: "",
    has_checksums: false,
    has_query_errors: false,
    throttled: publish::throttled,
};

pub(crate) fn operate(topics: &Topics, operation: &str, body: Value, answered: &AnswerReceipt) -> OperationOutcome {
    match operation {
        "PublishBatch" => publish::publish(topics, body, answered).into(),
        "GetTopicAttributes" => attributes(topics, &body).into(),
        _ => Refusal::new(
            "InvalidAction",
            format!("The action {operation} is not valid for this endpoint."),
        )
        .into(),
    }
}

fn attributes(topics: &Topics, body: &Value) -> Result<Value, Refusal> {
    let topic = topics.of_request(body)?;
    let mut attributes = vec![
        ("TopicArn", topic.arn()),
        ("MaximumMessageSize", topic.options().largest_message.to_string()),
    ];
    if topic.is_fifo() {
        let by_content = topic.options().deduplicates_by_content;
        attributes.push(("FifoTopic", "true".to_owned()));
        attributes.push(("ContentBasedDeduplication", by_content.to_string()));
    }
    let entry = |(key, value): (&str, String)| json!({"key": key, "value": value});
    let entries: Vec<Value> = attributes.into_iter().map(entry).collect();
    Ok(json!({"Attributes": {"entry": entries}}))
}
