//! A service in which one operation, such as `DescribeTable`, does something else.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

/// What a call of the operation does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    /// It reaches the service.
    Passes,
    /// It fails with this status and code; without a code, the answer has no body.
    Fails(u16, &'static str),
    /// Its connection is closed.
    IsLost,
    /// It is never answered.
    Hangs,
}

/// What the call with this number does, from 0.
type Behavior = dyn Fn(usize) -> Does + Send + Sync;

/// The service, with one operation that does something else.
#[derive(Clone)]
pub(crate) struct Odd {
    operation: &'static str,
    behavior: Arc<Behavior>,
    calls: Arc<AtomicUsize>,
    client: SharedHttpClient,
}

impl Odd {
    pub(crate) fn new(
        client: SharedHttpClient,
        operation: &'static str,
        behavior: impl Fn(usize) -> Does + Send + Sync + 'static,
    ) -> Self {
        Self {
            operation,
            behavior: Arc::new(behavior),
            calls: Arc::default(),
            client,
        }
    }

    pub(crate) fn shared(self) -> SharedHttpClient {
        SharedHttpClient::new(self)
    }

    /// How often the operation was called.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Relaxed)
    }
}

impl fmt::Debug for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Odd")
    }
}

impl HttpClient for Odd {
    fn http_connector(&self, settings: &HttpConnectorSettings, parts: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            odd: self.clone(),
            connector: self.client.http_connector(settings, parts),
        })
    }
}

#[derive(Debug)]
struct Connector {
    odd: Odd,
    connector: SharedHttpConnector,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        // The query protocol names the operation in the body.
        let query = format!("Action={}&", self.odd.operation);
        let body = request.body().bytes().unwrap_or_default();
        if target.rsplit('.').next() != Some(self.odd.operation) && !body.starts_with(query.as_bytes()) {
            return self.connector.call(request);
        }
        match (self.odd.behavior)(self.odd.calls.fetch_add(1, Relaxed)) {
            Does::Passes => self.connector.call(request),
            Does::Fails(status, code) => {
                let body = match (code, target) {
                    ("", _) => String::new(),
                    (code, "") => format!("<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>"),
                    (code, _) => format!(r#"{{"__type":"com.amazon.coral.service#{code}","message":"no"}}"#),
                };
                let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
                HttpConnectorFuture::ready(Ok(response))
            }
            Does::IsLost => HttpConnectorFuture::ready(Err(ConnectorError::io("the connection was closed".into()))),
            Does::Hangs => HttpConnectorFuture::new(pending()),
        }
    }
}

/// A client like this one that sends through another HTTP client.
macro_rules! through {
    ($sdk:ident, $client:expr, $http:expr) => {
        $sdk::Client::from_conf($client.config().to_builder().http_client($http).build())
    };
}

pub(crate) use through;
