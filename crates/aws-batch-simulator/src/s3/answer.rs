//! Answers in XML, or with the body of an object.

use std::time::Duration;

use crate::fault::InjectedFault;
use crate::wire::{Ending, Reply, Responder};

/// The answer to a call with this fault; `done` is the one without.
pub(super) fn ended(fault: InjectedFault, responder: &Responder, done: impl FnOnce() -> Ending) -> (Ending, Duration) {
    let ending = match fault {
        InjectedFault::Throttle | InjectedFault::AccountLimit => refuse(responder, 503, "SlowDown"),
        InjectedFault::Error { status, code, .. } => refuse(responder, status, &code),
        InjectedFault::Dropped { .. } => Ending::Dropped,
        InjectedFault::Hung { .. } => Ending::Hung,
        InjectedFault::Slow(delay) => return (done(), delay),
        _ => done(),
    };
    (ending, Duration::ZERO)
}

pub(super) fn refuse(responder: &Responder, status: u16, code: &str) -> Ending {
    let body = if code.is_empty() {
        String::new()
    } else {
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>Simulated {code}</Message></Error>"#
        )
    };
    reply(responder, status, "application/xml", body.into_bytes())
}

pub(super) fn reply(responder: &Responder, status: u16, content_type: &str, body: Vec<u8>) -> Ending {
    let headers = vec![
        ("x-amz-request-id", responder.next_request_id()),
        ("content-type", content_type.to_owned()),
    ];
    Ending::Reply(Reply { status, headers, body })
}
