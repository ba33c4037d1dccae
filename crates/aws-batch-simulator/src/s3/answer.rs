//! Answers in XML, or with the body of an object.

use crate::fault::InjectedFault;
use crate::wire::{CallEnd, Refusal, Reply, Responder, escaped};

pub(super) const INCOMPLETE_BODY: Refusal = Refusal::of(
    400,
    "IncompleteBody",
    "You did not provide the number of bytes specified by the Content-Length HTTP header.",
);
pub(super) const MALFORMED_XML: Refusal = Refusal::of(
    400,
    "MalformedXML",
    "The XML you provided was not well-formed or did not validate against our published schema",
);
pub(super) const NO_CHECKSUM: Refusal = Refusal::of(
    400,
    "InvalidRequest",
    "Missing required header for this request: Content-MD5 OR x-amz-checksum-*",
);
pub(super) const NO_SUCH_BUCKET: Refusal = Refusal::of(404, "NoSuchBucket", "The specified bucket does not exist");
pub(super) const NO_SUCH_KEY: Refusal = Refusal::of(404, "NoSuchKey", "The specified key does not exist.");
pub(super) const PRECONDITION_FAILED: Refusal = Refusal::of(
    412,
    "PreconditionFailed",
    "At least one of the pre-conditions you specified did not hold",
);
const TOO_FAST: Refusal = Refusal::of(503, SLOW_DOWN, "Please reduce your request rate.");

/// The error of a request of which this part is not modelled.
pub(super) fn not_implemented(part: &str) -> Refusal {
    Refusal::new("NotImplemented", format!("The simulator does not model {part}")).status(501)
}

/// The code of what is throttled.
pub(super) const SLOW_DOWN: &str = "SlowDown";

/// The answer to a call with this fault; `done` is the one without.
pub(super) fn ended(fault: InjectedFault, responder: &Responder, done: impl FnOnce() -> CallEnd) -> CallEnd {
    match fault {
        InjectedFault::Throttle | InjectedFault::AccountLimit => throttled(responder),
        InjectedFault::Error {
            status, code, message, ..
        } => refuse(responder, &Refusal::new(code, message).status(status)),
        InjectedFault::Dropped { .. } => CallEnd::Dropped,
        InjectedFault::Hung { .. } => CallEnd::Hung,
        _ => done(),
    }
}

pub(super) fn throttled(responder: &Responder) -> CallEnd {
    refuse(responder, &TOO_FAST)
}

pub(super) fn refuse(responder: &Responder, refusal: &Refusal) -> CallEnd {
    let Refusal { status, code, .. } = refusal;
    let body = if code.is_empty() {
        String::new()
    } else {
        let message = escaped(refusal.message());
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>"#
        )
    };
    xml(responder, *status, body)
}

pub(super) fn xml(responder: &Responder, status: u16, body: String) -> CallEnd {
    let content_type = ("content-type", "application/xml".to_owned());
    reply(responder, status, [content_type], body.into_bytes())
}

pub(super) fn reply(
    responder: &Responder,
    status: u16,
    headers: impl IntoIterator<Item = (&'static str, String)>,
    body: Vec<u8>,
) -> CallEnd {
    let id = ("x-amz-request-id", responder.next_request_id());
    let headers = [id].into_iter().chain(headers).collect();
    CallEnd::Reply(Reply { status, headers, body })
}
