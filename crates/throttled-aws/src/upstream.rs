//! The emulator that calls are forwarded to.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT_ENCODING, CONNECTION, EXPECT, HeaderName};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, Scheme, Uri};
use hyper::{HeaderMap, Request, Response, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::body::{self, Body, full};

/// Of an answer that is read as a whole. `DynamoDB` answers with 16 MB at most, which is a third more in Base64.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;
/// Servers close idle connections after 2 s (gunicorn) or more; a request on a connection that is being closed would fail.
const IDLE: Duration = Duration::from_secs(1);
/// Headers that are about one connection.
const OF_A_CONNECTION: [HeaderName; 3] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// An emulator.
pub(crate) struct Upstream {
    authority: Authority,
    client: Client<HttpConnector, Body>,
}

impl Upstream {
    /// The emulator at this URL.
    pub(crate) fn to(url: &str) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{url:?} is not a URL: {error}"))?;
        // Answers name the emulator, and the password would be in them.
        if let Some((_, host)) = uri
            .authority()
            .and_then(|authority| authority.as_str().rsplit_once('@'))
        {
            return Err(format!(
                "the URL of the emulator at {host} has a user or a password, which are not sent: leave them out"
            ));
        }
        if uri.scheme() != Some(&Scheme::HTTP) || uri.path() != "/" {
            return Err(format!(
                "{url:?} is not the URL of an emulator, such as http://127.0.0.1:4566"
            ));
        }
        let authority = uri.authority().cloned().ok_or_else(|| format!("{url:?} has no host"))?;
        let mut connector = HttpConnector::new();
        // Without this the kernel would delay small requests.
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Ok(Self { authority, client })
    }

    /// Forwards a request, and returns the answer as it comes in.
    pub(crate) async fn send(&self, mut parts: Parts, body: Body) -> Result<Response<Body>, UpstreamError> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = Uri::builder()
            .scheme(Scheme::HTTP)
            .authority(self.authority.clone())
            .path_and_query(path);
        parts.uri = uri.build().map_err(|error| self.error(&error))?;
        parts.version = Version::HTTP_11;
        strip(&mut parts.headers);
        // This server has answered it.
        parts.headers.remove(EXPECT);
        let request = Request::from_parts(parts, body);
        let answer = self.client.request(request).await.map_err(|error| self.error(&error))?;
        let (mut parts, body) = answer.into_parts();
        strip(&mut parts.headers);
        parts.version = Version::HTTP_11;
        Ok(Response::from_parts(parts, Body::Right(body)))
    }

    /// Makes a call, and reads its answer as a whole.
    pub(crate) async fn call(&self, parts: &Parts, body: Bytes) -> Result<Response<Bytes>, UpstreamError> {
        let mut parts = parts.clone();
        body::describe(&mut parts.headers, &body);
        // What is read here is not decompressed.
        parts.headers.remove(ACCEPT_ENCODING);
        let (parts, body) = self.send(parts, full(body)).await?.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await;
        let body = body.map_err(|error| self.error(&*error))?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }

    fn error(&self, error: &(dyn Error + 'static)) -> UpstreamError {
        let mut causes = Vec::new();
        let mut next = Some(error);
        while let Some(error) = next {
            causes.push(error.to_string());
            next = error.source();
        }
        UpstreamError(format!(
            "throttled-aws: the emulator at http://{} did not answer: {}",
            self.authority,
            causes.join(": ")
        ))
    }
}

/// The emulator cannot be reached, or its answer cannot be read.
#[derive(Debug)]
pub(crate) struct UpstreamError(String);

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn strip(headers: &mut HeaderMap) {
    for name in &OF_A_CONNECTION {
        headers.remove(name);
    }
}
