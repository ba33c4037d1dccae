//! Reads objects of S3.

use std::io::{self, Read};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::names::SCHEME;
use super::record::{DENIED, UNREACHABLE};
use crate::outcome::Failure;
use crate::{blocking, connection};

/// The HTTP status if the object has another tag.
const CHANGED: u16 = 412;

/// Bytes of one request. A request that fails is repeated, and no connection has to last for a whole object.
const PART: u64 = 1 << 20;

/// Attempts at a part that S3 does not give now, or without an answer, or whose body is cut off. The SDK itself repeats a request two
/// times, within a second or two, and only until its answer begins.
const TIMES: u32 = 6;

/// Codes of refusals that are about the worker or the moment and not about the object, although their status is one of wrong requests.
const OF_WORKER: [&str; 9] = [
    "AuthorizationHeaderMalformed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "RequestTimeout",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
];

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

    /// The first bytes.
    pub(super) async fn start(&self, bytes: u64) -> io::Result<Vec<u8>> {
        self.part(0, bytes).await.map_err(PartFailure::into_io)
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
    async fn part(&self, from: u64, bytes: u64) -> Result<Vec<u8>, PartFailure> {
        if self.bytes == 0 {
            // S3 has no range of an empty object.
            return Ok(Vec::new());
        }
        let mut delay = FIRST_DELAY;
        for _ in 1..TIMES {
            match self.body(from, bytes).await {
                Err(PassingFailure(_)) => tokio::time::sleep(delay).await,
                Ok(answer) => return answer,
            }
            delay *= 2;
        }
        let answer = self.body(from, bytes).await;
        answer.unwrap_or_else(|PassingFailure(words)| Err(PartFailure::Unreachable(words)))
    }

    /// One request for a part. The outer error may pass; the inner one ends the reading.
    async fn body(&self, from: u64, bytes: u64) -> Result<Result<Vec<u8>, PartFailure>, PassingFailure> {
        let end = (from + bytes).min(self.bytes);
        let range = format!("bytes={from}-{}", end.saturating_sub(1));
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
                let words = connection::words(&error);
                return match error.raw_response() {
                    Some(answer) => refused(answer.status().as_u16(), error.code(), words).map(Err),
                    // A request that cannot be built is none that passes.
                    None if is_unanswered(&error) => Err(PassingFailure(words)),
                    None => Ok(Err(PartFailure::Unreachable(words))),
                };
            }
        };
        let wanted = end.saturating_sub(from);
        let (mut chunks, mut body) = (got.body, Vec::new());
        // What is on the way to S3 may not know ranges, and may send without an end.
        while body.len() as u64 <= wanted
            && let Some(chunk) = chunks.next().await
        {
            body.extend(chunk.map_err(|_| PassingFailure("its body was cut off in every attempt".to_owned()))?);
        }
        let given = body.len();
        if given as u64 != wanted {
            return Err(PassingFailure(format!(
                "of {wanted} bytes that were asked for, {given} were given"
            )));
        }
        Ok(Ok(body))
    }
}

/// Whether a request has left, or was to leave, and has no answer.
fn is_unanswered<E, R>(error: &SdkError<E, R>) -> bool {
    matches!(
        error,
        SdkError::TimeoutError(_) | SdkError::ResponseError(_) | SdkError::DispatchFailure(_)
    )
}

/// What a refusal of S3 means.
fn refused(status: u16, code: Option<&str>, words: String) -> Result<PartFailure, PassingFailure> {
    let code = code.unwrap_or_default();
    match status {
        CHANGED => Ok(PartFailure::Changed),
        429 | 500.. => Err(PassingFailure(words)),
        _ if code.contains("SlowDown") || code.contains("Throttl") => Err(PassingFailure(words)),
        403 if code == "AccessDenied" => Ok(PartFailure::Denied(words)),
        // An answer without a code is not of S3, but of something on the way.
        400..=499 if !code.is_empty() && !OF_WORKER.contains(&code) => Ok(PartFailure::Refused(words)),
        _ => Ok(PartFailure::Unreachable(words)),
    }
}

/// S3 is too busy or has failed, has not answered, or a body was cut off or is another one.
struct PassingFailure(String);

/// Why a part was not read.
enum PartFailure {
    /// The object has another tag.
    Changed,
    /// This object is not given to any worker, as one that is archived or gone.
    Refused(String),
    /// This worker may not read the object.
    Denied(String),
    /// S3 did not give it, which may be otherwise at another time or from another machine.
    Unreachable(String),
}

impl PartFailure {
    fn into_io(self) -> io::Error {
        match self {
            Self::Changed => io::Error::other("the object has changed since it was listed"),
            Self::Refused(words) => io::Error::other(words),
            Self::Denied(words) => io::Error::new(DENIED, words),
            Self::Unreachable(words) => io::Error::new(UNREACHABLE, words),
        }
    }
}

/// Reads an object.
pub(super) struct Parts {
    object: Object,
    /// The position up to which the object was requested.
    asked: u64,
    next: Option<JoinHandle<Result<Vec<u8>, PartFailure>>>,
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
            let part = blocking::wait(next).map_err(io::Error::other)?;
            self.current = io::Cursor::new(part.map_err(PartFailure::into_io)?);
            self.ask();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use aws_sdk_s3::config::retry::RetryConfig;
    use aws_sdk_s3::config::{BehaviorVersion, Config, Credentials, Region};

    use super::*;

    /// A client of a server that gives these answers, each on a connection of its own; an empty one is none.
    pub(in crate::source) fn answering(answers: &[&'static str]) -> (Client, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("a", "b", None, None, "test"))
            .endpoint_url(format!("http://{}", listener.local_addr().unwrap()))
            .retry_config(RetryConfig::disabled())
            .force_path_style(true);
        let answers = answers.to_vec();
        let server = thread::spawn(move || {
            for answer in answers {
                let (mut connection, _) = listener.accept().unwrap();
                let (mut request, mut more) = (Vec::new(), [0; 1_024]);
                while !answer.is_empty() && !request.ends_with(b"\r\n\r\n") {
                    let read = connection.read(&mut more).unwrap();
                    request.extend(&more[..read]);
                }
                connection.write_all(answer.as_bytes()).unwrap();
            }
        });
        (Client::from_conf(config.build()), server)
    }

    const WHOLE: &str = "HTTP/1.1 206 Partial Content\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc";

    #[tokio::test(flavor = "multi_thread")]
    async fn a_request_that_has_no_answer_is_made_again() {
        let (client, server) = answering(&["", WHOLE]);
        let object = Object::new(&client, "b", "key", 3, "\"tag\"");
        assert_eq!(object.text().await.unwrap(), "abc");
        server.join().unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_part_of_another_length_is_asked_for_again() {
        let short = "HTTP/1.1 206 Partial Content\r\ncontent-length: 2\r\nconnection: close\r\n\r\nab";
        let long = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nabcde";
        let (client, server) = answering(&[short, long, WHOLE]);
        let object = Object::new(&client, "b", "key", 3, "\"tag\"");
        assert_eq!(object.text().await.unwrap(), "abc");
        server.join().unwrap();
    }

    #[test]
    fn a_refusal_is_of_the_object_or_of_the_worker_or_passes() {
        let meant = |status, code: &'static str| {
            let code = Some(code).filter(|code| !code.is_empty());
            match refused(status, code, String::new()) {
                Err(PassingFailure(_)) => "passes",
                Ok(PartFailure::Changed) => "changed",
                Ok(PartFailure::Denied(_)) => "denied",
                Ok(PartFailure::Refused(_)) => "of the object",
                Ok(PartFailure::Unreachable(_)) => "of the worker",
            }
        };
        let table = [
            (403, "InvalidObjectState", "of the object"),
            (404, "NoSuchKey", "of the object"),
            (404, "NoSuchVersion", "of the object"),
            (400, "InvalidRequest", "of the object"),
            (400, "KMS.DisabledException", "of the object"),
            (416, "InvalidRange", "of the object"),
            (412, "PreconditionFailed", "changed"),
            (403, "AccessDenied", "denied"),
            (403, "InvalidAccessKeyId", "of the worker"),
            (400, "ExpiredToken", "of the worker"),
            (403, "RequestTimeTooSkewed", "of the worker"),
            (301, "PermanentRedirect", "of the worker"),
            (403, "", "of the worker"),
            (503, "SlowDown", "passes"),
            (500, "InternalError", "passes"),
            (400, "ThrottlingException", "passes"),
        ];
        for (status, code, expected) in table {
            assert_eq!(meant(status, code), expected, "{status} {code}");
        }
    }
}
