//! An HTTP client for the tests of the targets: it records requests and answers them as it was set up to.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    /// The status and the body of each answer; the last one is repeated.
    answers: Arc<[(u16, &'static str)]>,
    has_request_ids: bool,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) user_agent: String,
    /// The operation, for services that name it in a header.
    pub(crate) operation: String,
    /// As text, if it is text.
    pub(crate) body: String,
    /// The bytes of the body.
    #[cfg(feature = "cloudwatch")]
    pub(crate) length: usize,
}

impl Recorder {
    pub(crate) fn answering(status: u16, body: &'static str) -> Self {
        Self::answering_in_turn([(status, body)])
    }

    /// Answers each request with the next of these, and all others with the last.
    pub(crate) fn answering_in_turn(answers: impl Into<Arc<[(u16, &'static str)]>>) -> Self {
        Self {
            answers: answers.into(),
            has_request_ids: false,
            requests: Arc::default(),
        }
    }

    /// Its answers have a request id, as those of the services.
    #[cfg(any(feature = "cloudwatch", feature = "cloudwatch-logs"))]
    pub(crate) fn with_request_ids(mut self) -> Self {
        self.has_request_ids = true;
        self
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The requests, in their order.
    pub(crate) fn all_requests(&self) -> Vec<Recorded> {
        self.requests.lock().unwrap().clone()
    }

    /// The request, if there was exactly one.
    pub(crate) fn only_request(&self) -> Recorded {
        let requests = self.requests.lock().unwrap();
        assert_eq!(requests.len(), 1, "HTTP requests");
        requests[0].clone()
    }
}

impl HttpConnector for Recorder {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let header = |name| request.headers().get(name).unwrap_or_default();
        let mut requests = self.requests.lock().unwrap();
        let (status, body) = {
            let answer = requests.len().min(self.answers.len() - 1);
            requests.push(Recorded {
                user_agent: header("x-amz-user-agent").to_owned(),
                operation: header("x-amz-target").rsplit('.').next().unwrap_or_default().to_owned(),
                body: String::from_utf8_lossy(body).into_owned(),
                #[cfg(feature = "cloudwatch")]
                length: body.len(),
            });
            self.answers[answer]
        };
        let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
        if self.has_request_ids {
            response.headers_mut().insert("x-amzn-requestid", "r");
        }
        HttpConnectorFuture::ready(Ok(response))
    }
}

impl HttpClient for Recorder {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// The configuration of a client of this SDK with this HTTP client, which may be a [`Recorder`].
macro_rules! recorded_config {
    ($sdk:ident, $http_client:expr) => {
        $sdk::Config::builder()
            .behavior_version($sdk::config::BehaviorVersion::latest())
            .region($sdk::config::Region::new("eu-central-1"))
            .credentials_provider($sdk::config::Credentials::new("key", "secret", None, None, "test"))
            .sleep_impl(aws_smithy_async::rt::sleep::TokioSleep::new())
            .http_client($http_client)
    };
}

pub(crate) use recorded_config;
