//! The answers that the proxy gives instead of the service.

use std::time::{Duration, SystemTime};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

use super::http::{Head, Message, answer};

/// The largest difference between the time of a signature and that of the service. From AWS's documentation of signature version
/// 4.
const TOLERANCE: Duration = Duration::from_mins(5);

/// A failure of the service itself.
pub(crate) fn internal_error() -> Message {
    service_error("500 Internal Server Error", "InternalServerError")
}

/// The refusal of a signature whose time is not that of the service.
pub(crate) fn expired() -> Message {
    service_error("400 Bad Request", "InvalidSignatureException")
}

fn service_error(status: &str, code: &str) -> Message {
    let body = format!(r#"{{"__type":"com.amazon.coral.service#{code}","message":"Simulated {code}"}}"#);
    answer(
        status,
        "x-amzn-requestid: 5f0a\r\ncontent-type: application/x-amz-json-1.0\r\n",
        &body,
    )
}

/// The answer of a load balancer.
pub(crate) fn unavailable() -> Message {
    let page = "<html><body>Service Unavailable</body></html>";
    answer("503 Service Unavailable", "content-type: text/html\r\n", page)
}

/// A success that cannot be read.
pub(crate) fn garbage() -> Message {
    answer("200 OK", "content-type: application/x-amz-json-1.0\r\n", "{\"Succ")
}

/// Bytes that are not HTTP.
pub(crate) const NOISE: &[u8] = b"\x16\x03\x01\x00\x05SSH-2.0\r\n\r\n";

/// An answer with the date of the service.
pub(crate) fn dated(message: Message, time: SystemTime) -> Message {
    let date = DateTime::from(time)
        .fmt(Format::HttpDate)
        .expect("a date of this century");
    Message {
        head: message.head.with("date", &date),
        body: message.body,
    }
}

/// Whether the service accepts a signature of this time.
pub(crate) fn is_signed_in_time(request: &Head, time: SystemTime) -> bool {
    let signed_at = request.header("x-amz-date").expect("the request is signed");
    let signed_at = signing_time(signed_at);
    let distance = time
        .duration_since(signed_at)
        .unwrap_or_else(|earlier| earlier.duration());
    distance <= TOLERANCE
}

/// The time of a signature, such as `20260921T141320Z`.
fn signing_time(text: &str) -> SystemTime {
    let (date, time) = text.split_once('T').expect("a date and a time");
    let text = format!(
        "{}-{}-{}T{}:{}:{}",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    let time = DateTime::from_str(&text, Format::DateTime).expect("a time");
    SystemTime::try_from(time).expect("a time of this century")
}
