//! `GetQueueUrl`, `GetQueueAttributes` and `ListDeadLetterSourceQueues`.

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::queue::{Queue, Queues};
use super::refusals::missing;
use super::request::{queue_named, queue_of};
use crate::wire::Refusal;

pub(super) fn url(queues: &Queues, body: &Value) -> Result<Value, Refusal> {
    let name = body["QueueName"].as_str().ok_or_else(|| missing("QueueName"))?;
    let queue = queue_named(queues, name)?;
    Ok(json!({"QueueUrl": queue.url()}))
}

/// The queues whose messages go to this one. All fit on a page.
pub(super) fn dead_letter_sources(queues: &Queues, body: &Value) -> Result<Value, Refusal> {
    let queue = queue_of(queues, body)?;
    let is_source = |other: &Queue| other.options().dead_letter_queue.as_deref() == Some(queue.name());
    let mut urls: Vec<String> = queues
        .all()
        .iter()
        .filter(|other| is_source(other))
        .map(Queue::url)
        .collect();
    urls.sort_unstable();
    Ok(json!({"queueUrls": urls}))
}

pub(super) fn attributes(queues: &Queues, body: &Value) -> Result<Value, Refusal> {
    let queue = queue_of(queues, body)?;
    let options = queue.options();
    let (total, delayed, in_flight) = {
        let mut state = queue.state();
        state.store.settle(Instant::now());
        (state.store.len(), state.store.delayed(), state.store.in_flight())
    };
    let mut all = vec![
        ("QueueArn", queue.arn()),
        ("ApproximateNumberOfMessages", (total - delayed - in_flight).to_string()),
        ("ApproximateNumberOfMessagesDelayed", delayed.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", in_flight.to_string()),
        ("MaximumMessageSize", options.largest_message.to_string()),
        ("VisibilityTimeout", options.visibility_timeout.as_secs().to_string()),
        ("DelaySeconds", options.delay.as_secs().to_string()),
    ];
    if queue.is_fifo() {
        all.push(("FifoQueue", "true".to_owned()));
        all.push(("ContentBasedDeduplication", options.deduplicates_by_content.to_string()));
    }
    let policy = options.dead_letter_queue.as_ref().zip(options.maximum_receives);
    if let Some((name, receives)) = policy
        && let Some(dead_letters) = queues.find(name)
    {
        let policy = json!({"deadLetterTargetArn": dead_letters.arn(), "maxReceiveCount": receives});
        all.push(("RedrivePolicy", policy.to_string()));
    }
    let requested: Vec<&str> = body["AttributeNames"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let shown: Map<String, Value> = all
        .into_iter()
        .filter(|(name, _)| requested.contains(&"All") || requested.contains(name))
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect();
    Ok(if shown.is_empty() {
        json!({})
    } else {
        json!({"Attributes": shown})
    })
}
