//! A service that says when to ask again.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_sqs};
use aws_sdk_sqs::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_sqs::primitives::DateTime;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::Format;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::guarantees::entries::message;

const URL: &str = "https://sqs.eu-central-1.amazonaws.com/1/orders";

/// How long the service is closed.
const CLOSED: Duration = Duration::from_secs(3);

/// Closed from its first call on, and says so with a status, a body and headers.
#[derive(Debug, Clone)]
struct Closed {
    status: u16,
    body: &'static str,
    headers: Vec<(&'static str, String)>,
    calls: Arc<Mutex<Vec<Instant>>>,
}

impl Closed {
    fn new(status: u16, body: &'static str, headers: &[(&'static str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Self {
            status,
            body,
            headers: headers.collect(),
            calls: Arc::default(),
        }
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let mut calls = self.calls.lock().unwrap();
        calls.push(Instant::now());
        if calls[0].elapsed() < CLOSED {
            let mut answer = HttpResponse::new(self.status.try_into().unwrap(), SdkBody::from(self.body));
            for (name, value) in &self.headers {
                answer.headers_mut().insert(*name, value.clone());
            }
            return answer;
        }
        let request: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        let ids = request["Entries"].as_array().unwrap().iter().map(|entry| &entry["Id"]);
        let accepted: Vec<Value> = ids
            .map(|id| json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "d"}))
            .collect();
        let body = json!({"Successful": accepted, "Failed": []});
        HttpResponse::new(200.try_into().unwrap(), SdkBody::from(body.to_string()))
    }

    /// Delivers 1,000 messages. Returns how many calls left while it was closed, and how long all of it took.
    async fn deliver(&self) -> (usize, Duration) {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .sleep_impl(TokioSleep::new())
            .http_client(self.clone());
        let client = aws_sdk_sqs::Client::from_conf(config.build());
        let messages = (0..1_000).map(|number| message("id", number.to_string()));
        let started = Instant::now();
        let report = deliver_batch_to_sqs(&client, URL, messages, &DeliveryOptions::default()).await;
        assert_eq!(report.unwrap().delivered, 1_000);
        let calls = self.calls.lock().unwrap();
        let in_vain = calls.iter().filter(|at| **at - calls[0] < CLOSED).count();
        (in_vain, started.elapsed())
    }
}

impl HttpClient for Closed {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Closed {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let service = self.clone();
        HttpConnectorFuture::new(async move {
            sleep(Duration::from_millis(5)).await;
            let answer = service.answer(&request);
            sleep(Duration::from_millis(5)).await;
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_service_names_is_kept() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let date = |time| DateTime::from(time).fmt(Format::HttpDate).unwrap();
    let (date, later) = (date(now), date(now + CLOSED));
    let throttled = r#"{"__type":"com.amazonaws.sqs#RequestThrottled"}"#;
    let closed = [
        Closed::new(503, "", &[("retry-after", "3")]),
        Closed::new(429, "", &[("retry-after", "3")]),
        Closed::new(503, "", &[("retry-after", &later), ("date", &date)]),
        Closed::new(500, "", &[("x-amz-retry-after", "3000")]),
        Closed::new(400, throttled, &[("x-amz-retry-after", "3000")]),
        // The more precise one counts.
        Closed::new(503, "", &[("x-amz-retry-after", "3000"), ("retry-after", "60")]),
    ];
    for service in closed {
        let (in_vain, took) = service.deliver().await;
        // The call that asks the queue for its largest message is another one.
        assert!(in_vain <= 2, "{in_vain}: {:?}", service.headers);
        assert!(
            took < CLOSED + Duration::from_secs(1),
            "{took:?}: {:?}",
            service.headers
        );
    }
}
