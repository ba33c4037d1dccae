//! Errors in the words of a service.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::body::{Body, CRC, answer, full};

/// The message of the errors of faults.
pub(crate) const BY_FAULT: &str = "By a fault of throttled-aws";

/// The error of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    /// A further member of its JSON.
    pub(crate) more: Option<(&'static str, Value)>,
}

impl Refusal {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            code: code.into(),
            message: message.into(),
            more: None,
        }
    }

    pub(crate) fn with(mut self, member: &'static str, value: Value) -> Self {
        self.more = Some((member, value));
        self
    }

    /// The error of a fault, with this code or that of an internal error.
    pub(crate) fn by_fault(status: u16, code: Option<&str>, service: &str) -> Self {
        let code = code.unwrap_or_else(|| Self::internal_code(service));
        Self {
            status,
            ..Self::new(code, BY_FAULT)
        }
    }

    /// The throttle of a call to a service whose capacity is not modelled.
    pub(crate) fn throttled(service: &str) -> Self {
        match service {
            "s3" => Self {
                status: 503,
                ..Self::new("SlowDown", "Please reduce your request rate.")
            },
            _ => Self::new("ThrottlingException", "Rate exceeded"),
        }
    }

    /// The code of an internal error.
    fn internal_code(service: &str) -> &'static str {
        match service {
            "dynamodb" => "InternalServerError",
            "sqs" | "s3" => "InternalError",
            _ => "InternalFailure",
        }
    }

    /// The answer, in the format of the call that it is for.
    pub(crate) fn answer(self, service: &str, is_json: bool) -> Response<Body> {
        if service == "s3" {
            let body = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message></Error>",
                self.code, self.message
            );
            return answer(self.status, "application/xml", body);
        }
        if !is_json {
            let fault = if self.status < 500 { "Sender" } else { "Receiver" };
            let body = format!(
                "<ErrorResponse><Error><Type>{fault}</Type><Code>{}</Code><Message>{}</Message></Error></ErrorResponse>",
                self.code, self.message
            );
            return answer(self.status, "text/xml", body);
        }
        self.json(service).map(full)
    }

    /// The answer in JSON.
    pub(crate) fn json(self, service: &str) -> Response<Bytes> {
        let (namespace, kind) = match service {
            "dynamodb" => ("com.amazonaws.dynamodb.v20120810#", "application/x-amz-json-1.0"),
            "sqs" => ("com.amazonaws.sqs#", "application/x-amz-json-1.0"),
            _ => ("", "application/x-amz-json-1.1"),
        };
        let mut body = json!({"__type": format!("{namespace}{}", self.code), "message": self.message});
        if let Some((member, value)) = self.more {
            body[member] = value;
        }
        let mut response = Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let checksum = crc32fast::hash(response.body());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if service == "dynamodb" {
            headers.insert(CRC, HeaderValue::from(checksum));
        }
        // The code of the older protocol, which SDKs prefer.
        if service == "sqs"
            && let Ok(code) = HeaderValue::from_str(&format!("{};Sender", query_code(&self.code)))
        {
            headers.insert("x-amzn-query-error", code);
        }
        response
    }
}

fn query_code(code: &str) -> String {
    match code {
        "QueueDoesNotExist" => "AWS.SimpleQueueService.NonExistentQueue".to_owned(),
        code => code.to_owned(),
    }
}
