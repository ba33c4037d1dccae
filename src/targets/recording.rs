//! An HTTP client for the tests of the targets: it records requests and answers each of them the same way.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    status: u16,
    body: &'static str,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) user_agent: String,
    pub(crate) body: String,
}

impl Recorder {
    pub(crate) fn answering(status: u16, body: &'static str) -> Self {
        Self {
            status,
            body,
            requests: Arc::default(),
        }
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
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
        self.requests.lock().unwrap().push(Recorded {
            user_agent: request.headers().get("x-amz-user-agent").unwrap_or_default().to_owned(),
            body: String::from_utf8(body.to_vec()).unwrap(),
        });
        let status = self.status.try_into().unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(self.body))))
    }
}

impl HttpClient for Recorder {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
