//! Where calls go: an emulator, or the simulator in this process.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use serde_json::Value;

use crate::alone::Alone;
use crate::body::{Body, full};
use crate::upstream::{Upstream, UpstreamError};

pub(crate) enum Target {
    Emulator(Upstream),
    Alone(Alone),
}

impl Target {
    /// Forwards a request. Its body and that of the answer are not read as a whole by an emulator's.
    pub(crate) async fn send(&self, parts: Parts, body: Body) -> Result<Response<Body>, UpstreamError> {
        match self {
            Self::Emulator(upstream) => upstream.send(parts, body).await,
            Self::Alone(alone) => {
                // A client that ends within a body gets no answer anyway.
                let body = body.collect().await.map(http_body_util::Collected::to_bytes);
                Ok(alone.call(&parts, body.unwrap_or_default()).await?.map(full))
            }
        }
    }

    /// Makes a call, and reads its answer as a whole.
    pub(crate) async fn call(&self, parts: &Parts, body: Bytes) -> Result<Response<Bytes>, UpstreamError> {
        match self {
            Self::Emulator(upstream) => upstream.call(parts, body).await,
            Self::Alone(alone) => alone.call(parts, body).await,
        }
    }

    /// Asks for a description, with the credentials and headers of a call. `None` if it is refused.
    pub(crate) async fn ask(&self, parts: &Parts, target: &'static str, body: &Value) -> Option<Value> {
        let mut parts = parts.clone();
        parts.headers.insert("x-amz-target", HeaderValue::from_static(target));
        let answer = self.call(&parts, body.to_string().into()).await.ok()?;
        answer
            .status()
            .is_success()
            .then(|| serde_json::from_slice(answer.body()).ok())?
    }
}
