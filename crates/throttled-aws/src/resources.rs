//! The tables, queues and streams of the emulator: their capacity, and calls that change them.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::header::HOST;
use hyper::http::request::Parts;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::body::{Body, answer, describe, full};
use crate::config::{TableLimits, limits_of};
use crate::dynamo::{Table, TableCall, replaced_by, tables_of};
use crate::kinesis::{Stream, StreamCall};
use crate::origin::Origin;
use crate::plan::Plan;
use crate::registry::{Described, Registry, last_part};
use crate::shared::Shared;
use crate::sqs::{Queue, QueueCall};
use crate::upstream::UpstreamError;

/// What is known of them.
#[derive(Default)]
pub(crate) struct Resources {
    tables: Registry<Table>,
    queues: Registry<Queue>,
    streams: Registry<Stream>,
}

impl Resources {
    /// Full or empty buckets, as at the start.
    pub(crate) fn clear(&self) {
        self.tables.clear();
        self.queues.clear();
        self.streams.clear();
    }

    /// How many units, messages or records a second a destination accepts now, if that is limited and known.
    pub(crate) fn writes_per_second(&self, service: &str, name: &str) -> Option<f64> {
        let rate = match service {
            "dynamodb" => self.tables.known(name)?.writes_per_second(),
            "sqs" => self.queues.known(name)?.messages_per_second(),
            _ => self.streams.known(name)?.records_per_second(),
        };
        rate.is_finite().then_some(rate)
    }

    /// The call, entry by entry. `None` if it has another form or a destination that does not exist.
    pub(crate) async fn plan(
        &self,
        shared: &Shared,
        origin: &Origin,
        parts: &Parts,
        body: Value,
    ) -> Option<Box<dyn Plan>> {
        let operation = &*origin.operation;
        match &*origin.service {
            "dynamodb" => {
                let names = tables_of(operation, &body)?;
                let mut tables = Vec::new();
                for (_, name) in &names {
                    tables.push(self.table(shared, parts, name).await?);
                }
                let replaced = match replaced_by(operation, &body, &names, &tables) {
                    Some(keys) => shared.target.ask(parts, "DynamoDB_20120810.BatchGetItem", &keys).await,
                    None => None,
                };
                let replaced = replaced.unwrap_or_default();
                Some(Box::new(TableCall::new(operation, body, names, tables, replaced)?))
            }
            "sqs" => {
                let url = body["QueueUrl"].as_str()?.to_owned();
                let name = last_part(&url).to_owned();
                let queue = self.queue(shared, parts, &url, &name).await?;
                Some(Box::new(QueueCall::new(operation, body, name, queue)?))
            }
            _ => {
                let name = body["StreamName"].as_str().or(body["StreamARN"].as_str())?;
                let name = last_part(name).to_owned();
                let stream = self.stream(shared, parts, &body, &name).await?;
                Some(Box::new(StreamCall::new(operation, body, name, stream)?))
            }
        }
    }

    async fn table(&self, shared: &Shared, parts: &Parts, name: &str) -> Option<Arc<Table>> {
        let describe = async {
            let body = json!({"TableName": name});
            let described = shared
                .target
                .ask(parts, "DynamoDB_20120810.DescribeTable", &body)
                .await?;
            let default = TableLimits::default();
            let limits = limits_of(&shared.config.tables, name).unwrap_or(&default);
            let described = &described["Table"];
            Some(Described {
                resource: Table::described(described, limits, seed(shared, name), Instant::now())?,
                is_settled: is_settled(described),
            })
        };
        self.tables.get(name, describe).await
    }

    async fn queue(&self, shared: &Shared, parts: &Parts, url: &str, name: &str) -> Option<Arc<Queue>> {
        let limits = limits_of(&shared.config.queues, name).copied().unwrap_or_default();
        let describe = async {
            let attributes = if Queue::needs_attributes(name, &limits) {
                let body = json!({"QueueUrl": url, "AttributeNames": ["All"]});
                shared.target.ask(parts, "AmazonSQS.GetQueueAttributes", &body).await?
            } else {
                Value::Null
            };
            let attributes = &attributes["Attributes"];
            Some(Described {
                resource: Queue::described(name, attributes, &limits, seed(shared, name), Instant::now()),
                is_settled: true,
            })
        };
        self.queues.get(name, describe).await
    }

    async fn stream(&self, shared: &Shared, parts: &Parts, body: &Value, name: &str) -> Option<Arc<Stream>> {
        let limits = limits_of(&shared.config.streams, name).copied().unwrap_or_default();
        let describe = async {
            let member = if body["StreamName"].is_string() {
                "StreamName"
            } else {
                "StreamARN"
            };
            let body = json!({member: body[member]});
            let described = shared
                .target
                .ask(parts, "Kinesis_20131202.DescribeStreamSummary", &body)
                .await?;
            let summary = &described["StreamDescriptionSummary"];
            Some(Described {
                resource: Stream::described(summary, &limits, seed(shared, name), Instant::now()),
                is_settled: is_active(&summary["StreamStatus"]),
            })
        };
        self.streams.get(name, describe).await
    }

    /// A call that creates, changes or deletes something, or whose answer has the URL of a queue.
    pub(crate) async fn change(
        &self,
        shared: &Shared,
        change: Change,
        parts: Parts,
        body: Body,
    ) -> Result<Response<Body>, UpstreamError> {
        let Ok(body) = body.collect().await else {
            return Ok(answer(
                400,
                "text/plain",
                "throttled-aws: the request ended within its body",
            ));
        };
        let body = body.to_bytes();
        let mut answered = shared.target.call(&parts, body.clone()).await?;
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut members = change.members().iter();
        let name = members.find_map(|member| request[*member].as_str());
        let name = last_part(name.unwrap_or_default());
        match change {
            Change::Table => self.tables.forget(name),
            Change::Stream => self.streams.forget(name),
            Change::Queue => self.queues.forget(name),
            Change::Urls => {}
        }
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        if matches!(change, Change::Queue | Change::Urls)
            && let (Some(host), Ok(mut value)) = (host, serde_json::from_slice::<Value>(answered.body()))
            && point_to(host, &mut value)
        {
            let body = Bytes::from(value.to_string());
            describe(answered.headers_mut(), &body);
            *answered.body_mut() = body;
        }
        Ok(answered.map(full))
    }
}

/// The same for a name in each run.
fn seed(shared: &Shared, name: &str) -> u64 {
    name.bytes().fold(shared.config.seed, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(byte.into())
    })
}

/// Whether no change of a table or of one of its indexes is in progress.
fn is_settled(table: &Value) -> bool {
    let mut indexes = table["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
    is_active(&table["TableStatus"]) && indexes.all(|index| is_active(&index["IndexStatus"]))
}

/// An emulator may show no status.
fn is_active(status: &Value) -> bool {
    status.is_null() || status == "ACTIVE"
}

/// What a call that takes no capacity changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Table,
    Queue,
    Stream,
    /// Nothing, but its answer has the URLs of queues.
    Urls,
}

impl Change {
    /// The members of the request that may have the name.
    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Table => &["TableName"],
            Self::Stream => &["StreamName", "StreamARN"],
            Self::Queue | Self::Urls => &["QueueUrl"],
        }
    }
}

/// What a call changes, if anything.
pub(crate) fn changes(origin: &Origin) -> Option<Change> {
    Some(match (&*origin.service, &*origin.operation) {
        ("dynamodb", "CreateTable" | "UpdateTable" | "DeleteTable") => Change::Table,
        (
            "kinesis",
            "CreateStream" | "DeleteStream" | "MergeShards" | "SplitShard" | "UpdateShardCount" | "UpdateStreamMode",
        ) => Change::Stream,
        ("sqs", "SetQueueAttributes" | "DeleteQueue") => Change::Queue,
        ("sqs", "CreateQueue" | "GetQueueUrl" | "ListQueues") => Change::Urls,
        _ => return None,
    })
}

/// Lets the URLs of queues lead here, and returns whether there were any.
fn point_to(host: &str, value: &mut Value) -> bool {
    let redirect = |url: &mut Value| {
        let path = url
            .as_str()
            .and_then(|url| url.splitn(4, '/').nth(3))
            .map(str::to_owned);
        if let Some(path) = path {
            *url = format!("http://{host}/{path}").into();
        }
    };
    if let Some(url) = value.get_mut("QueueUrl") {
        redirect(url);
        return true;
    }
    let urls = value.get_mut("QueueUrls").and_then(Value::as_array_mut);
    urls.map(|urls| urls.iter_mut().for_each(redirect)).is_some()
}
