//! The simulator in the place of the SDK's HTTP client.

use std::fmt;
use std::io;
use std::time::Duration;

use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use http_body_util::BodyExt;
use hyper::http::Extensions;
use tokio::time::timeout;

use super::Simulator;
use crate::wire::{CallEnd, Reply, Request};

impl Simulator {
    /// An HTTP client for SDK clients with your own configuration.
    pub fn http_client(&self) -> SharedHttpClient {
        SharedHttpClient::new(InProcessConnector(self.clone()))
    }
}

/// Makes connectors that answer the SDK's requests without a socket.
struct InProcessConnector(Simulator);

impl fmt::Debug for InProcessConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}

impl HttpClient for InProcessConnector {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            simulator: self.0.clone(),
            read_timeout: settings.read_timeout(),
        })
    }
}

#[derive(Debug)]
struct Connector {
    simulator: Simulator,
    /// The SDK leaves this timeout to the connector, and handles those of attempts and operations itself.
    read_timeout: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let answered = answer(self.simulator.clone(), request);
        match self.read_timeout {
            None => HttpConnectorFuture::new(answered),
            Some(limit) => HttpConnectorFuture::new(async move {
                let answered = timeout(limit, answered).await;
                answered.unwrap_or_else(|elapsed| Err(ConnectorError::timeout(elapsed.into())))
            }),
        }
    }
}

/// The SDK closes the connection of a call that failed for the moment, and logs an error if it finds none.
fn show_connection(extensions: &Extensions) {
    if let Some(capture) = extensions.get::<CaptureSmithyConnection>() {
        // Without a socket there is nothing to close.
        let connection = || ConnectionMetadata::builder().proxied(false).poison_fn(|| ()).build();
        capture.set_connection_retriever(move || Some(connection()));
    }
}

async fn answer(simulator: Simulator, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let request = request.try_into_http1x();
    let request = request.map_err(|error| ConnectorError::user(error.into()))?;
    show_connection(request.extensions());
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(ConnectorError::user)?;
    let body = body.to_bytes();
    let headers = head.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), str::from_utf8(value.as_bytes()).ok()?)));
    let request = Request {
        method: head.method.as_str(),
        host: head.uri.host().unwrap_or_default(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        headers: headers.collect(),
        body: &body,
    };
    match simulator.call(request).await {
        CallEnd::Reply(reply) => respond(reply),
        CallEnd::Dropped => Err(ConnectorError::io(
            io::Error::new(io::ErrorKind::ConnectionReset, "the simulator closed the connection").into(),
        )),
        CallEnd::Hung => std::future::pending().await,
    }
}

fn respond(reply: Reply) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(reply.status).map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(reply.body));
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}
