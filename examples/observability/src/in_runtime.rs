//! An HTTP client for exporters, which run in threads without a runtime.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::{Request, Response};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;

/// How long an export may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// hyper's client for the exporters. Their threads have no tokio runtime, so the requests run in that of the program.
pub struct InRuntime {
    client: HyperClient,
    runtime: Handle,
}

impl InRuntime {
    /// A client whose requests run in the current runtime.
    ///
    /// # Panics
    /// If there is no current runtime.
    pub fn current() -> Self {
        Self {
            client: HyperClient::with_default_connector(TIMEOUT, None),
            runtime: Handle::current(),
        }
    }
}

#[async_trait]
impl HttpClient for InRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move { client.send_bytes(request).await });
        sent.await?
    }
}

impl fmt::Debug for InRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InRuntime").finish_non_exhaustive()
    }
}
