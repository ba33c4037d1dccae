//! The part of S3 that keeps objects: put, get, delete, and `DeleteObjects`.

mod answer;
mod bucket;
mod chunks;
mod deletion;
mod deletions;

use std::time::Duration;

use bytes::Bytes;

use self::answer::{Refusal, ended, refuse, reply};
pub use self::bucket::Bucket;
use crate::journal::Answered;
use crate::registry::Registry;
use crate::wire::{Ending, Request, Responder, percent_decoded};

/// The parameter of the query that makes a request `DeleteObjects`.
const DELETIONS: &str = "delete";

/// Whether the request is one to S3, which unlike those to the other services name no operation.
pub(crate) fn is_of_bucket(request: &Request<'_>) -> bool {
    request.method != "POST" || names_deletions(request.query)
}

fn names_deletions(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some(DELETIONS))
}

/// Answers one request, and returns how much longer than usual the answer takes.
pub(crate) fn answer(
    buckets: &Registry<Bucket>,
    responder: &Responder,
    request: &Request<'_>,
    answered: &Answered,
) -> (Ending, Duration) {
    let ObjectPath { bucket, key } = ObjectPath::of(request.host, request.path);
    let Some(bucket) = buckets.find(&bucket) else {
        return (refuse(responder, &Refusal::NO_SUCH_BUCKET), Duration::ZERO);
    };
    if request.method == "POST" {
        return deletions::delete(&bucket, responder, request, answered);
    }
    answer_for_object(&bucket, responder, request, &key, answered)
}

/// Answers a call of a single object, and returns how much longer than usual the answer takes.
fn answer_for_object(
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
            let Some(body) = chunks::body_of(request) else {
                return (refuse(responder, &Refusal::INCOMPLETE_BODY), Duration::ZERO);
            };
            let fault = bucket.put(key, Bytes::copy_from_slice(&body), answered);
            ended(fault, responder, done(200))
        }
        "DELETE" => {
            let fault = bucket.delete(key, answered);
            ended(fault, responder, done(204))
        }
        _ => (refuse(responder, &Refusal::METHOD_NOT_ALLOWED), Duration::ZERO),
    }
}

fn get(responder: &Responder, bucket: &Bucket, key: &str) -> Ending {
    match bucket.get(key) {
        Some(body) => reply(responder, 200, "application/octet-stream", body.to_vec()),
        None => refuse(responder, &Refusal::NO_SUCH_KEY),
    }
}

/// Bucket and key of a request, percent-decoded.
#[derive(Debug, PartialEq, Eq)]
struct ObjectPath {
    bucket: String,
    key: String,
}

impl ObjectPath {
    /// The bucket is in the host (`bucket.s3.us-east-1.amazonaws.com`), or else the first part of the path.
    fn of(host: &str, path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (bucket, key) = match host.split_once(".s3.") {
            Some((bucket, _)) => (bucket, path),
            None => path.split_once('/').unwrap_or((path, "")),
        };
        Self {
            bucket: bucket.to_owned(),
            key: percent_decoded(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bucket: &str, key: &str) -> ObjectPath {
        ObjectPath {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        }
    }

    #[test]
    fn a_bucket_is_in_the_host_or_in_the_path() {
        assert_eq!(
            ObjectPath::of("large.s3.us-east-1.amazonaws.com", "/a/b"),
            path("large", "a/b")
        );
        assert_eq!(
            ObjectPath::of("s3.us-east-1.amazonaws.com", "/large/a/b"),
            path("large", "a/b")
        );
        assert_eq!(
            ObjectPath::of("127.0.0.1:4566", "/large/a%20%C3%BC%"),
            path("large", "a ü%")
        );
        assert_eq!(ObjectPath::of("127.0.0.1:4566", "/large"), path("large", ""));
    }
}
