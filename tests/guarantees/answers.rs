//! Answers of all kinds, and the allowed outcomes of an entry that gets one.

use crate::guarantees::raw::{Does, Then};

/// The outcome of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Delivered,
    /// It may have been delivered.
    InDoubt,
    /// It was not, and never would be.
    Refused,
    /// It was not.
    NotDelivered,
}

/// The service has the entry, and the answer says so.
const YES: &[Told] = &[Told::Delivered];
/// The service has the entry, and the answer does not say so.
const DOUBT: &[Told] = &[Told::InDoubt];
/// The service has the entry, and a lenient reading of the answer says so.
const YES_OR_DOUBT: &[Told] = &[Told::Delivered, Told::InDoubt];
/// The service does not have the entry, and the answer says so.
const NO: &[Told] = &[Told::Refused];
const NOT_NOW: &[Told] = &[Told::NotDelivered];

/// The answer of either service that accepts `count` entries.
pub(crate) fn everything(messages: usize) -> String {
    let sent = (0..messages).map(|id| format!(r#"{{"Id":"{id}","MessageId":"m","MD5OfMessageBody":"d"}}"#));
    let sent: Vec<String> = sent.collect();
    format!(r#"{{"UnprocessedItems":{{}},"Successful":[{}]}}"#, sent.join(","))
}

pub(crate) fn answer(status: &str, body: &str) -> Does {
    with(status, "", body)
}

/// The answer that accepts the entry.
pub(crate) fn ok() -> Does {
    answer("200 OK", &everything(1))
}

/// An answer of something between the client and the service.
pub(crate) fn html(status: &str) -> Does {
    with(status, "content-type: text/html\r\n", "<html><body>Sorry</body></html>")
}

/// A refusal of the service.
fn code(status: &str, code: &str) -> Does {
    let body = format!(r#"{{"__type":"com.amazonaws.test#{code}","message":"no"}}"#);
    with(status, "x-amzn-requestid: 5f0a\r\n", &body)
}

fn with(status: &str, headers: &str, body: &str) -> Does {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    // Its length is right, so that the connection can be used again.
    then(Then::Keeps, &(head + body))
}

/// An answer that accepts the entry, with exactly these headers.
fn accepting(headers: &str) -> Does {
    raw(format!("HTTP/1.1 200 OK\r\n{headers}\r\n{}", everything(1)))
}

/// The same with a right length.
fn accepting_with(headers: &str) -> Does {
    with("200 OK", headers, &everything(1))
}

fn raw(bytes: impl Into<Vec<u8>>) -> Does {
    Does {
        answers: bytes.into(),
        then: Then::Closes,
    }
}

fn then(then: Then, bytes: &str) -> Does {
    Does {
        answers: bytes.into(),
        then,
    }
}

/// The head of an answer that promises a longer body than follows.
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n";

/// An answer with its name, and the allowed outcomes of an entry that gets it.
type Case = (&'static str, Does, &'static [Told]);

/// All answers. Except for the [`refusals`] the service has the entry.
pub(crate) fn all() -> Vec<Case> {
    let all = [
        malformed(),
        oversized(),
        statuses(),
        strangers(),
        failures(),
        refusals(),
    ];
    all.into_iter().flatten().collect()
}

/// Answers that break HTTP, most of them in the head.
fn malformed() -> Vec<Case> {
    vec![
        ("all accepted", ok(), YES),
        ("garbage", raw("garbage\r\n\r\n"), DOUBT),
        ("another protocol", raw("220 mail.example.com ESMTP\r\n"), DOUBT),
        ("binary garbage", raw([0, 255, 3, 1, 0, 13, 10, 13, 10]), DOUBT),
        ("an empty line", raw("\r\n\r\n"), DOUBT),
        ("HTTP/9.9", raw("HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n"), DOUBT),
        (
            "HTTP/2.0 in words",
            raw("HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n"),
            DOUBT,
        ),
        ("status 999", answer("999 Strange", "{}"), DOUBT),
        ("status 600", answer("600 Strange", "{}"), DOUBT),
        ("status 99", answer("99 Short", "{}"), DOUBT),
        ("status 2000", answer("2000 Long", "{}"), DOUBT),
        ("status abc", answer("abc", "{}"), DOUBT),
        ("no status", raw("HTTP/1.1\r\n\r\n"), DOUBT),
        ("a negative status", answer("-200 OK", "{}"), DOUBT),
        (
            "two lengths",
            accepting("content-length: 9\r\ncontent-length: 90\r\n"),
            DOUBT,
        ),
        (
            "a length that is no number",
            accepting("content-length: abc\r\n"),
            DOUBT,
        ),
        ("a negative length", accepting("content-length: -1\r\n"), DOUBT),
        (
            "a huge length",
            accepting("content-length: 99999999999999999999999\r\n"),
            DOUBT,
        ),
        ("too long a length", accepting("content-length: 1000\r\n"), DOUBT),
        ("too short a length", accepting("content-length: 5\r\n"), DOUBT),
        ("length zero", accepting("content-length: 0\r\n"), DOUBT),
        ("no length", accepting(""), YES),
        (
            "a length and chunks",
            accepting("content-length: 5\r\ntransfer-encoding: chunked\r\n"),
            DOUBT,
        ),
        (
            "unknown encoding",
            accepting("transfer-encoding: zip\r\n"),
            YES_OR_DOUBT,
        ),
        (
            "a control character in a header",
            accepting_with("x-odd: a\u{1}b\r\n"),
            YES_OR_DOUBT,
        ),
        (
            "a header beyond ASCII",
            accepting_with("x-odd: größe\r\n"),
            YES_OR_DOUBT,
        ),
        ("a header without a colon", accepting_with("odd\r\n"), YES_OR_DOUBT),
        (
            "a header with a space in its name",
            accepting_with("x odd: 1\r\n"),
            YES_OR_DOUBT,
        ),
        ("a header without a name", accepting_with(": 1\r\n"), YES_OR_DOUBT),
        ("a folded header", accepting_with("x-odd: 1\r\n 2\r\n"), YES_OR_DOUBT),
        ("a wrong date", accepting_with("date: yesterday\r\n"), YES),
    ]
}

/// Other kinds of success, and answers that do not confirm it.
fn statuses() -> Vec<Case> {
    vec![
        ("100", raw("HTTP/1.1 100 Continue\r\n\r\n"), DOUBT),
        ("103", raw("HTTP/1.1 103 Early Hints\r\n\r\n"), DOUBT),
        (
            "101",
            raw("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: odd\r\n\r\n"),
            DOUBT,
        ),
        ("202 with words", answer("202 Accepted", "soon"), DOUBT),
        ("204", raw("HTTP/1.1 204 No Content\r\n\r\n"), DOUBT),
        ("200 and nothing", answer("200 OK", ""), DOUBT),
        ("200 and an empty object", answer("200 OK", "{}"), DOUBT),
        ("200 with HTML", html("200 OK"), DOUBT),
        (
            "200 and half an object",
            answer("200 OK", r#"{"UnprocessedItems":{"#),
            DOUBT,
        ),
        ("200 and null", answer("200 OK", "null"), DOUBT),
        ("200 and a list", answer("200 OK", "[]"), DOUBT),
        ("200 and a text", answer("200 OK", r#""yes""#), DOUBT),
        (
            "200 and other types",
            answer("200 OK", r#"{"UnprocessedItems":7,"Successful":7}"#),
            DOUBT,
        ),
        (
            "200 and a refusal",
            answer("200 OK", r#"{"__type":"ValidationException"}"#),
            DOUBT,
        ),
        (
            "200 that says gzip",
            with("200 OK", "content-encoding: gzip\r\n", "\u{1f}odd"),
            DOUBT,
        ),
        (
            "chunks that are none",
            raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
            DOUBT,
        ),
        (
            "chunks without an end",
            raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"),
            DOUBT,
        ),
        (
            "a huge chunk",
            raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}"),
            DOUBT,
        ),
    ]
}

/// Answers of something in between: redirects and refusals that are not from the service.
fn strangers() -> Vec<Case> {
    vec![
        (
            "301",
            with("301 Moved", "location: https://example.com/\r\n", ""),
            DOUBT,
        ),
        ("302 with HTML", html("302 Found"), DOUBT),
        ("304", raw("HTTP/1.1 304 Not Modified\r\n\r\n"), DOUBT),
        ("307", with("307 Temporary Redirect", "location: /\r\n", ""), DOUBT),
        ("302 with a code", code("302 Found", "ValidationException"), DOUBT),
        ("400 with HTML", html("400 Bad Request"), DOUBT),
        ("400 and nothing", answer("400 Bad Request", ""), DOUBT),
        (
            "400 without a code",
            answer("400 Bad Request", r#"{"message":"no"}"#),
            DOUBT,
        ),
        ("401 with HTML", html("401 Unauthorized"), DOUBT),
        ("403 with HTML", html("403 Forbidden"), DOUBT),
        ("403 and nothing", answer("403 Forbidden", ""), DOUBT),
        ("404 with HTML", html("404 Not Found"), DOUBT),
        ("405 with HTML", html("405 Method Not Allowed"), DOUBT),
        ("407 with HTML", html("407 Proxy Authentication Required"), DOUBT),
        ("408 with HTML", html("408 Request Timeout"), DOUBT),
        ("413 with HTML", html("413 Payload Too Large"), DOUBT),
        ("429 with HTML", html("429 Too Many Requests"), DOUBT),
    ]
}

/// Failures of the service, with matching error codes.
fn failures() -> Vec<Case> {
    vec![
        ("500 with HTML", html("500 Internal Server Error"), DOUBT),
        ("500 and nothing", answer("500 Internal Server Error", ""), DOUBT),
        ("502 with HTML", html("502 Bad Gateway"), DOUBT),
        ("503 with HTML", html("503 Service Unavailable"), DOUBT),
        ("504 with HTML", html("504 Gateway Timeout"), DOUBT),
        (
            "500 with a code",
            code("500 Internal Server Error", "InternalServerError"),
            DOUBT,
        ),
        (
            "504 with the code of a refusal",
            code("504 Gateway Timeout", "ValidationException"),
            DOUBT,
        ),
        (
            "503 with the code of an end",
            code("503 Service Unavailable", "ResourceNotFoundException"),
            DOUBT,
        ),
        (
            "500 without permission",
            code("500 Internal Server Error", "AccessDeniedException"),
            DOUBT,
        ),
        (
            "503 with a throttle",
            code("503 Service Unavailable", "ThrottlingException"),
            DOUBT,
        ),
        ("the end instead of an answer", then(Then::Closes, ""), DOUBT),
        ("a reset instead of an answer", then(Then::Resets, ""), DOUBT),
        ("no answer", then(Then::Hangs, ""), DOUBT),
        (
            "half a head, and the end",
            then(Then::Closes, "HTTP/1.1 200 OK\r\ncontent-"),
            DOUBT,
        ),
        (
            "half a head, and a reset",
            then(Then::Resets, "HTTP/1.1 200 OK\r\ncontent-"),
            DOUBT,
        ),
        (
            "half a head, and no more",
            then(Then::Hangs, "HTTP/1.1 200 OK\r\ncontent-"),
            DOUBT,
        ),
        ("half a body, and a reset", then(Then::Resets, HEAD), DOUBT),
        ("half a body, and no more", then(Then::Hangs, HEAD), DOUBT),
    ]
}

/// Answers that tell that the service does not have the entry.
fn refusals() -> Vec<Case> {
    vec![
        ("a refusal", code("400 Bad Request", "ValidationException"), NO),
        ("an unknown refusal", code("400 Bad Request", "NeverHeardOf"), NO),
        ("no permission", code("403 Forbidden", "AccessDeniedException"), NO),
        (
            "a table or queue that is not there",
            code("400 Bad Request", "ResourceNotFoundException"),
            NO,
        ),
        ("too large", code("413 Payload Too Large", "RequestEntityTooLarge"), NO),
        ("a throttle", code("400 Bad Request", "ThrottlingException"), NOT_NOW),
    ]
}

/// Answers with a large head, and with bodies in parts.
fn oversized() -> Vec<Case> {
    let many = (0..200).fold(String::new(), |headers, number| {
        format!("{headers}x-{number}: {number}\r\n")
    });
    let large = format!("x-large: {}\r\n", "x".repeat(1 << 20));
    let refusal = r#"{"__type":"ValidationException","message":"no"}"#;
    let cut = format!("HTTP/1.1 400 Bad Request\r\ncontent-length: 500\r\n\r\n{refusal}");
    let (length, body) = (everything(1).len(), everything(1));
    let chunk = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n");
    vec![
        ("200 headers", accepting_with(&many), YES_OR_DOUBT),
        ("a head of 1 MB", accepting_with(&large), YES_OR_DOUBT),
        ("a refusal that is cut", raw(cut), DOUBT),
        ("a chunk", raw(chunk), YES),
    ]
}
