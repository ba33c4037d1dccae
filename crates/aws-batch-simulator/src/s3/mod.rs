//! The part of S3 that keeps single objects: put, get, delete.

mod bucket;
mod path;

use std::time::Duration;

use bytes::Bytes;

pub use self::bucket::Bucket;
use self::path::Path;
use super::Inner;
use super::fault::InjectedFault;
use super::wire::{Ending, Reply, Request, request_id};

/// Answers one request, and returns how much longer than usual the answer takes.
pub(super) fn answer(simulator: &Inner, request: &Request<'_>) -> (Ending, Duration) {
    let Path { bucket, key } = Path::of(request.host, request.path);
    let Some(bucket) = simulator.buckets.find(&bucket) else {
        return (refuse(simulator, 404, "NoSuchBucket"), Duration::ZERO);
    };
    match request.method {
        "GET" => (get(simulator, &bucket, &key), Duration::ZERO),
        "PUT" => {
            let fault = bucket.put(key, Bytes::copy_from_slice(request.body));
            done_unless(fault, simulator, 200)
        }
        "DELETE" => {
            let fault = bucket.delete(&key);
            done_unless(fault, simulator, 204)
        }
        _ => (refuse(simulator, 405, "MethodNotAllowed"), Duration::ZERO),
    }
}

fn get(simulator: &Inner, bucket: &Bucket, key: &str) -> Ending {
    match bucket.get(key) {
        Some(body) => reply(simulator, 200, "application/octet-stream", body.to_vec()),
        None => refuse(simulator, 404, "NoSuchKey"),
    }
}

/// The answer to a put or a delete with this fault.
fn done_unless(fault: InjectedFault, simulator: &Inner, status: u16) -> (Ending, Duration) {
    let done = || reply(simulator, status, "application/xml", Vec::new());
    let ending = match fault {
        InjectedFault::Throttle | InjectedFault::AccountLimit => refuse(simulator, 503, "SlowDown"),
        InjectedFault::Error { status, code, .. } => refuse(simulator, status, &code),
        InjectedFault::Dropped { .. } => Ending::Dropped,
        InjectedFault::Hung { .. } => Ending::Hung,
        InjectedFault::Slow(delay) => return (done(), delay),
        _ => done(),
    };
    (ending, Duration::ZERO)
}

fn refuse(simulator: &Inner, status: u16, code: &str) -> Ending {
    let body = if code.is_empty() {
        String::new()
    } else {
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>Simulated {code}</Message></Error>"#
        )
    };
    reply(simulator, status, "application/xml", body.into_bytes())
}

fn reply(simulator: &Inner, status: u16, content_type: &str, body: Vec<u8>) -> Ending {
    let (_, id) = request_id(simulator);
    let headers = vec![("x-amz-request-id", id), ("content-type", content_type.to_owned())];
    Ending::Reply(Reply { status, headers, body })
}
