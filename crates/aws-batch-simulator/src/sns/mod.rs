//! The part of SNS that accepts messages: `PublishBatch`, and `GetTopicAttributes`.

mod options;
mod publish;
mod request;
mod topic;

use std::sync::Arc;

use serde_json::{Value, json};

use super::Inner;
use super::journal::Heard;
use super::wire::{Outcome, Refusal};

pub use self::options::TopicOptions;
pub use self::topic::{Notification, Topic};

pub(crate) fn operate(simulator: &Arc<Inner>, operation: &str, body: Value, heard: &Heard) -> Outcome {
    match operation {
        "PublishBatch" => publish::publish(simulator, body, heard),
        "GetTopicAttributes" => attributes(simulator, &body).into(),
        _ => Refusal::new(
            "InvalidAction",
            format!("The action {operation} is not valid for this endpoint."),
        )
        .into(),
    }
}

/// The answer when no message of a call was accepted.
pub(crate) fn throttled() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1).status(429)
}

/// Code and message of throttled messages and calls.
const THROTTLED: (&str, &str) = ("Throttled", "Rate exceeded");

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new("InvalidParameter", message)
}

/// The topic that a request names by its ARN.
fn named_topic(simulator: &Inner, body: &Value) -> Result<Topic, Refusal> {
    let arn = body["TopicArn"].as_str().unwrap_or_default();
    let name = arn.rsplit(':').next().unwrap_or_default();
    let topic = simulator.topics.find(name);
    topic.ok_or_else(|| Refusal::new("NotFound", "Topic does not exist").status(404))
}

fn attributes(simulator: &Inner, body: &Value) -> Result<Value, Refusal> {
    let topic = named_topic(simulator, body)?;
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
