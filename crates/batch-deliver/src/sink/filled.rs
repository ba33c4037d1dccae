//! Simulated tables and queues that have something to read.

use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, DeliveryError};
use aws_batch_simulator::{QueueOptions, Simulator};
use aws_sdk_dynamodb::error::BuildError as ItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::error::BuildError as MessageError;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::stream;

use super::destination::Target;
use super::simulated::{SimulatedService, keyed_by, last_part, writes};
use super::table::target;
use crate::format::{Item, Key, KeyType};
use crate::outcome::Failure;

/// Bytes of the text of an item that is made up: with its key it takes one write unit, and eight of them a read unit.
const TEXT: usize = 960;

/// The attribute with that text.
const TEXT_NAME: &str = "text";

/// Groups of the messages that are made up for a FIFO queue.
const GROUPS: u64 = 100;

impl SimulatedService {
    /// A table with these items, which has this capacity in read units per second and the same in write units.
    pub(crate) async fn filled_table(
        name: &str,
        key: &Key,
        rate: f64,
        items: impl Iterator<Item = WriteRequest> + Send,
    ) -> Result<Self, Failure> {
        let simulator = Simulator::new(1);
        let table = simulator.table(last_part(name, ":table/"), keyed_by(key));
        fill(target(simulator.dynamo_client(), name, Some(key)), items).await?;
        table.set_capacity(writes(rate));
        table.set_read_capacity(writes(rate));
        Ok(Self::new(simulator, "write", move || table.statistics().applied))
    }

    /// A queue with these messages, and its URL. As with SQS, to receive and to delete them takes none of its capacity.
    pub(crate) async fn filled_queue(
        name: &str,
        messages: impl Iterator<Item = SendMessageBatchRequestEntry> + Send,
    ) -> Result<(Self, String), Failure> {
        let simulator = Simulator::new(1);
        let queue = simulator.queue(name, QueueOptions::default().content_based_deduplication());
        let url = queue.url();
        fill(SqsQueue::new(simulator.sqs_client(), &url), messages).await?;
        let filled = Self::new(simulator, "message", move || queue.statistics().applied);
        Ok((filled, url))
    }
}

async fn fill<T: Target>(target: T, entries: impl Iterator<Item = T::Entry> + Send) -> Result<(), Failure> {
    let filled = Delivery::new(target).deliver_stream(stream::iter(entries)).await;
    let unfilled = |error: DeliveryError<T::Entry>| {
        let cause = error.undelivered().first().map(|first| first.cause.to_string());
        Failure::WrongUse(format!(
            "the simulator cannot be filled: {} were refused, the first because: {}",
            error.report.undelivered,
            cause.unwrap_or_default()
        ))
    };
    filled.map(drop).map_err(unfilled)
}

/// The number-th item of a table with this key that is made up.
pub(crate) fn made_up_item(key: &Key, number: u64) -> Result<WriteRequest, ItemError> {
    let text = (TEXT_NAME.to_owned(), AttributeValue::S("x".repeat(TEXT)));
    let mut item = Item::from([text]);
    for attribute in key.attributes() {
        let value = match attribute.kind {
            KeyType::S => AttributeValue::S(number.to_string()),
            KeyType::N => AttributeValue::N(number.to_string()),
            KeyType::B => AttributeValue::B(Blob::new(number.to_be_bytes())),
        };
        item.insert(attribute.name.clone(), value);
    }
    let put = PutRequest::builder().set_item(Some(item)).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// The number-th message that is made up.
pub(crate) fn made_up_message(is_fifo: bool, number: u64) -> Result<SendMessageBatchRequestEntry, MessageError> {
    let message = SendMessageBatchRequestEntry::builder()
        .id("0")
        .message_body(format!("{{\"number\":{number}}}"));
    if is_fifo {
        let group = (number % GROUPS).to_string();
        return message
            .message_group_id(group)
            .message_deduplication_id(number.to_string())
            .build();
    }
    message.build()
}
