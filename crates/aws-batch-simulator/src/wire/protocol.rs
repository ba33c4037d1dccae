//! The formats of requests and answers.

use serde_json::{Value, json};

#[cfg(feature = "cloudwatch")]
use super::cbor;
use super::query;
use super::refusal::Refusal;

/// What the answers of all operations of a service have in common.
pub(crate) struct Api {
    pub(crate) protocol: Protocol,
    /// The prefix of the codes of its errors.
    pub(crate) namespace: &'static str,
    /// Whether answers have a checksum.
    pub(crate) has_checksums: bool,
    /// Whether errors have the code of the older protocol in a header.
    pub(crate) has_query_errors: bool,
    /// The error of a call that a fault throttles.
    pub(crate) throttled: fn() -> Refusal,
}

/// The type of the bodies of CloudWatch.
const CBOR: &str = "application/cbor";

/// The format of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Json10,
    Json11,
    /// Requests are forms, answers are XML.
    Query,
    /// The SDK reads no answer but errors.
    #[cfg(feature = "cloudwatch")]
    Cbor,
}

impl Protocol {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json10 => "application/x-amz-json-1.0",
            Self::Json11 => "application/x-amz-json-1.1",
            Self::Query => "text/xml",
            #[cfg(feature = "cloudwatch")]
            Self::Cbor => CBOR,
        }
    }

    /// The members of a request. A body that has none is refused, whatever the operation.
    pub(crate) fn parse(self, body: &[u8]) -> Result<Value, Refusal> {
        let parsed = self.parse_any(body)?;
        if parsed.is_object() {
            Ok(parsed)
        } else {
            Err(Refusal::serialization("Unexpected value type in payload"))
        }
    }

    fn parse_any(self, body: &[u8]) -> Result<Value, Refusal> {
        match self {
            Self::Query => return query::parse(body),
            #[cfg(feature = "cloudwatch")]
            Self::Cbor => return cbor::parse(body),
            Self::Json10 | Self::Json11 => {}
        }
        serde_json::from_slice(body).map_err(|error| {
            // The parser fails at 128 levels of JSON, far beyond the 32 levels of attributes.
            if error.to_string().starts_with("recursion limit") {
                Refusal::validation(
                    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond \
                     supported limit",
                )
            } else {
                Refusal::serialization("Unable to parse the request body")
            }
        })
    }

    pub(super) fn answer(self, operation: &str, value: &Value, request_id: &str) -> Vec<u8> {
        match self {
            Self::Query => query::answer(operation, value, request_id).into_bytes(),
            Self::Json10 | Self::Json11 => value.to_string().into_bytes(),
            #[cfg(feature = "cloudwatch")]
            Self::Cbor => cbor::map([].into_iter()),
        }
    }

    /// Whether a success is one whatever its body.
    pub(super) fn has_no_answers(self) -> bool {
        self.content_type() == CBOR
    }
}

impl Api {
    pub(crate) fn error(&self, refusal: &Refusal, request_id: &str) -> Vec<u8> {
        match self.protocol {
            Protocol::Query => query::error(refusal, request_id).into_bytes(),
            Protocol::Json10 | Protocol::Json11 => self.json_error(refusal).into_bytes(),
            #[cfg(feature = "cloudwatch")]
            Protocol::Cbor => {
                let code = self.full_code(refusal);
                cbor::map([("__type", &*code), ("message", &*refusal.message)].into_iter())
            }
        }
    }

    fn full_code(&self, refusal: &Refusal) -> String {
        if refusal.code.contains('#') {
            refusal.code.to_string()
        } else {
            format!("{}{}", self.namespace, refusal.code)
        }
    }

    fn json_error(&self, refusal: &Refusal) -> String {
        let kind = self.full_code(refusal);
        let member = if refusal.has_capital_message {
            "Message"
        } else {
            "message"
        };
        let mut body = json!({"__type": kind, member: refusal.message});
        if let Some((member, value)) = &refusal.more {
            body[*member] = value.clone();
        }
        body.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        for protocol in [Protocol::Json10, Protocol::Json11] {
            for body in ["[]", "1", "\"text\"", "null", "", "{"] {
                let refusal = protocol.parse(body.as_bytes()).unwrap_err();
                assert!(refusal.code.ends_with("SerializationException"), "{body}: {refusal:?}");
            }
            assert_eq!(protocol.parse(b"{}"), Ok(json!({})));
        }
    }
}
