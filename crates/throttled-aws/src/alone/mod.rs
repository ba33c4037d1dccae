//! The simulator in this process, with the operations that a first tutorial needs and the simulator does not have.
//!
//! Its own tables, queues and streams have no limits: those are of the front, as with any emulator.

mod attributes;
mod queues;
mod step;
mod streams;
mod tables;

use std::sync::Mutex;

use aws_batch_simulator::{Server, Simulator};
use bytes::Bytes;
use hyper::Response;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use serde_json::Value;

use self::queues::Queues;
use self::step::Step;
use self::streams::Streams;
use self::tables::Tables;
use crate::body::describe;
use crate::config::Config;
use crate::origin::Origin;
use crate::refusal::Refusal;
use crate::registry::lock;
use crate::upstream::{Upstream, UpstreamError};

/// The simulator, and what was created of it.
pub(crate) struct Alone {
    upstream: Upstream,
    /// It serves as long as this is there.
    _server: Server,
    simulator: Simulator,
    tables: Mutex<Tables>,
    queues: Mutex<Queues>,
    streams: Mutex<Streams>,
}

impl Alone {
    /// With the tables, queues and streams of the file.
    pub(crate) async fn start(config: &Config) -> Result<Self, String> {
        let simulator = Simulator::new(config.seed);
        let server = simulator
            .serve("127.0.0.1:0")
            .await
            .map_err(|error| error.to_string())?;
        Ok(Self {
            upstream: Upstream::to(&server.endpoint())?,
            _server: server,
            tables: Mutex::new(Tables::of(config, &simulator)),
            queues: Mutex::new(Queues::of(config, &simulator)),
            streams: Mutex::new(Streams::of(config, &simulator)),
            simulator,
        })
    }

    pub(crate) async fn call(&self, parts: &Parts, body: Bytes) -> Result<Response<Bytes>, UpstreamError> {
        let origin = Origin::of(parts);
        let step = match serde_json::from_slice(&body) {
            Ok(request) => self.step(&origin, request),
            Err(_) => Ok(Step::Pass),
        };
        let (target, request, change) = match step {
            Ok(Step::Pass) => return self.upstream.call(parts, body).await,
            Ok(Step::Answer(value)) => return Ok(success(&origin, &value)),
            Err(refusal) => return Ok(refusal.json(&origin.service)),
            Ok(Step::Ask(target, request, change)) => (target, request, change),
        };
        let mut parts = parts.clone();
        parts.headers.insert("x-amz-target", HeaderValue::from_static(target));
        let answered = self.upstream.call(&parts, request.to_string().into()).await?;
        let value = match serde_json::from_slice(answered.body()) {
            Ok(value) if answered.status().is_success() => value,
            _ => return Ok(answered),
        };
        match change(value) {
            Ok(value) => Ok(success(&origin, &value)),
            Err(refusal) => Ok(refusal.json(&origin.service)),
        }
    }

    fn step(&self, origin: &Origin, request: Value) -> Result<Step, Refusal> {
        let operation = &*origin.operation;
        match &*origin.service {
            "dynamodb" => lock(&self.tables).step(operation, &request, &self.simulator),
            "sqs" => lock(&self.queues).step(operation, request, &self.simulator),
            "kinesis" => lock(&self.streams).step(operation, request, &self.simulator),
            _ => Ok(Step::Pass),
        }
    }
}

fn success(origin: &Origin, value: &Value) -> Response<Bytes> {
    let body = Bytes::from(value.to_string());
    let mut answer = Response::new(body.clone());
    let kind = if origin.service == "kinesis" {
        "application/x-amz-json-1.1"
    } else {
        "application/x-amz-json-1.0"
    };
    let headers = answer.headers_mut();
    headers.insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if origin.service == "dynamodb" {
        headers.insert(crate::body::CRC, HeaderValue::from_static("0"));
    }
    describe(headers, &body);
    answer
}
