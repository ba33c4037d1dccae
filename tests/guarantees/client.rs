//! The caller's client applies to every call: its configuration, its credentials, its clock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_batch_delivery::Delivery;
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_runtime::invocation_id::{InvocationId, InvocationIdGenerator};
use aws_sdk_dynamodb::config::retry::{ReconnectMode, RetryConfig};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{AppName, BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_smithy_async::time::StaticTimeSource;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::Format;

use crate::guarantees::entries::{messages, no_delay, puts};

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";

/// The parts of a signature header that belong to the call and not to the client.
const SIGNATURE: &str = ", Signature=";

/// When all of this happens.
const NOW: Duration = Duration::from_secs(1_790_000_000);

/// A request without its body.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    url: String,
    headers: BTreeMap<String, String>,
    timeouts: [Option<Duration>; 2],
}

impl Sent {
    fn header(&self, name: &str) -> &str {
        &self.headers[name]
    }

    /// What all calls of a client have in common.
    fn of_the_client(&self) -> Self {
        let mut sent = self.clone();
        sent.headers.remove("content-length");
        let authorization = sent.headers.get_mut("authorization").unwrap();
        authorization.truncate(authorization.find(SIGNATURE).unwrap());
        sent
    }
}

/// A service that accepts everything, and records what was sent.
#[derive(Debug, Clone, Default)]
struct Service {
    sent: Arc<Mutex<Vec<Sent>>>,
    /// The time on the service's clock, if it sends one.
    clock: Option<SystemTime>,
}

#[derive(Debug)]
struct Connector(Service, [Option<Duration>; 2]);

impl HttpClient for Service {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        let timeouts = [settings.connect_timeout(), settings.read_timeout()];
        SharedHttpConnector::new(Connector(self.clone(), timeouts))
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let headers = request.headers().iter();
        self.0.sent.lock().unwrap().push(Sent {
            url: request.uri().to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            timeouts: self.1,
        });
        let mut answer = HttpResponse::new(200.try_into().unwrap(), SdkBody::from(everything()));
        if let Some(clock) = self.0.clock {
            let date = aws_sdk_dynamodb::primitives::DateTime::from(clock);
            answer.headers_mut().insert("date", date.fmt(Format::HttpDate).unwrap());
        }
        HttpConnectorFuture::ready(Ok(answer))
    }
}

/// The answer of either service that accepts everything.
fn everything() -> String {
    let sent = (0..10).map(|id| format!(r#"{{"Id":"{id}","MessageId":"m","MD5OfMessageBody":"d"}}"#));
    let sent: Vec<String> = sent.collect();
    format!(r#"{{"UnprocessedItems":{{}},"Successful":[{}]}}"#, sent.join(","))
}

/// Credentials that count how often they are requested; their keys count too: `key-0`, `key-1`, …
fn counted(expiry: Option<SystemTime>) -> (SharedCredentialsProvider, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let provider = provide_credentials_fn(move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::task::yield_now().await;
            Ok(Credentials::new(
                format!("key-{number}"),
                "secret",
                None,
                expiry,
                "test",
            ))
        }
    });
    (SharedCredentialsProvider::new(provider), asked)
}

/// The same number for all calls, which is signed with them.
#[derive(Debug)]
struct SameInvocation;

impl InvocationIdGenerator for SameInvocation {
    fn generate(&self) -> Result<Option<InvocationId>, BoxError> {
        Ok(Some(InvocationId::new("the same".to_owned())))
    }
}

fn timeouts() -> TimeoutConfig {
    let timeouts = TimeoutConfig::builder().connect_timeout(Duration::from_secs(7));
    timeouts.read_timeout(Duration::from_secs(11)).build()
}

/// A configuration of either service with one setting of each kind, except for an HTTP client.
macro_rules! config {
    ($sdk:ident) => {
        $sdk::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .app_name(AppName::new("shop").unwrap())
            .timeout_config(timeouts())
            .time_source(StaticTimeSource::new(SystemTime::UNIX_EPOCH + NOW))
            .retry_config(RetryConfig::adaptive().with_reconnect_mode(ReconnectMode::ReuseAllConnections))
            .invocation_id_generator(SameInvocation)
    };
}

async fn deliver_puts(client: &aws_sdk_dynamodb::Client, concurrency: usize) {
    let options = no_delay().concurrency(concurrency);
    let delivery = Delivery::to_dynamo(client.clone(), "orders")
        .map_target(|table| table.key("id"))
        .options(options);
    assert_eq!(delivery.deliver(puts(100)).await.unwrap().delivered, 100);
}

async fn deliver_messages(client: &aws_sdk_sqs::Client, concurrency: usize) {
    let options = no_delay().concurrency(concurrency);
    let delivery = Delivery::to_sqs(client.clone(), QUEUE).options(options);
    // The first of four calls asks the queue for its largest message.
    assert_eq!(delivery.deliver(messages(30)).await.unwrap().delivered, 30);
}

fn assert_configured(service: &Service) {
    let sent = service.sent.lock().unwrap();
    assert_eq!(sent.len(), 4);
    let first = sent[1].of_the_client();
    assert!(sent[1..].iter().all(|call| call.of_the_client() == first), "{sent:#?}");
    let signed_for = sent[0].header("authorization");
    assert!(
        signed_for.contains("Credential=key/20260921/eu-central-1/"),
        "{signed_for}"
    );
    assert!(sent[0].url.starts_with("https://example.com/"), "{}", sent[0].url);
    let timeouts = timeouts();
    assert_eq!(sent[0].timeouts, [timeouts.connect_timeout(), timeouts.read_timeout()]);
    assert_eq!(sent[0].header("amz-sdk-request"), "attempt=1; max=1");
    let agent = sent[0].header("x-amz-user-agent");
    assert!(agent.contains("app/shop"), "{agent}");
    assert!(agent.contains("lib/aws-batch-delivery/"), "{agent}");
}

#[tokio::test]
async fn all_calls_of_writes_are_configured_alike() {
    let service = Service::default();
    let config = config!(aws_sdk_dynamodb)
        .endpoint_url("https://example.com")
        .http_client(service.clone());
    deliver_puts(&aws_sdk_dynamodb::Client::from_conf(config.build()), 1).await;
    assert_configured(&service);
}

#[tokio::test]
async fn all_calls_of_messages_are_configured_alike() {
    let service = Service::default();
    let config = config!(aws_sdk_sqs)
        .endpoint_url("https://example.com")
        .http_client(service.clone());
    deliver_messages(&aws_sdk_sqs::Client::from_conf(config.build()), 1).await;
    assert_configured(&service);
}

#[tokio::test]
async fn credentials_are_asked_for_once_by_all_calls_of_writes() {
    for concurrency in [1, 4] {
        let (credentials, asked) = counted(None);
        let config = config!(aws_sdk_dynamodb)
            .credentials_provider(credentials)
            .http_client(Service::default());
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        deliver_puts(&client, concurrency).await;
        client.list_tables().send().await.unwrap();
        deliver_puts(&client, concurrency).await;
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn credentials_are_asked_for_once_by_all_calls_of_messages() {
    for concurrency in [1, 4] {
        let (credentials, asked) = counted(None);
        let config = config!(aws_sdk_sqs)
            .credentials_provider(credentials)
            .http_client(Service::default());
        let client = aws_sdk_sqs::Client::from_conf(config.build());
        deliver_messages(&client, concurrency).await;
        client.list_queues().send().await.unwrap();
        deliver_messages(&client, concurrency).await;
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

/// The keys that calls were signed with.
fn keys(service: &Service) -> Vec<String> {
    let sent = service.sent.lock().unwrap();
    let key = |call: &Sent| {
        let (_, credential) = call.header("authorization").split_once("Credential=").unwrap();
        credential.split('/').next().unwrap().to_owned()
    };
    sent.iter().map(key).collect()
}

/// Credentials that are expired when they arrive are requested again by each call.
fn expired() -> SystemTime {
    SystemTime::UNIX_EPOCH + NOW
}

#[tokio::test]
async fn credentials_of_writes_rotate_as_with_the_bare_sdk() {
    let client = || {
        let service = Service::default();
        let (credentials, asked) = counted(Some(expired()));
        let config = config!(aws_sdk_dynamodb)
            .credentials_provider(credentials)
            .http_client(service.clone());
        (aws_sdk_dynamodb::Client::from_conf(config.build()), service, asked)
    };
    let (delivering, delivered, asked) = client();
    deliver_puts(&delivering, 1).await;
    let (bare, called, asked_by_bare) = client();
    for chunk in puts(100).chunks(25) {
        let call = bare.batch_write_item().request_items("orders", chunk.to_vec());
        call.send().await.unwrap();
    }
    assert_eq!(keys(&delivered), keys(&called));
    assert_eq!(asked.load(Ordering::Relaxed), asked_by_bare.load(Ordering::Relaxed));
    assert_eq!(asked.load(Ordering::Relaxed), 4, "each call asks");
}

#[tokio::test]
async fn credentials_of_messages_rotate_as_with_the_bare_sdk() {
    let client = || {
        let service = Service::default();
        let (credentials, asked) = counted(Some(expired()));
        let config = config!(aws_sdk_sqs)
            .credentials_provider(credentials)
            .http_client(service.clone());
        (aws_sdk_sqs::Client::from_conf(config.build()), service, asked)
    };
    let (delivering, delivered, asked) = client();
    deliver_messages(&delivering, 1).await;
    let (bare, called, asked_by_bare) = client();
    for chunk in messages(40).chunks(10) {
        let call = bare.send_message_batch().queue_url(QUEUE);
        call.set_entries(Some(chunk.to_vec())).send().await.unwrap();
    }
    assert_eq!(keys(&delivered), keys(&called));
    assert_eq!(asked.load(Ordering::Relaxed), asked_by_bare.load(Ordering::Relaxed));
    assert_eq!(asked.load(Ordering::Relaxed), 4, "each call asks");
}

/// A client learns the clock of the service once; later calls do not learn it again.
#[tokio::test]
async fn the_clock_that_the_client_has_set_is_set_in_all_calls() {
    let ahead = Duration::from_mins(20);
    let service = Service {
        clock: Some(SystemTime::UNIX_EPOCH + NOW + ahead),
        ..Service::default()
    };
    let dynamo = config!(aws_sdk_dynamodb).http_client(service.clone()).build();
    let dynamo = aws_sdk_dynamodb::Client::from_conf(dynamo);
    dynamo.list_tables().send().await.unwrap();
    deliver_puts(&dynamo, 1).await;
    let sqs = config!(aws_sdk_sqs).http_client(service.clone()).build();
    let sqs = aws_sdk_sqs::Client::from_conf(sqs);
    deliver_messages(&sqs, 1).await;
    sqs.list_queues().send().await.unwrap();

    let sent = service.sent.lock().unwrap();
    let dates: Vec<&str> = sent.iter().map(|call| call.header("x-amz-date")).collect();
    let [wrong, right] = ["20260921T141320Z", "20260921T143320Z"];
    let of_each_client = [wrong, right, right, right, right];
    assert_eq!(dates, [of_each_client, of_each_client].concat());
}
