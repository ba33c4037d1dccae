//! Calls of single objects.

use std::time::Duration;

use bytes::Bytes;

use super::answer::{ended, refuse, reply};
use super::bucket::Bucket;
use crate::journal::Answered;
use crate::wire::{Ending, Request, Responder};

/// Answers one request, and returns how much longer than usual the answer takes.
pub(super) fn answer(
    bucket: &Bucket,
    responder: &Responder,
    request: &Request<'_>,
    key: &str,
    answered: &Answered,
) -> (Ending, Duration) {
    let done = |status| move || reply(responder, status, "application/xml", Vec::new());
    match request.method {
        "GET" => (get(responder, bucket, key), Duration::ZERO),
        "PUT" => {
            let fault = bucket.put(key, Bytes::copy_from_slice(request.body), answered);
            ended(fault, responder, done(200))
        }
        "DELETE" => {
            let fault = bucket.delete(key, answered);
            ended(fault, responder, done(204))
        }
        _ => (refuse(responder, 405, "MethodNotAllowed"), Duration::ZERO),
    }
}

fn get(responder: &Responder, bucket: &Bucket, key: &str) -> Ending {
    match bucket.get(key) {
        Some(body) => reply(responder, 200, "application/octet-stream", body.to_vec()),
        None => refuse(responder, 404, "NoSuchKey"),
    }
}
