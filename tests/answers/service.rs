//! A service that answers as bytes tell it, until there are none left: then it takes everything.

use std::io;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use super::bytes::Bytes;
use super::nonsense::{self, CODES};

/// How a service says what became of each entry.
pub(crate) trait Speaks: Send + Sync + 'static {
    /// The answer that takes all of a request.
    fn takes(&self, request: &Value, operation: &str) -> Value;

    /// An answer whose shape is right: some entries in this list, some in that, some in both or in none, and strangers.
    fn mixes(&self, request: &Value, bytes: &mut Bytes<'_>) -> Value;
}

#[derive(Clone)]
pub(crate) struct Service {
    says: Arc<Mutex<Vec<u8>>>,
    speaks: Arc<dyn Speaks>,
    /// The bodies of all requests.
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    pub(crate) fn saying(says: &[u8], speaks: impl Speaks) -> Self {
        Self {
            says: Arc::new(Mutex::new(says.to_vec())),
            speaks: Arc::new(speaks),
            requests: Arc::default(),
        }
    }

    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.lock().unwrap().clone()
    }
}

const STATUSES: [u16; 14] = [200, 200, 200, 200, 400, 400, 400, 403, 404, 413, 500, 503, 302, 100];

const TYPES: [&str; 3] = ["application/x-amz-json-1.0", "text/html", "application/json"];

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default().to_vec();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let sent = serde_json::from_slice(&body).unwrap_or_default();
        self.requests.lock().unwrap().push(body);
        let mut says = self.says.lock().unwrap();
        let mut bytes = Bytes(&says);
        let answer = answer(&*self.speaks, &sent, &operation, &mut bytes);
        let left = bytes.0.to_vec();
        *says = left;
        answer
    }
}

fn answer(speaks: &dyn Speaks, sent: &Value, operation: &str, bytes: &mut Bytes<'_>) -> HttpConnectorFuture {
    if bytes.is_empty() {
        return replies(
            200,
            TYPES[0],
            None,
            speaks.takes(sent, operation).to_string().into_bytes(),
        );
    }
    match bytes.next() % 10 {
        0 => return HttpConnectorFuture::new(std::future::pending()),
        1 => {
            let error = || io::Error::other("by chance").into();
            let failure = match bytes.next() % 4 {
                0 => ConnectorError::io(error()),
                1 => ConnectorError::timeout(error()),
                2 => ConnectorError::user(error()),
                _ => ConnectorError::other(error(), None),
            };
            return HttpConnectorFuture::ready(Err(failure));
        }
        _ => {}
    }
    let status = *bytes.one_of(&STATUSES);
    let kind = *bytes.one_of(&TYPES);
    let code = bytes.one_in(3).then(|| *bytes.one_of(&CODES));
    let body = match bytes.next() % 6 {
        0 => bytes.some(),
        1 => nonsense::value(bytes).to_string().into_bytes(),
        2 => {
            let error = format!("com.amazonaws.dynamodb.v20120810#{}", bytes.one_of(&CODES));
            json!({ "__type": error, "message": String::from_utf8_lossy(&bytes.some()) })
                .to_string()
                .into_bytes()
        }
        3 => {
            // Cut off.
            let whole = speaks.mixes(sent, bytes).to_string().into_bytes();
            let length = usize::from(bytes.next()) * whole.len() / 255;
            whole[..length].to_vec()
        }
        _ => speaks.mixes(sent, bytes).to_string().into_bytes(),
    };
    replies(status, kind, code, body)
}

fn replies(status: u16, kind: &'static str, code: Option<&'static str>, body: Vec<u8>) -> HttpConnectorFuture {
    let status = status.try_into().expect("it is a status");
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    response.headers_mut().insert("content-type", kind);
    if let Some(code) = code {
        response.headers_mut().insert("x-amzn-errortype", code);
    }
    HttpConnectorFuture::ready(Ok(response))
}

impl HttpClient for Service {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// A client of this SDK whose calls the service answers.
macro_rules! client {
    ($sdk:ident, $service:expr) => {
        $sdk::Client::from_conf(
            $sdk::Config::builder()
                .behavior_version($sdk::config::BehaviorVersion::latest())
                .region($sdk::config::Region::new("eu-central-1"))
                .credentials_provider($sdk::config::Credentials::new("key", "secret", None, None, "test"))
                .sleep_impl(aws_smithy_async::rt::sleep::TokioSleep::new())
                .http_client($service.clone())
                .build(),
        )
    };
}

pub(crate) use client;
