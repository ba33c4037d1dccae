//! The part of SQS that sends, receives, deletes and hides messages.

mod manage;
mod options;
mod queue;
mod receive;
mod request;
mod send;
mod store;
mod visibility;

use std::sync::Arc;

use serde_json::Value;

use super::Inner;
use super::journal::Heard;
use super::wire::{Outcome, Refusal, unknown_operation};

pub use self::options::QueueOptions;
pub use self::queue::{Message, Queue};

pub(crate) async fn operate(simulator: &Arc<Inner>, operation: &str, body: Value, heard: &Heard) -> Outcome {
    match operation {
        "SendMessageBatch" => send::send(simulator, body, heard),
        "ReceiveMessage" => receive::receive(simulator, &body).await.into(),
        "DeleteMessageBatch" => receive::delete(simulator, &body).into(),
        "ChangeMessageVisibilityBatch" => visibility::change(simulator, &body).into(),
        "GetQueueUrl" => manage::url(simulator, &body).into(),
        "GetQueueAttributes" => manage::attributes(simulator, &body).into(),
        _ => unknown_operation().into(),
    }
}

/// The answer when no message of a call was accepted.
pub(crate) fn request_throttled() -> Refusal {
    Refusal::new("RequestThrottled", "Rate exceeded")
}

fn invalid_value(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new("com.amazon.coral.service#InvalidParameterValueException", message).query_code("InvalidParameterValue")
}

fn missing(parameter: &str) -> Refusal {
    Refusal::new(
        "com.amazon.coral.service#MissingRequiredParameterException",
        format!("The request must contain the parameter {parameter}."),
    )
    .query_code("MissingParameter")
}

fn no_such_queue() -> Refusal {
    Refusal::new("QueueDoesNotExist", "The specified queue does not exist.")
        .query_code("AWS.SimpleQueueService.NonExistentQueue")
}

/// The queue that a request names by its URL.
fn named_queue(simulator: &Inner, body: &Value) -> Result<Queue, Refusal> {
    let url = body["QueueUrl"].as_str().ok_or_else(|| missing("QueueUrl"))?;
    let name = url.rsplit('/').next().unwrap_or_default();
    simulator.queues.find(name).ok_or_else(no_such_queue)
}
