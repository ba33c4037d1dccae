//! Bounds what is read of an answer: what is at the other end of a connection may send without an end.

use std::error::Error;
use std::mem::replace;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeDeserializationInterceptorContextMut;
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use http_body_util::{LengthLimitError, Limited};

const MIB: usize = 1 << 20;

/// The operation whose answer is read as a stream, by its caller.
const STREAMED: &str = "GetObject";

/// An interceptor that bounds what is read of an answer, by the operation: an answer of more is an error, as one that is cut off.
///
/// The bounds are several times what the service gives at most: 256 MiB for `BatchGetItem`, 64 MiB for `ReceiveMessage` and
/// `TransactGetItems`, 32 MiB for `BatchWriteItem` and `TransactWriteItems`, 16 MiB for `Query` and `Scan`, 8 MiB for all others. The
/// body of an object (`GetObject`) has none, because its caller reads it as a stream; an error in place of it has.
///
/// [`Transmission`](super::Transmission) includes it, and so does every call of this crate. It is for other calls of the same program.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerLimit;

impl Intercept for AnswerLimit {
    fn name(&self) -> &'static str {
        "AnswerLimit"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let operation = bag.load::<Metadata>().map(Metadata::name);
        bound(context.response_mut(), operation.unwrap_or_default());
        Ok(())
    }
}

/// Bounds what is read of this answer of an operation.
pub(super) fn bound(answer: &mut HttpResponse, operation: &str) {
    let is_streamed = operation == STREAMED && answer.status().is_success();
    // What is in memory has a length.
    if is_streamed || !answer.body().is_streaming() {
        return;
    }
    let most = most_bytes(operation);
    let limit = match answer.body().content_length() {
        // The HTTP client reads no more than that.
        Some(length) if length <= most as u64 => return,
        Some(_) => 0,
        None => most,
    };
    let body = replace(answer.body_mut(), SdkBody::taken());
    *answer.body_mut() = SdkBody::from_body_1_x(Limited::new(body, limit));
}

/// Whether the answer was longer than its bound.
pub(super) fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    error.is::<LengthLimitError>()
}

/// Bytes of an answer of the operation at most.
///
/// DynamoDB counts an item without the punctuation of JSON, in which an empty value takes up to 13 bytes for each that is counted, and
/// characters are escaped to up to six bytes. Its operations give 1 MB (`Query`, `Scan`), 4 MB (transactions) or 16 MB
/// (`BatchGetItem`), or repeat what was sent, which is not more than 16 MB. SQS gives ten messages of 1 MiB. All others give a few
/// kilobytes; 1,000 keys of S3 are 1 MB before they are escaped.
fn most_bytes(operation: &str) -> usize {
    match operation {
        "BatchGetItem" => 256 * MIB,
        "ReceiveMessage" | "TransactGetItems" => 64 * MIB,
        "BatchWriteItem" | "TransactWriteItems" => 32 * MIB,
        "Query" | "Scan" => 16 * MIB,
        _ => 8 * MIB,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{FutureExt, StreamExt, stream};
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    /// Reads an answer of this many MiB, and returns how many bytes were read, or `None` if it was too long.
    fn read(operation: &str, status: u16, mebibytes: usize) -> Option<usize> {
        let chunk = || hyper::body::Frame::data(vec![b'x'; MIB].into());
        let chunks = stream::repeat_with(move || Ok::<_, Infallible>(chunk())).take(mebibytes);
        let body = SdkBody::from_body_1_x(StreamBody::new(chunks));
        let mut answer = HttpResponse::new(status.try_into().unwrap(), body);
        bound(&mut answer, operation);
        match answer.into_body().collect().now_or_never().unwrap() {
            Ok(read) => Some(read.to_bytes().len()),
            Err(error) => {
                assert!(is_too_long(&*error), "{error}");
                None
            }
        }
    }

    #[test]
    fn an_answer_is_read_up_to_its_bound() {
        for (operation, most) in [("Scan", 16), ("BatchWriteItem", 32), ("DescribeTable", 8), ("", 8)] {
            for status in [200, 400] {
                assert_eq!(read(operation, status, most), Some(most * MIB), "{operation}");
                assert_eq!(read(operation, status, most + 1), None, "{operation}");
            }
        }
        assert_eq!(read("GetObject", 200, 20), Some(20 * MIB));
        assert_eq!(read("GetObject", 404, 20), None);
    }

    #[test]
    fn an_answer_that_says_that_it_is_too_long_is_not_read() {
        let body = Limited::new(SdkBody::from(vec![b'x'; 9 * MIB]), 9 * MIB);
        let mut answer = HttpResponse::new(200.try_into().unwrap(), SdkBody::from_body_1_x(body));
        bound(&mut answer, "DescribeTable");
        assert!(is_too_long(
            &*answer.into_body().collect().now_or_never().unwrap().unwrap_err()
        ));
    }
}
