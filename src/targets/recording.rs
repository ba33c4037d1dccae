//! An HTTP client for the targets' tests: it records what is sent and answers all of it alike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextMut;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;

#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    status: u16,
    body: &'static str,
    requests: Arc<Mutex<Vec<Recorded>>>,
    hangs: Arc<AtomicBool>,
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
            hangs: Arc::default(),
        }
    }

    /// Whether it never answers from now on.
    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    /// The bodies of all requests.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| request.body.clone()).collect()
    }

    /// How many requests there were.
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
        if self.hangs.load(Ordering::Relaxed) {
            return HttpConnectorFuture::new(std::future::pending());
        }
        let status = self.status.try_into().unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(self.body))))
    }
}

impl HttpClient for Recorder {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// An interceptor that lets everything pass.
#[derive(Debug)]
pub(crate) struct Watcher;

#[dyn_dispatch_hint]
impl Intercept for Watcher {
    fn name(&self) -> &'static str {
        "Watcher"
    }
}

/// An interceptor that makes the SDK seem to speak another protocol than JSON.
#[derive(Debug)]
pub(crate) struct Foreigner;

#[dyn_dispatch_hint]
impl Intercept for Foreigner {
    fn name(&self) -> &'static str {
        "Foreigner"
    }

    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.request_mut().headers_mut();
        headers.insert("content-type", "application/cbor");
        Ok(())
    }
}
