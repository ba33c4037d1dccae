//! Reads requests, calls the operation, and writes the response.

mod checksum;
mod query;
mod refusal;
mod service;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::checksum::crc32;
pub(crate) use self::refusal::Refusal;
use self::service::Protocol;
pub(crate) use self::service::Service;
use super::fault::InjectedFault;
use super::journal::Heard;
use super::{Inner, dynamo, eventbridge, firehose, kinesis, sns, sqs};

/// The largest request body that `DynamoDB` accepts: 16 MiB.
pub(crate) const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// How a call ends for the caller.
#[derive(Debug)]
pub(crate) enum Ending {
    Reply(Reply),
    /// The connection is closed.
    Dropped,
    /// There is no answer, and the connection stays open.
    Hung,
}

/// The result of an operation.
pub(crate) enum Outcome {
    Success(Value),
    /// A success whose answer takes longer.
    Late(Value, Duration),
    Refused(Refusal),
    /// A fault replaces the answer.
    Struck(InjectedFault),
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Result<Value, Refusal>> for Outcome {
    fn from(result: Result<Value, Refusal>) -> Self {
        match result {
            Ok(value) => Self::Success(value),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// A request. S3 is recognized by method, host and path, SNS by the missing target, and the others by their target.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    /// `X-Amz-Target`.
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
}

/// Answers one request, without waiting.
///
/// Returns how the call ends, and how much longer than usual the answer takes.
pub(crate) async fn answer(simulator: &Arc<Inner>, request: &Request<'_>, heard: &Heard) -> (Ending, Duration) {
    if request.target.is_empty() && request.method != "POST" {
        return super::s3::answer(simulator, request);
    }
    let (service, operation) = if request.target.is_empty() {
        (Service::Sns, "")
    } else if let Some(named) = Service::of_target(request.target) {
        named
    } else {
        return (refuse(simulator, Service::Dynamo, &unknown_operation()), Duration::ZERO);
    };
    if request.body.len() > LARGEST_BODY {
        let reply = Reply {
            status: 413,
            headers: vec![request_id(simulator)],
            body: Vec::new(),
        };
        return (Ending::Reply(reply), Duration::ZERO);
    }
    let body = match parse(service.protocol(), request.body) {
        Ok(body) => body,
        Err(refusal) => return (refuse(simulator, service, &refusal), Duration::ZERO),
    };
    // In the Query protocol the operation is a member of the form.
    let action = body.get("Action").and_then(Value::as_str).map(str::to_owned);
    let action = action.filter(|_| service == Service::Sns);
    let operation = action.as_deref().unwrap_or(operation);
    let outcome = match service {
        Service::Dynamo => dynamo::operate(simulator, operation, body, heard),
        Service::Sqs => sqs::operate(simulator, operation, body, heard).await,
        Service::Kinesis => kinesis::operate(simulator, operation, body, heard),
        Service::Firehose => firehose::operate(simulator, operation, body, heard),
        Service::EventBridge => eventbridge::operate(simulator, operation, body, heard),
        Service::Sns => sns::operate(simulator, operation, body, heard),
    };
    match outcome {
        Outcome::Success(value) => (succeed(simulator, service, operation, &value), Duration::ZERO),
        Outcome::Late(value, delay) => (succeed(simulator, service, operation, &value), delay),
        Outcome::Refused(refusal) => (refuse(simulator, service, &refusal), Duration::ZERO),
        Outcome::Struck(fault) => (strike(simulator, service, operation, fault), Duration::ZERO),
    }
}

pub(crate) fn unknown_operation() -> Refusal {
    Refusal::new("com.amazon.coral.service#UnknownOperationException", "")
}

fn parse(protocol: Protocol, body: &[u8]) -> Result<Value, Refusal> {
    if protocol == Protocol::Query {
        return query::parse(body);
    }
    serde_json::from_slice(body).map_err(|error| {
        // The parser fails at 128 levels of JSON, far beyond the 32 levels of attributes.
        if error.to_string().starts_with("recursion limit") {
            Refusal::new(
                "com.amazon.coral.validate#ValidationException",
                "Nesting Levels have exceeded supported limits",
            )
        } else {
            Refusal::serialization("Unable to parse the request body")
        }
    })
}

fn succeed(simulator: &Inner, service: Service, operation: &str, value: &Value) -> Ending {
    let id = request_id(simulator);
    let body = match service.protocol() {
        Protocol::Query => query::answer(operation, value, &id.1),
        Protocol::Json10 | Protocol::Json11 => value.to_string(),
    };
    reply(id, service, 200, body.into_bytes(), None)
}

fn refuse(simulator: &Inner, service: Service, refusal: &Refusal) -> Ending {
    let id = request_id(simulator);
    let body = match service.protocol() {
        Protocol::Query => query::error(refusal, &id.1),
        Protocol::Json10 | Protocol::Json11 => json_error(service, refusal),
    };
    let query_error = (service == Service::Sqs && simulator.sends_query_errors()).then(|| {
        let code = refusal.query_code.unwrap_or(&refusal.code);
        ("x-amzn-query-error", format!("{code};{}", refusal.blamed()))
    });
    reply(id, service, refusal.status, body.into_bytes(), query_error)
}

fn json_error(service: Service, refusal: &Refusal) -> String {
    let kind = if refusal.code.contains('#') {
        refusal.code.to_string()
    } else {
        format!("{}{}", service.namespace(), refusal.code)
    };
    let mut body = json!({"__type": kind, "message": refusal.message});
    if let Some((member, value)) = &refusal.more {
        body[*member] = value.clone();
    }
    body.to_string()
}

fn strike(simulator: &Inner, service: Service, operation: &str, fault: InjectedFault) -> Ending {
    let answer = |status, body: &[u8]| reply(request_id(simulator), service, status, body.to_vec(), None);
    match fault {
        InjectedFault::Dropped { .. } => Ending::Dropped,
        InjectedFault::Hung { .. } => Ending::Hung,
        InjectedFault::Garbage { .. } => answer(200, b"{\"Succ"),
        InjectedFault::Throttle | InjectedFault::AccountLimit => refuse(simulator, service, &throttled(service)),
        InjectedFault::Error { status, code, .. } if code.is_empty() => answer(status, b""),
        InjectedFault::Error {
            status, code, message, ..
        } => refuse(simulator, service, &Refusal::new(code, message).status(status)),
        _ => succeed(simulator, service, operation, &json!({})),
    }
}

fn throttled(service: Service) -> Refusal {
    match service {
        Service::Dynamo => dynamo::throughput_exceeded(),
        Service::Sqs => sqs::request_throttled(),
        Service::Kinesis => kinesis::throughput_exceeded(),
        Service::Firehose => firehose::unavailable(),
        Service::EventBridge => eventbridge::throttled(),
        Service::Sns => sns::throttled(),
    }
}

pub(crate) fn request_id(simulator: &Inner) -> (&'static str, String) {
    let number = simulator.next_request();
    ("x-amzn-RequestId", format!("00000000-0000-4000-8000-{number:012x}"))
}

fn reply(
    id: (&'static str, String),
    service: Service,
    status: u16,
    body: Vec<u8>,
    more: Option<(&'static str, String)>,
) -> Ending {
    let mut headers = vec![id, ("content-type", service.protocol().content_type().to_owned())];
    if service == Service::Dynamo {
        headers.push(("x-amz-crc32", crc32(&body).to_string()));
    }
    headers.extend(more);
    Ending::Reply(Reply { status, headers, body })
}
