//! Objects of S3.

use std::io::{self, Read};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::AggregatedBytes;
use glob::{MatchOptions, Pattern};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::export;
use super::named::{Input, SCHEME, Storage};
use crate::arguments::Service;
use crate::connect;
use crate::failure::Failure;

/// The HTTP status if the object has another tag.
const CHANGED: u16 = 412;

/// Bytes of one request. A request that fails is repeated, and no connection has to last for a whole object.
const PART: u64 = 1 << 20;

/// Attempts at a part whose body is cut off. The SDK itself repeats a request only until its answer begins.
const TIMES: u32 = 4;

/// The delay before the second attempt, doubled for each further one.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// A star does not match a slash, as with files.
const IN_A_FOLDER: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Characters that turn a key into a pattern.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    client: Client,
    runtime: Handle,
    bucket: String,
    key: String,
    bytes: u64,
    /// Identifies the content.
    pub(crate) etag: String,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        (&self.bucket, &self.key, &self.etag) == (&other.bucket, &other.key, &other.etag)
    }
}

impl Eq for Object {}

/// The objects that `bucket/key` names: one object, those of a prefix or pattern, or the data files of an export.
pub(super) async fn named(name: &str, service: &Service) -> Result<Vec<Input>, Failure> {
    let (bucket, key) = name.split_once('/').unwrap_or((name, ""));
    let client = connect::buckets(service).await?;
    let objects = Bucket { client, name: bucket }.named(key).await?;
    if objects.is_empty() {
        return Err(Failure::WrongUse(format!("there is no object {SCHEME}{name}")));
    }
    Ok(objects.into_iter().map(Object::input).collect())
}

struct Bucket<'a> {
    client: Client,
    name: &'a str,
}

impl Bucket<'_> {
    async fn named(&self, key: &str) -> Result<Vec<Object>, Failure> {
        let fixed = key.split(WILDCARDS).next().unwrap_or_default();
        let listed = self.listed(fixed).await?;
        if let Some(exact) = listed.iter().find(|object| object.key == key) {
            return Ok(vec![exact.clone()]);
        }
        if fixed != key {
            let pattern = Pattern::new(key)
                .map_err(|error| Failure::WrongUse(format!("{key} is not a valid pattern: {error}")))?;
            return Ok(listed
                .into_iter()
                .filter(|object| pattern.matches_with(&object.key, IN_A_FOLDER))
                .collect());
        }
        let folder = match key.trim_end_matches('/') {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        match listed
            .iter()
            .find(|object| object.key == format!("{folder}{}", export::FILES))
        {
            Some(list) => self.exported(&folder, list, &listed).await,
            None => Ok(listed),
        }
    }

    /// All objects with this prefix, except those that only mark a folder.
    async fn listed(&self, prefix: &str) -> Result<Vec<Object>, Failure> {
        let list = self.client.list_objects_v2().bucket(self.name).prefix(prefix);
        let mut pages = list.into_paginator().send();
        let mut objects = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| {
                let words = connect::words(&error);
                Failure::Failed(format!("{SCHEME}{}/{prefix} cannot be listed: {words}", self.name))
            })?;
            for object in page.contents() {
                let (Some(key), Some(bytes)) = (object.key(), object.size()) else {
                    continue;
                };
                let bytes = u64::try_from(bytes).unwrap_or_default();
                if bytes > 0 {
                    objects.push(Object {
                        client: self.client.clone(),
                        runtime: Handle::current(),
                        bucket: self.name.to_owned(),
                        key: key.to_owned(),
                        bytes,
                        etag: object.e_tag().unwrap_or_default().to_owned(),
                    });
                }
            }
        }
        Ok(objects)
    }

    /// The data files of the export that this object lists.
    async fn exported(&self, folder: &str, list: &Object, listed: &[Object]) -> Result<Vec<Object>, Failure> {
        let failed = |words: String| Failure::WrongUse(format!("{SCHEME}{}/{folder} {words}", self.name));
        let of_key = |key: &str| listed.iter().find(|object| object.key == key);
        if let Some(summary) = of_key(&format!("{folder}{}", export::SUMMARY)) {
            let summary = self.text(summary).await?;
            export::check(&summary).map_err(failed)?;
        }
        let names =
            export::names(&self.text(list).await?).ok_or_else(|| failed("has no list of data files".to_owned()))?;
        let files = names.iter().map(|name| {
            let key = format!("{folder}{}/{name}", export::DATA);
            of_key(&key)
                .cloned()
                .ok_or_else(|| failed(format!("has no {key}: copy the whole export")))
        });
        files.collect()
    }

    async fn text(&self, object: &Object) -> Result<String, Failure> {
        let unreadable =
            |words: String| Failure::Failed(format!("{SCHEME}{}/{} cannot be read: {words}", self.name, object.key));
        let bytes = object.part(0, object.bytes).await.map_err(unreadable)?;
        String::from_utf8(bytes).map_err(|_| unreadable("this is not UTF-8 text".to_owned()))
    }
}

impl Object {
    fn input(self) -> Input {
        Input {
            name: format!("{SCHEME}{}/{}", self.bucket, self.key),
            bytes: Some(self.bytes),
            part: None,
            storage: Storage::Object(self),
        }
    }

    /// The first bytes. Blocks.
    pub(super) fn start(&self, bytes: u64) -> io::Result<Vec<u8>> {
        let start = self.runtime.block_on(self.part(0, bytes));
        start.map_err(io::Error::other)
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
    async fn part(&self, from: u64, bytes: u64) -> Result<Vec<u8>, String> {
        let mut delay = FIRST_DELAY;
        for _ in 1..TIMES {
            match self.body(from, bytes).await {
                Err(BrokenOff) => tokio::time::sleep(delay).await,
                Ok(answer) => return answer,
            }
            delay *= 2;
        }
        let answer = self.body(from, bytes).await;
        answer.unwrap_or_else(|BrokenOff| Err("its body was cut off in every attempt".to_owned()))
    }

    /// One request for a part. The outer error is a body that was cut off; the inner one ends the reading.
    async fn body(&self, from: u64, bytes: u64) -> Result<Result<Vec<u8>, String>, BrokenOff> {
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
                    Some(answer) if answer.status().as_u16() == CHANGED => {
                        "the object has changed since it was listed".to_owned()
                    }
                    _ => connect::words(&error),
                }));
            }
        };
        let body = got.body.collect().await.map(AggregatedBytes::to_vec);
        body.map(Ok).map_err(|_| BrokenOff)
    }
}

/// A body that was cut off.
struct BrokenOff;

/// Reads an object.
pub(super) struct Parts {
    object: Object,
    /// The position up to which the object was requested.
    asked: u64,
    next: Option<JoinHandle<Result<Vec<u8>, String>>>,
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
            self.current = io::Cursor::new(part.map_err(io::Error::other)?);
            self.ask();
        }
    }
}
