//! Reads objects of S3.

use std::io::{self, Read};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::AggregatedBytes;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::names::SCHEME;
use super::record::UNREACHABLE;
use crate::connection;
use crate::outcome::Failure;

/// The HTTP status if the object has another tag.
const CHANGED: u16 = 412;

/// Bytes of one request. A request that fails is repeated, and no connection has to last for a whole object.
const PART: u64 = 1 << 20;

/// Attempts at a part whose body is cut off. The SDK itself repeats a request only until its answer begins.
const TIMES: u32 = 4;

/// The delay before the second attempt, doubled for each further one.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    client: Client,
    runtime: Handle,
    bucket: String,
    pub(super) key: String,
    pub(super) bytes: u64,
    /// Identifies the content.
    pub(crate) etag: String,
    /// As of [`Input`](super::Input).
    pub(super) has_own_keys: bool,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        (&self.bucket, &self.key, &self.etag) == (&other.bucket, &other.key, &other.etag)
    }
}

impl Eq for Object {}

impl Object {
    /// An object as it is listed.
    pub(super) fn new(client: &Client, bucket: &str, key: &str, bytes: u64, etag: &str) -> Self {
        Self {
            client: client.clone(),
            runtime: Handle::current(),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            bytes,
            etag: etag.to_owned(),
            has_own_keys: false,
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{SCHEME}{}/{}", self.bucket, self.key)
    }

    /// All of it, as text.
    pub(super) async fn text(&self) -> Result<String, Failure> {
        let unreadable = |words: String| Failure::Failed(format!("{} cannot be read: {words}", self.name()));
        let bytes = self.part(0, self.bytes).await;
        let bytes = bytes.map_err(|unread| unreadable(unread.into_io().to_string()))?;
        String::from_utf8(bytes).map_err(|_| unreadable("this is not UTF-8 text".to_owned()))
    }

    /// The first bytes. Blocks.
    pub(super) fn start(&self, bytes: u64) -> io::Result<Vec<u8>> {
        self.runtime.block_on(self.part(0, bytes)).map_err(Unread::into_io)
    }

    /// Reads the object in parts from a position. The next part is fetched while the previous one is used. Blocks.
    pub(super) fn open_at(&self, from: u64) -> Parts {
        Parts {
            object: self.clone(),
            asked: from,
            next: None,
            current: io::Cursor::default(),
        }
    }

    /// This many bytes from a position. It is an error if the object has changed since it was listed.
    async fn part(&self, from: u64, bytes: u64) -> Result<Vec<u8>, Unread> {
        if self.bytes == 0 {
            // S3 has no range of an empty object.
            return Ok(Vec::new());
        }
        let mut delay = FIRST_DELAY;
        for _ in 1..TIMES {
            match self.body(from, bytes).await {
                Err(BrokenOff) => tokio::time::sleep(delay).await,
                Ok(answer) => return answer,
            }
            delay *= 2;
        }
        let answer = self.body(from, bytes).await;
        answer.unwrap_or_else(|BrokenOff| Err(Unread::Unreachable("its body was cut off in every attempt".to_owned())))
    }

    /// One request for a part. The outer error is a body that was cut off; the inner one ends the reading.
    async fn body(&self, from: u64, bytes: u64) -> Result<Result<Vec<u8>, Unread>, BrokenOff> {
        let range = format!("bytes={from}-{}", (from + bytes).min(self.bytes).saturating_sub(1));
        let get = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(&self.key)
            .range(range);
        let got = get.if_match(&self.etag).send().await;
        let got = match got {
            Ok(got) => got,
            Err(error) => {
                return Ok(Err(match error.raw_response() {
                    Some(answer) if answer.status().as_u16() == CHANGED => Unread::Changed,
                    _ => Unread::Unreachable(connection::words(&error)),
                }));
            }
        };
        let body = got.body.collect().await.map(AggregatedBytes::to_vec);
        body.map(Ok).map_err(|_| BrokenOff)
    }
}

/// A body that was cut off.
struct BrokenOff;

/// Why a part was not read.
enum Unread {
    /// The object has another tag.
    Changed,
    /// S3 did not give it, which may be otherwise at another time or from another machine.
    Unreachable(String),
}

impl Unread {
    fn into_io(self) -> io::Error {
        match self {
            Self::Changed => io::Error::other("the object has changed since it was listed"),
            Self::Unreachable(words) => io::Error::new(UNREACHABLE, words),
        }
    }
}

/// Reads an object.
pub(super) struct Parts {
    object: Object,
    /// The position up to which the object was requested.
    asked: u64,
    next: Option<JoinHandle<Result<Vec<u8>, Unread>>>,
    current: io::Cursor<Vec<u8>>,
}

impl Parts {
    /// Requests the next part.
    fn ask(&mut self) {
        if self.asked < self.object.bytes {
            let (object, from) = (self.object.clone(), self.asked);
            let part = async move { object.part(from, PART).await };
            self.next = Some(self.object.runtime.spawn(part));
            self.asked += PART;
        }
    }
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.current.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.next.is_none() {
                self.ask();
            }
            let Some(next) = self.next.take() else { return Ok(0) };
            let part = self.object.runtime.block_on(next).map_err(io::Error::other)?;
            self.current = io::Cursor::new(part.map_err(Unread::into_io)?);
            self.ask();
        }
    }
}
