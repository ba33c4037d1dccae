//! From the request to the operation, and from its outcome to the response.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::fault::InjectedFault;
use super::journal::Heard;
use super::{Inner, dynamo, sqs};

/// `DynamoDB` takes no larger request body; it is 16 MiB on the wire.
pub(crate) const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// The two services, as `X-Amz-Target` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Dynamo,
    Sqs,
}

impl Service {
    /// The service and the operation that a target names.
    pub(crate) fn of_target(target: &str) -> Option<(Self, &str)> {
        let (service, operation) = target.split_once('.')?;
        match service {
            "DynamoDB_20120810" => Some((Self::Dynamo, operation)),
            "AmazonSQS" => Some((Self::Sqs, operation)),
            _ => None,
        }
    }

    fn namespace(self) -> &'static str {
        match self {
            Self::Dynamo => "com.amazonaws.dynamodb.v20120810#",
            Self::Sqs => "com.amazonaws.sqs#",
        }
    }
}

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
    /// Nothing ever happens.
    Hung,
}

/// What an operation came to.
pub(crate) enum Outcome {
    Success(Value),
    /// A success whose answer takes longer.
    Late(Value, Duration),
    Refused(Refusal),
    /// A fault takes the place of the answer.
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

/// An error that the service answers with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    status: u16,
    code: Cow<'static, str>,
    /// The code in SQS's older protocol, where it is another one.
    query_code: Option<&'static str>,
    message: Cow<'static, str>,
    more: Option<(&'static str, Value)>,
}

impl Refusal {
    /// An HTTP 400. A code that contains `#` brings its own namespace.
    pub(crate) fn new(code: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status: 400,
            code: code.into(),
            query_code: None,
            message: message.into(),
            more: None,
        }
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn query_code(mut self, code: &'static str) -> Self {
        self.query_code = Some(code);
        self
    }

    pub(crate) fn with(mut self, member: &'static str, value: Value) -> Self {
        self.more = Some((member, value));
        self
    }

    pub(crate) fn serialization(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new("com.amazon.coral.service#SerializationException", message)
    }

    /// The code as an entry of a batch answer shows it.
    pub(crate) fn short_code(&self) -> &str {
        self.query_code.unwrap_or(&self.code)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

/// A request as it arrives. S3 is told by its method, host and path, the others by their target.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    /// `X-Amz-Target`.
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
}

/// Answers one request, at the moment at which it arrives.
///
/// Returns how the call ends, and how much longer than usual the answer takes.
pub(crate) async fn answer(simulator: &Arc<Inner>, request: &Request<'_>, heard: &Heard) -> (Ending, Duration) {
    if request.target.is_empty() && request.method != "POST" {
        return super::s3::answer(simulator, request);
    }
    let Some((service, operation)) = Service::of_target(request.target) else {
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
    let outcome = match (parse(request.body), service) {
        (Err(refusal), _) => Outcome::Refused(refusal),
        (Ok(body), Service::Dynamo) => dynamo::operate(simulator, operation, body, heard),
        (Ok(body), Service::Sqs) => sqs::operate(simulator, operation, body, heard).await,
    };
    match outcome {
        Outcome::Success(value) => (succeed(simulator, service, &value), Duration::ZERO),
        Outcome::Late(value, delay) => (succeed(simulator, service, &value), delay),
        Outcome::Refused(refusal) => (refuse(simulator, service, &refusal), Duration::ZERO),
        Outcome::Struck(fault) => (strike(simulator, service, fault), Duration::ZERO),
    }
}

pub(crate) fn unknown_operation() -> Refusal {
    Refusal::new("com.amazon.coral.service#UnknownOperationException", "")
}

fn parse(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        // The parser gives up at 128 levels of JSON, far beyond the 32 levels of attributes.
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

fn succeed(simulator: &Inner, service: Service, value: &Value) -> Ending {
    reply(simulator, service, 200, value.to_string().into_bytes(), None)
}

fn refuse(simulator: &Inner, service: Service, refusal: &Refusal) -> Ending {
    let kind = if refusal.code.contains('#') {
        refusal.code.to_string()
    } else {
        format!("{}{}", service.namespace(), refusal.code)
    };
    let mut body = json!({"__type": kind, "message": refusal.message});
    if let Some((member, value)) = &refusal.more {
        body[*member] = value.clone();
    }
    let sender = if refusal.status < 500 { "Sender" } else { "Receiver" };
    let query_error = (service == Service::Sqs && simulator.sends_query_errors()).then(|| {
        let code = refusal.query_code.unwrap_or(&refusal.code);
        ("x-amzn-query-error", format!("{code};{sender}"))
    });
    reply(
        simulator,
        service,
        refusal.status,
        body.to_string().into_bytes(),
        query_error,
    )
}

fn strike(simulator: &Inner, service: Service, fault: InjectedFault) -> Ending {
    match fault {
        InjectedFault::Dropped { .. } => Ending::Dropped,
        InjectedFault::Hung { .. } => Ending::Hung,
        InjectedFault::Garbage { .. } => reply(simulator, service, 200, b"{\"Succ".to_vec(), None),
        InjectedFault::Throttle | InjectedFault::AccountLimit => refuse(simulator, service, &throttled(service)),
        InjectedFault::Error { status, code, .. } if code.is_empty() => {
            reply(simulator, service, status, Vec::new(), None)
        }
        InjectedFault::Error {
            status, code, message, ..
        } => refuse(simulator, service, &Refusal::new(code, message).status(status)),
        _ => reply(simulator, service, 200, b"{}".to_vec(), None),
    }
}

pub(crate) fn throttled(service: Service) -> Refusal {
    match service {
        Service::Dynamo => dynamo::throughput_exceeded(),
        Service::Sqs => sqs::request_throttled(),
    }
}

pub(crate) fn request_id(simulator: &Inner) -> (&'static str, String) {
    let number = simulator.next_request();
    ("x-amzn-RequestId", format!("00000000-0000-4000-8000-{number:012x}"))
}

fn reply(
    simulator: &Inner,
    service: Service,
    status: u16,
    body: Vec<u8>,
    more: Option<(&'static str, String)>,
) -> Ending {
    let mut headers = vec![
        request_id(simulator),
        ("content-type", "application/x-amz-json-1.0".to_owned()),
    ];
    if service == Service::Dynamo {
        headers.push(("x-amz-crc32", crc32(&body).to_string()));
    }
    headers.extend(more);
    Ending::Reply(Reply { status, headers, body })
}

/// The checksum that `DynamoDB` sends with its answers: that of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index: u32 = 0;
        while index < 256 {
            let mut value = index;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xEDB8_8320 ^ (value >> 1)
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[index as usize] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        TABLE[usize::from(sum.to_le_bytes()[0] ^ byte)] ^ (sum >> 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_target_names_service_and_operation() {
        assert_eq!(
            Service::of_target("DynamoDB_20120810.BatchWriteItem"),
            Some((Service::Dynamo, "BatchWriteItem"))
        );
        assert_eq!(
            Service::of_target("AmazonSQS.SendMessageBatch"),
            Some((Service::Sqs, "SendMessageBatch"))
        );
        assert_eq!(Service::of_target("Kinesis_20131202.PutRecords"), None);
    }
}
