//! An HTTP client that answers requests with a function, and the answers that AWS services share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::conformance::Statement;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::time::sleep;

/// How long each call takes.
const LATENCY: Duration = Duration::from_millis(10);

/// A status and a body.
pub(crate) type Response = (u16, String);

/// An answer to a request with this body.
type Answering = dyn Fn(&[u8]) -> HttpResponse + Send + Sync;

/// Answers each request by its body.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Answering>);

impl Wire {
    pub(crate) fn new(answer: impl Fn(&str) -> Response + Send + Sync + 'static) -> Self {
        Self::of_bytes(move |body| response(answer(std::str::from_utf8(body).expect("the body is text"))))
    }

    /// Answers each request by its bytes.
    pub(crate) fn of_bytes(answer: impl Fn(&[u8]) -> HttpResponse + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// Answers each request by the JSON in it.
    pub(crate) fn of_json(answer: impl Fn(&Value) -> Response + Send + Sync + 'static) -> Self {
        Self::new(move |body| answer(&serde_json::from_str(body).expect("the request is JSON")))
    }
}

fn response((status, body): Response) -> HttpResponse {
    let status = status.try_into().expect("a status of HTTP");
    HttpResponse::new(status, SdkBody::from(body))
}

/// An answer of the service itself: it has a request id, which that of a proxy lacks.
#[cfg(any(feature = "cloudwatch", feature = "cloudwatch-logs"))]
pub(crate) fn identified(status: u16, body: impl Into<Vec<u8>>) -> HttpResponse {
    let body: Vec<u8> = body.into();
    let is_of_service = body != UNREADABLE.as_bytes();
    let mut response = HttpResponse::new(status.try_into().expect("a status of HTTP"), SdkBody::from(body));
    if is_of_service {
        response.headers_mut().insert("x-amzn-requestid", "r");
    }
    response
}

/// A body that no service sends.
pub(crate) const UNREADABLE: &str = "<html>";

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().expect("the body is in memory");
        let response = (self.0)(body);
        HttpConnectorFuture::new(async move {
            sleep(LATENCY).await;
            Ok(response)
        })
    }
}

impl HttpClient for Wire {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// A configuration of one service's SDK with this HTTP client.
macro_rules! config {
    ($sdk:ident, $wire:expr) => {
        $sdk::Config::builder()
            .behavior_version($sdk::config::BehaviorVersion::latest())
            .region($sdk::config::Region::new("eu-central-1"))
            .credentials_provider($sdk::config::Credentials::new("key", "secret", None, None, "test"))
            .sleep_impl(aws_smithy_async::rt::sleep::SharedAsyncSleep::new(
                aws_smithy_async::rt::sleep::TokioSleep::new(),
            ))
            .http_client($wire)
            .build()
    };
}

pub(crate) use config;

/// The answer of a JSON service for a whole call, with its own codes for a throttle and for an invalid call.
pub(crate) fn of_the_call(said: Statement, throttled: &str, refused: &str) -> Response {
    let error = |status, code: &str| (status, json!({"__type": format!("com.amazonaws#{code}")}).to_string());
    match said {
        // Firehose has a throttle with the status of an outage.
        Statement::Throttled if throttled.starts_with("ServiceUnavailable") => error(503, throttled),
        Statement::Throttled => error(400, throttled),
        Statement::Failed => error(500, "InternalFailure"),
        Statement::Refused => error(400, refused),
        _ => (200, UNREADABLE.to_owned()),
    }
}

/// The answers for each entry by its place: `accepted`, or an error code. If an entry is left out, the list is too short.
#[cfg(any(feature = "kinesis", feature = "firehose", feature = "eventbridge"))]
pub(crate) fn by_place(said: &[Statement], strangers: usize, accepted: &Value, throttled: &str) -> Vec<Value> {
    let told = |said: &Statement| match said {
        Statement::Accepted => Some(accepted.clone()),
        Statement::Throttled => Some(json!({"ErrorCode": throttled, "ErrorMessage": "slow"})),
        Statement::Failed => Some(json!({"ErrorCode": "InternalFailure", "ErrorMessage": "failed"})),
        Statement::Refused => Some(json!({"ErrorCode": "MalformedDetail", "ErrorMessage": "refused"})),
        Statement::Unknown => Some(json!({"ErrorCode": "NeverHeardOf", "ErrorMessage": "unknown"})),
        _ => None,
    };
    let strangers = std::iter::repeat_n(accepted.clone(), strangers);
    said.iter().filter_map(told).chain(strangers).collect()
}
