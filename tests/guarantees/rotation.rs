//! Credentials that the service refuses: they have expired, were rotated, or the secret is wrong.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_batch_delivery::events::{STALLED, STOPPED};
use aws_batch_delivery::{Cause, Delivery};
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::primitives::DateTime;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::Format;
use tokio::time::{Instant, sleep};

use crate::guarantees::entries::{no_delay, put, puts};
use crate::support::log::Log;

/// Accepts the access key of this moment, and refuses all others with this code.
#[derive(Debug, Clone)]
struct Service {
    key: Arc<Mutex<&'static str>>,
    code: &'static str,
    asked: Arc<AtomicUsize>,
}

impl HttpClient for Service {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let authorization = request.headers().get("authorization").unwrap();
        let is_known = authorization.contains(&format!("Credential={}/", self.key.lock().unwrap()));
        let asks = request
            .headers()
            .get("x-amz-target")
            .unwrap()
            .ends_with("DescribeTable");
        let (status, body) = if !is_known {
            let message = "The security token included in the request is hunter2.";
            (
                400,
                format!(
                    r#"{{"__type":"com.amazon.coral.service#{}","message":"{message}"}}"#,
                    self.code
                ),
            )
        } else if asks {
            let key = r#"{"Table":{"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
                "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}"#;
            (200, key.to_owned())
        } else {
            (200, r#"{"UnprocessedItems":{}}"#.to_owned())
        };
        let mut answer = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
        let date = DateTime::from(SystemTime::now());
        answer.headers_mut().insert("date", date.fmt(Format::HttpDate).unwrap());
        HttpConnectorFuture::new(async move {
            sleep(Duration::from_millis(8)).await;
            Ok(answer)
        })
    }
}

impl Service {
    fn refusing_with(code: &'static str) -> Self {
        Self {
            key: Arc::new(Mutex::new("old")),
            code,
            asked: Arc::default(),
        }
    }

    /// A client whose provider has the key of this moment, without an expiry.
    fn client(&self) -> Client {
        let service = self.clone();
        self.client_with(provide_credentials_fn(move || {
            service.asked.fetch_add(1, Relaxed);
            let key = *service.key.lock().unwrap();
            async move { Ok(Credentials::new(key, "secret", Some("token".to_owned()), None, "test")) }
        }))
    }

    fn client_with(&self, provider: impl aws_sdk_dynamodb::config::ProvideCredentials + 'static) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(provider)
            .http_client(self.clone());
        Client::from_conf(config.build())
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_were_rotated_are_loaded_anew_within_seconds() {
    for code in [
        "ExpiredTokenException",
        "UnrecognizedClientException",
        "InvalidSignatureException",
    ] {
        let service = Service::refusing_with(code);
        let delivery = Delivery::to_dynamo(service.client(), "orders").options(no_delay());
        assert_eq!(delivery.deliver(puts(100)).await.unwrap().delivered, 100);
        *service.key.lock().unwrap() = "new";
        let started = Instant::now();
        assert_eq!(delivery.deliver(puts(1_000)).await.unwrap().delivered, 1_000, "{code}");
        let (took, asked) = (started.elapsed(), service.asked.load(Relaxed));
        assert!(
            took < Duration::from_secs(2) && asked <= 4,
            "{code}: {took:?}, asked {asked} times"
        );
        // The new ones are kept as the first ones were.
        assert_eq!(delivery.deliver(puts(1_000)).await.unwrap().delivered, 1_000, "{code}");
        assert_eq!(service.asked.load(Relaxed), asked, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_expired_are_waited_for_until_the_provider_has_others() {
    let log = Log::start();
    let service = Service::refusing_with("ExpiredTokenException");
    let delivery = Delivery::to_dynamo(service.client(), "orders").options(no_delay());
    assert_eq!(delivery.deliver(puts(100)).await.unwrap().delivered, 100);
    let provider = service.key.clone();
    let away = Duration::from_mins(1);
    let expired = Service {
        key: Arc::new(Mutex::new("newer")),
        ..service.clone()
    };
    let client = delivery_client(&expired, &service);
    let delivery = Delivery::to_dynamo(client, "orders").options(no_delay());
    let started = Instant::now();
    let renewing = async {
        sleep(away).await;
        *provider.lock().unwrap() = "newer";
    };
    let (report, ()) = tokio::join!(delivery.deliver(puts(1_000)), renewing);
    assert_eq!(report.unwrap().delivered, 1_000);
    assert!(
        started.elapsed() < away + Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    let first = &log.of(STALLED)[0];
    assert_eq!(
        (first.field("seconds"), first.field("code")),
        ("5", "DescribeTable: ExpiredTokenException")
    );
    assert_eq!(first.field("explanation"), "the AWS credentials have expired");
}

/// A client of the one service with the credentials of the other.
fn delivery_client(service: &Service, credentials: &Service) -> Client {
    let credentials = credentials.clone();
    service.client_with(provide_credentials_fn(move || {
        let key = *credentials.key.lock().unwrap();
        async move { Ok(Credentials::new(key, "secret", Some("token".to_owned()), None, "test")) }
    }))
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_wrong_stops_a_delivery_within_seconds_and_says_so() {
    for (code, words) in [
        (
            "InvalidSignatureException",
            "the secret access key does not belong to the access key",
        ),
        (
            "UnrecognizedClientException",
            "AWS does not know the access key or its session token: it was deleted or deactivated",
        ),
    ] {
        for knows_key in [true, false] {
            let log = Log::start();
            let service = Service::refusing_with(code);
            let client = service.client_with(Credentials::new("wrong", "secret", None, None, "test"));
            let mut delivery = Delivery::to_dynamo(client, "orders").options(no_delay());
            if knows_key {
                delivery = delivery.map_target(|table| table.key("id"));
            }
            let started = Instant::now();
            let error = delivery.deliver(puts(1_000)).await.unwrap_err();
            assert!(
                started.elapsed() < Duration::from_secs(2),
                "{code}: {:?}",
                started.elapsed()
            );
            let undelivered = error.undelivered();
            assert_eq!(undelivered.len(), 1_000);
            assert!(
                undelivered
                    .iter()
                    .all(|one| matches!(one.cause, Cause::Stopped(_)) && !one.may_have_been_delivered)
            );
            assert_eq!(
                error.to_string(),
                format!("1000 of 1000 entries were not delivered: 1000 × the delivery stopped: {code}: {words}")
            );
            let producer = delivery.producer();
            producer.send(put("a")).await.unwrap_err();
            let stopped = &log.of(STOPPED)[0];
            assert_eq!((stopped.field("code"), stopped.field("explanation")), (code, words));
        }
    }
}
