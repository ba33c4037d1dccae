//! The bodies of requests and answers.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, Response};

/// In memory, or as it comes in.
pub(crate) type Body = Either<Full<Bytes>, Incoming>;

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(bytes.into()))
}

/// Sets the headers that depend on the body. A checksum of `DynamoDB` is renewed if there was one.
pub(crate) fn describe(headers: &mut HeaderMap, body: &[u8]) {
    headers.remove(TRANSFER_ENCODING);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    if headers.contains_key(CRC) {
        headers.insert(CRC, HeaderValue::from(crc32fast::hash(body)));
    }
}

/// The checksum of the answers of `DynamoDB`.
pub(crate) const CRC: &str = "x-amz-crc32";

/// An answer of this program.
pub(crate) fn answer(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
