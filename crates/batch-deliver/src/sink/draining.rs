//! Writes the messages of a queue as lines, and deletes each when its line is safe.

use std::io::{self, Write};

use aws_batch_delivery::sources::{ReceiveProgress, Received};
use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName as System};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::message_filter::MessageFilter;
use super::moving::{MoveResult, deduplication_id, receive, undeleted};
use super::queue::ExistingQueue;
use crate::blocking::block_in_place;

/// Lines that are written together and made safe with one call.
const TOGETHER: usize = 1_000;

/// Where lines are written to.
pub(crate) trait SafeLines: Write {
    /// Returns when what was written cannot be lost.
    fn make_safe(&mut self) -> io::Result<()>;
}

/// Takes the messages out of a queue.
pub(crate) struct Drain {
    pub(crate) queue: ExistingQueue,
    pub(crate) filter: MessageFilter,
    /// The most messages.
    pub(crate) most: Option<u64>,
}

impl Drain {
    /// Writes the messages. Calls `watch` with the progress first.
    pub(crate) async fn run(
        self,
        lines: &mut impl SafeLines,
        stop: &CancellationToken,
        watch: impl FnOnce(ReceiveProgress),
    ) -> MoveResult {
        let mut drained = MoveResult::default();
        let messages = receive(&self.queue, &self.filter, self.most, stop).messages();
        let progress = messages.progress();
        watch(progress.clone());
        let mut left = self.most.unwrap_or(u64::MAX);
        let mut chunks = messages.ready_chunks(TOGETHER);
        while drained.failure.is_none()
            && left > 0
            && let Some(chunk) = chunks.next().await
        {
            let mut matching = Vec::with_capacity(chunk.len());
            for received in chunk {
                match received {
                    Ok(received) if !self.filter.holds(&received.message) => {
                        drained.unmatched += 1;
                        received.ticket.set_aside();
                    }
                    // What is left over is released.
                    Ok(received) if left > 0 => {
                        left -= 1;
                        matching.push(received);
                    }
                    Ok(_) => {}
                    Err(error) => drained.failure = Some(error.to_string()),
                }
            }
            match block_in_place(|| write(&matching, lines)) {
                Ok(()) => {
                    drained.taken += matching.len() as u64;
                    for received in &matching {
                        received.ticket.settle();
                    }
                }
                Err(error) => drained.failure = Some(format!("the messages cannot be written: {error}")),
            }
        }
        drop(chunks);
        (drained.undeleted, drained.undeleted_because) = undeleted(&progress, drained.taken, stop).await;
        drained
    }
}

fn write(messages: &[Received], lines: &mut impl SafeLines) -> io::Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    for received in messages {
        serde_json::to_writer(&mut text, &line(received))?;
        text.push(b'\n');
    }
    lines.write_all(&text)?;
    lines.make_safe()
}

/// The message as `send --format json` reads it.
fn line(received: &Received) -> Value {
    let mut line = Map::new();
    line.insert("body".to_owned(), json!(received.message.body().unwrap_or_default()));
    let attributes = received.message.message_attributes().into_iter().flatten();
    let attributes: Map<String, Value> = attributes
        .map(|(name, value)| (name.clone(), attribute(value)))
        .collect();
    if !attributes.is_empty() {
        line.insert("attributes".to_owned(), Value::Object(attributes));
    }
    let group = received.system_attribute(&System::MessageGroupId);
    let of_fifo = received.system_attribute(&System::MessageDeduplicationId);
    let deduplication_id = of_fifo.and_then(|_| deduplication_id(received));
    let trace = received.system_attribute(&System::AwsTraceHeader);
    for (name, value) in [
        ("group_id", group),
        ("dedup_id", deduplication_id),
        ("trace_header", trace),
    ] {
        if let Some(value) = value {
            line.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(line)
}

fn attribute(value: &MessageAttributeValue) -> Value {
    let binary = || value.binary_value().map(|bytes| BASE64_STANDARD.encode(bytes));
    let text = value.string_value().map(str::to_owned).or_else(binary);
    json!({"type": value.data_type(), "value": text.unwrap_or_default()})
}
