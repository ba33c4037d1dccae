//! The part of S3 that keeps single objects: put, get, delete.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;

use crate::fault::InjectedFault;
use crate::registry::{Registry, lock};
use crate::wire::{Ending, Reply, Request, Responder, percent_decoded};

/// A bucket of the simulator. Clones are handles to the same bucket.
#[derive(Clone)]
pub struct Bucket {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    script: VecDeque<InjectedFault>,
    puts: u64,
    deletes: u64,
}

/// Handles for tests.
impl Bucket {
    /// The name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Sets the faults of the next puts and deletes, in this order; later ones have none. Replaces the rest of an earlier
    /// script. Faults of single entries apply only to batches and have no effect here.
    pub fn script(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.state().script = faults.into_iter().collect();
    }

    /// All objects by their keys.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let objects = state.objects.iter();
        objects.map(|(key, body)| (key.clone(), body.to_vec())).collect()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.state().objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of puts that have arrived, including failed ones.
    pub fn puts(&self) -> u64 {
        self.state().puts
    }

    /// The number of deletes that have arrived, including failed ones.
    pub fn deletes(&self) -> u64 {
        self.state().deletes
    }
}

impl Bucket {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                state: Mutex::default(),
            }),
        }
    }

    fn get(&self, key: &str) -> Option<Bytes> {
        self.state().objects.get(key).cloned()
    }

    /// Puts an object, unless the fault of the request prevents it.
    fn put(&self, key: String, body: Bytes) -> InjectedFault {
        let mut state = self.state();
        state.puts += 1;
        let fault = state.next_fault();
        if fault.replaces_answer().unwrap_or(true) {
            state.objects.insert(key, body);
        }
        fault
    }

    /// Deletes an object, unless the fault of the request prevents it.
    fn delete(&self, key: &str) -> InjectedFault {
        let mut state = self.state();
        state.deletes += 1;
        let fault = state.next_fault();
        if fault.replaces_answer().unwrap_or(true) {
            state.objects.remove(key);
        }
        fault
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.inner.state)
    }
}

impl State {
    fn next_fault(&mut self) -> InjectedFault {
        self.script.pop_front().unwrap_or(InjectedFault::None)
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

/// Answers one request, and returns how much longer than usual the answer takes.
pub(crate) fn answer(buckets: &Registry<Bucket>, responder: &Responder, request: &Request<'_>) -> (Ending, Duration) {
    let ObjectPath { bucket, key } = ObjectPath::of(request.host, request.path);
    let Some(bucket) = buckets.find(&bucket) else {
        return (refuse(responder, 404, "NoSuchBucket"), Duration::ZERO);
    };
    match request.method {
        "GET" => (get(responder, &bucket, &key), Duration::ZERO),
        "PUT" => {
            let fault = bucket.put(key, Bytes::copy_from_slice(request.body));
            done(fault, responder, 200)
        }
        "DELETE" => {
            let fault = bucket.delete(&key);
            done(fault, responder, 204)
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

/// The answer to a put or a delete with this fault.
fn done(fault: InjectedFault, responder: &Responder, status: u16) -> (Ending, Duration) {
    let done = || reply(responder, status, "application/xml", Vec::new());
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

fn refuse(responder: &Responder, status: u16, code: &str) -> Ending {
    let body = if code.is_empty() {
        String::new()
    } else {
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>Simulated {code}</Message></Error>"#
        )
    };
    reply(responder, status, "application/xml", body.into_bytes())
}

fn reply(responder: &Responder, status: u16, content_type: &str, body: Vec<u8>) -> Ending {
    let headers = vec![
        ("x-amz-request-id", responder.next_request_id()),
        ("content-type", content_type.to_owned()),
    ];
    Ending::Reply(Reply { status, headers, body })
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
