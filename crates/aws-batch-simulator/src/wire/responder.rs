//! Writes answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use super::exchange::{CallEnd, Reply};
use super::protocol::Api;
#[cfg(feature = "cloudwatch")]
use super::protocol::Protocol;
use super::refusal::Refusal;
use crate::fault::InjectedFault;

/// Writes the answers of a simulator. Each has a request id of its own.
pub(crate) struct Responder {
    requests: AtomicU64,
    sends_query_errors: AtomicBool,
}

impl Default for Responder {
    fn default() -> Self {
        Self {
            requests: AtomicU64::new(0),
            sends_query_errors: AtomicBool::new(true),
        }
    }
}

impl Responder {
    pub(crate) fn set_query_errors(&self, on: bool) {
        self.sends_query_errors.store(on, Ordering::Relaxed);
    }

    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("00000000-0000-4000-8000-{number:012x}")
    }

    /// The answer to a request that is larger than any service accepts.
    pub(crate) fn too_large(&self) -> CallEnd {
        CallEnd::Reply(Reply {
            status: 413,
            headers: vec![id_header(self.next_request_id())],
            body: Vec::new(),
        })
    }

    pub(crate) fn succeed(&self, api: &Api, operation: &str, value: &Value) -> CallEnd {
        let id = self.next_request_id();
        let body = api.protocol.answer(operation, value, &id);
        reply(id, api, 200, body, None)
    }

    pub(crate) fn refuse(&self, api: &Api, refusal: &Refusal) -> CallEnd {
        let id = self.next_request_id();
        let body = api.error(refusal, &id);
        let sends_query_error = api.has_query_errors && self.sends_query_errors.load(Ordering::Relaxed);
        let query_error = sends_query_error.then(|| {
            let code = refusal.short_code();
            ("x-amzn-query-error", format!("{code};{}", refusal.faulty_side()))
        });
        reply(id, api, refusal.status, body, query_error)
    }

    /// The end of a call whose answer is replaced by this fault.
    pub(crate) fn fail(&self, api: &Api, operation: &str, fault: InjectedFault) -> CallEnd {
        let answer = |status, body: &[u8]| reply(self.next_request_id(), api, status, body.to_vec(), None);
        match fault {
            InjectedFault::Dropped { .. } => CallEnd::Dropped,
            InjectedFault::Hung { .. } => CallEnd::Hung,
            // An answer that something in between has made: it lacks what those of the service have.
            InjectedFault::Garbage { .. } if api.protocol.has_no_answers() => CallEnd::Reply(Reply {
                status: 200,
                headers: Vec::new(),
                body: b"<html>".to_vec(),
            }),
            InjectedFault::Garbage { .. } => answer(200, b"{\"Succ"),
            InjectedFault::Throttle | InjectedFault::AccountLimit => self.refuse(api, &(api.throttled)()),
            InjectedFault::Error { status, code, .. } if code.is_empty() => answer(status, b""),
            InjectedFault::Error {
                status, code, message, ..
            } => self.refuse(api, &Refusal::new(code, message).status(status)),
            _ => self.succeed(api, operation, &json!({})),
        }
    }
}

fn reply(id: String, api: &Api, status: u16, body: Vec<u8>, more: Option<(&'static str, String)>) -> CallEnd {
    let content_type = api.protocol.content_type().to_owned();
    let mut headers = vec![id_header(id), ("content-type", content_type)];
    if api.has_checksums {
        headers.push(("x-amz-crc32", crc32(&body).to_string()));
    }
    #[cfg(feature = "cloudwatch")]
    if api.protocol == Protocol::Cbor {
        headers.push(("smithy-protocol", "rpc-v2-cbor".to_owned()));
    }
    headers.extend(more);
    CallEnd::Reply(Reply { status, headers, body })
}

fn id_header(id: String) -> (&'static str, String) {
    ("x-amzn-RequestId", id)
}

/// The checksum that `DynamoDB` sends with its answers: the CRC-32 of IEEE 802.3.
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
}
