//! The part of SQS that sends, receives, deletes and hides messages.

mod attributes;
mod digest;
mod manage;
mod options;
mod queue;
mod receipts;
mod receive;
mod refusals;
mod request;
mod send;
mod store;

use serde_json::Value;

pub use self::options::QueueOptions;
use self::queue::Queues;
pub use self::queue::{Message, Queue};
use crate::journal::AnswerReceipt;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json10,
    namespace: "com.amazonaws.sqs#",
    has_checksums: false,
    has_query_errors: true,
    throttled: send::request_throttled,
};

pub(crate) async fn operate(
    queues: &Queues,
    operation: &str,
    body: Value,
    answered: &AnswerReceipt,
) -> OperationOutcome {
    match operation {
        "SendMessageBatch" => send::send(queues, body, answered).into(),
        "ReceiveMessage" => receive::receive(queues, &body, answered).await.into(),
        "DeleteMessageBatch" => receipts::delete(queues, &body, answered).into(),
        "ChangeMessageVisibilityBatch" => receipts::change_visibility(queues, &body, answered).into(),
        "GetQueueUrl" => manage::url(queues, &body).into(),
        "ListDeadLetterSourceQueues" => manage::dead_letter_sources(queues, &body).into(),
        "GetQueueAttributes" => manage::attributes(queues, &body).into(),
        _ => Refusal::unknown_operation().into(),
    }
}
