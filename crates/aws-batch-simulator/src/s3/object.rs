//! An object of a bucket.

use bytes::Bytes;
use md5::{Digest, Md5};

use crate::message::hex;

/// The type of an object that is put without one. From the API reference of `PutObject`.
const DEFAULT_TYPE: &str = "binary/octet-stream";

pub(super) struct Object {
    pub(super) body: Bytes,
    pub(super) content_type: String,
    /// The MD5 digest of the body, in quotes.
    pub(super) etag: String,
}

impl Object {
    /// An empty type is the default.
    pub(super) fn new(body: Bytes, content_type: &str) -> Self {
        let content_type = if content_type.is_empty() {
            DEFAULT_TYPE
        } else {
            content_type
        };
        Self {
            etag: format!("\"{}\"", hex(&Md5::digest(&body))),
            content_type: content_type.to_owned(),
            body,
        }
    }
}
