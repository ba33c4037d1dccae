//! The records of an event.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail, ensure};
use aws_lambda_events::event::dynamodb::{Event as DynamoDbEvent, EventRecord};
use aws_lambda_events::event::kinesis::KinesisEvent;
use aws_lambda_events::event::sqs::SqsEvent;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An order, as messages of queues and records of Kinesis have it.
#[derive(Serialize, Deserialize)]
struct Order {
    id: String,
    cents: u64,
}

/// What the source does with records that are reported as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A standard queue sends each of them again.
    Queue,
    /// A FIFO queue does, and keeps the order of each group.
    FifoQueue,
    /// A stream sends the first of them and everything behind it again.
    Stream,
}

/// The records of an event, each with what it writes.
pub(crate) struct Batch {
    pub(crate) source: Source,
    records: Vec<Record>,
    /// Whether each record has failed.
    pub(crate) failed: Vec<bool>,
}

pub(crate) struct Record {
    /// The message id of a queue, the sequence number of a stream.
    pub(crate) identifier: String,
    /// The message group of a FIFO queue.
    pub(crate) group: Option<String>,
    write: Option<WriteRequest>,
}

impl Batch {
    /// Reads the event of any of the sources. A record that is not an order has failed.
    pub(crate) fn read(event: Value) -> Result<Self> {
        let first = event["Records"][0]["eventSource"].as_str();
        let (source, records) = match first.context("the event has no records with a source")? {
            "aws:sqs" => of_queue(serde_json::from_value(event)?)?,
            "aws:kinesis" => (Source::Stream, of_kinesis(serde_json::from_value(event)?)),
            "aws:dynamodb" => (Source::Stream, of_table(serde_json::from_value(event)?)?),
            other => bail!("{other} is not a source that this function knows"),
        };
        // A response with an empty identifier fails the whole batch, and the messages of some emulators are deleted by it.
        let has_identifier = |record: &Record| !record.identifier.is_empty();
        ensure!(records.iter().all(has_identifier), "a record has no identifier");
        Ok(Self {
            source,
            failed: records.iter().map(|record| record.write.is_none()).collect(),
            records,
        })
    }

    /// The writes, with the places of their records. What follows a failed record of its group or stream comes again with it, so it is
    /// not written.
    pub(crate) fn take_writes(&mut self) -> Vec<(usize, WriteRequest)> {
        let behind = self.failed_or_behind();
        let records = self.records.iter_mut().enumerate();
        let written = records.filter(|(place, _)| !behind[*place]);
        written
            .filter_map(|(place, record)| Some((place, record.write.take()?)))
            .collect()
    }

    /// Whether each record has failed, or is behind one that has and must not pass it.
    pub(crate) fn failed_or_behind(&self) -> Vec<bool> {
        let mut ended = HashSet::new();
        let records = self.records.iter().zip(&self.failed);
        let behind = records.map(|(record, failed)| {
            let lane = match self.source {
                Source::Queue => return *failed,
                Source::FifoQueue => record.group.as_deref(),
                Source::Stream => None,
            };
            if *failed {
                ended.insert(lane);
            }
            ended.contains(&lane)
        });
        behind.collect()
    }

    pub(crate) fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.records.iter().map(|record| record.identifier.as_str())
    }
}

fn of_queue(event: SqsEvent) -> Result<(Source, Vec<Record>)> {
    let mut source = Source::Queue;
    let records = event.records.into_iter().map(|mut message| {
        let group = message.attributes.remove("MessageGroupId");
        // Messages of a standard queue may have groups, too, which are in no order.
        let arn = message.event_source_arn.unwrap_or_default();
        if arn.rsplit_once('.').is_some_and(|(_, end)| end == "fifo") {
            source = Source::FifoQueue;
        }
        Ok(Record {
            identifier: message.message_id.context("a message has no id")?,
            group,
            write: order(message.body.unwrap_or_default().as_bytes()),
        })
    });
    let records = records.collect::<Result<_>>()?;
    Ok((source, records))
}

fn of_kinesis(event: KinesisEvent) -> Vec<Record> {
    let records = event.records.into_iter().map(|record| Record {
        identifier: record.kinesis.sequence_number,
        group: None,
        write: order(&record.kinesis.data),
    });
    records.collect()
}

/// The stream of a table: the same changes are made to another one.
fn of_table(event: DynamoDbEvent) -> Result<Vec<Record>> {
    let records = event.records.into_iter().map(|record| {
        Ok(Record {
            identifier: record
                .change
                .sequence_number
                .clone()
                .context("a change has no sequence number")?,
            group: None,
            write: change(record),
        })
    });
    records.collect()
}

/// The put of an order.
fn order(json: &[u8]) -> Option<WriteRequest> {
    let order: Order = serde_json::from_slice(json).ok()?;
    put(serde_dynamo::to_item(order).ok()?)
}

/// The same change. A stream without new images does not say what was put.
fn change(record: EventRecord) -> Option<WriteRequest> {
    if record.event_name == "REMOVE" {
        let keys = HashMap::<String, AttributeValue>::from(record.change.keys);
        let delete = DeleteRequest::builder().set_key(Some(keys)).build().ok()?;
        return Some(WriteRequest::builder().delete_request(delete).build());
    }
    let image = HashMap::<String, AttributeValue>::from(record.change.new_image);
    put(image).filter(|_| record.event_name == "INSERT" || record.event_name == "MODIFY")
}

fn put(item: HashMap<String, AttributeValue>) -> Option<WriteRequest> {
    let item = Some(item).filter(|item| !item.is_empty());
    let put = PutRequest::builder().set_item(Some(item?)).build().ok()?;
    Some(WriteRequest::builder().put_request(put).build())
}
