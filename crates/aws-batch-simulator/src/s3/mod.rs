//! The part of S3 that keeps objects: put, get, head and delete in `operation`, and `DeleteObjects` in `deletions`.

mod answer;
mod bucket;
mod chunks;
mod condition;
mod deletion;
mod deletions;
mod object;
mod operation;

use bytes::Bytes;

use self::answer::{ended, refuse, reply};
pub use self::bucket::Bucket;
use self::condition::Condition;
use self::object::Object;
use self::operation::Operation;
use crate::journal::AnswerReceipt;
use crate::registry::Registry;
use crate::wire::{CallEnd, Refusal, Request, Responder, percent_decoded};

/// Whether the request is one to S3, which unlike those to the other services name no operation.
pub(crate) fn is_of_bucket(request: &Request<'_>) -> bool {
    request.method != "POST" || !request.query.is_empty()
}

/// Answers one request.
pub(crate) fn answer(
    buckets: &Registry<Bucket>,
    responder: &Responder,
    request: &Request<'_>,
    answered: &AnswerReceipt,
) -> CallEnd {
    let mut ending =
        perform(buckets, responder, request, answered).unwrap_or_else(|refusal| refuse(responder, &refusal));
    if let CallEnd::Reply(reply) = &mut ending
        && request.method == "HEAD"
    {
        reply.body.clear();
    }
    ending
}

fn perform(
    buckets: &Registry<Bucket>,
    responder: &Responder,
    request: &Request<'_>,
    answered: &AnswerReceipt,
) -> Result<CallEnd, Refusal> {
    let ObjectPath { bucket, key } = ObjectPath::of(request.host, request.path);
    let operation = Operation::of(request, &key).map_err(|part| answer::not_implemented(&part))?;
    let bucket = buckets.find(&bucket).ok_or(answer::NO_SUCH_BUCKET)?;
    match operation {
        Operation::Get | Operation::Head => {
            let ending = bucket.read(&key, |object| found(responder, object));
            ending.ok_or(answer::NO_SUCH_KEY)
        }
        Operation::Put(condition) => put(&bucket, responder, request, &key, &condition, answered),
        Operation::Delete(condition) => {
            let (fault, deleted) = bucket.delete(&key, &condition, answered);
            Ok(ended(fault, responder, || match deleted {
                Ok(()) => reply(responder, 204, [], Vec::new()),
                Err(refusal) => refuse(responder, &refusal),
            }))
        }
        Operation::DeleteAll => Ok(deletions::delete(&bucket, responder, request, answered)),
    }
}

fn found(responder: &Responder, object: &Object) -> CallEnd {
    let headers = [
        // An answer to `HEAD` has it without the body.
        ("content-length", object.body.len().to_string()),
        ("content-type", object.content_type.clone()),
        ("etag", object.etag.clone()),
    ];
    reply(responder, 200, headers, object.body.to_vec())
}

fn put(
    bucket: &Bucket,
    responder: &Responder,
    request: &Request<'_>,
    key: &str,
    condition: &Condition,
    answered: &AnswerReceipt,
) -> Result<CallEnd, Refusal> {
    let Some(body) = chunks::body_of(request) else {
        bucket.refuse_put(answered);
        return Err(answer::INCOMPLETE_BODY);
    };
    let object = Object::new(Bytes::copy_from_slice(&body), request.header("content-type"));
    let etag = object.etag.clone();
    let (fault, stored) = bucket.put(key, object, condition, answered);
    Ok(ended(fault, responder, || match stored {
        Ok(()) => reply(responder, 200, [("etag", etag)], Vec::new()),
        Err(refusal) => refuse(responder, &refusal),
    }))
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
