//! Calls that cannot be made: a delivery waits as long as its entries may be tried, and stops at once for permanent
//! reasons.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, TableOptions};
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Builder, Config, Credentials, IdentityCache, Region, SharedCredentialsProvider,
};
use aws_sdk_dynamodb::types::WriteRequest;
use tokio::time::Instant;

use crate::guarantees::answers::ok;
use crate::guarantees::entries::{ROUND_TRIP, no_delay, put, puts, with_table};
use crate::guarantees::raw::{Does, Raw, Refusing, Then};

fn credentials() -> Credentials {
    Credentials::new("key", "secret", None, None, "test")
}

/// Credentials that cannot be fetched for a while, and the number of attempts meanwhile.
fn away(from: Instant, hiccup: Duration) -> (SharedCredentialsProvider, Arc<AtomicUsize>) {
    let tried = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tried);
    let provider = provide_credentials_fn(move || {
        let count = Arc::clone(&count);
        async move {
            if (from..from + hiccup).contains(&Instant::now()) {
                count.fetch_add(1, Ordering::Relaxed);
                return Err(CredentialsError::provider_error("the provider is away"));
            }
            Ok(credentials())
        }
    });
    (SharedCredentialsProvider::new(provider), tried)
}

/// The duration of a delivery of some seconds when the credentials become unavailable for some time, and the number of
/// failed attempts to fetch them.
async fn taken(calls: usize, starts: Duration, hiccup: Duration) -> (Duration, usize) {
    const WRITES: usize = 4_000;
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let capacity = Capacity::per_second(1_000.0);
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(capacity));
    let started = Instant::now();
    let (provider, tried) = away(started + starts, hiccup);
    let client = simulator.dynamo_client();
    let client = Client::from_conf(client.config().to_builder().credentials_provider(provider).build());
    let options = DeliveryOptions::default().concurrency(calls);
    let report = Delivery::to_dynamo(client, "orders")
        .options(options)
        .deliver(puts(WRITES))
        .await;
    assert_eq!(report.unwrap().delivered, WRITES as u64);
    assert_eq!(table.items().len(), WRITES);
    (started.elapsed(), tried.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_unavailable_for_a_while_delay_the_delivery_by_that_while() {
    for calls in [1, 64] {
        let (clean, _) = taken(calls, Duration::ZERO, Duration::ZERO).await;
        for millis in [500, 60_000] {
            for starts in [Duration::ZERO, Duration::from_secs(1)] {
                let hiccup = Duration::from_millis(millis);
                let (took, tried) = taken(calls, starts, hiccup).await;
                let shown = format!("{calls} calls, {hiccup:?} away after {starts:?}: {took:?}, {tried} tries");
                assert!(took <= clean + hiccup + Duration::from_secs(5), "{shown}");
                assert!(tried > 0, "{shown}");
                // All calls in flight, and then single probes.
                let probes = 8 + usize::try_from(hiccup.as_secs()).unwrap();
                assert!(tried <= calls + probes, "{shown}");
            }
        }
    }
}

fn config(simulator: &Simulator) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(simulator.http_client())
}

async fn stopped(config: Builder) -> DeliveryError<WriteRequest> {
    let started = Instant::now();
    let delivery = Delivery::to_dynamo(Client::from_conf(config.build()), "orders").map_target(|table| table.key("id"));
    let error = delivery.deliver(puts(1_000)).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    error
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_stops_a_delivery_at_once() {
    const NOT_SENT: &str = "request not sent";
    let (simulator, _) = with_table();
    let region = Region::new("eu-central-1");
    let not_loaded = || provide_credentials_fn(|| async { Err(CredentialsError::not_loaded("there are none")) });
    let invalid = || provide_credentials_fn(|| async { Err(CredentialsError::invalid_configuration("a loop")) });
    let config = || config(&simulator);
    let configurations = [
        ("no region", NOT_SENT, config().credentials_provider(credentials())),
        (
            "no region, but an endpoint",
            NOT_SENT,
            config()
                .credentials_provider(credentials())
                .endpoint_url("http://localhost:1"),
        ),
        (
            "no provider of credentials",
            "not sent: there are no AWS credentials: the client has no provider of them",
            config().region(region.clone()),
        ),
        (
            "no credentials",
            "not sent: there are no AWS credentials: none of the client's providers has any",
            config().region(region.clone()).credentials_provider(not_loaded()),
        ),
        (
            "a provider that is not configured",
            "not sent: there are no AWS credentials: their provider is not configured correctly",
            config().region(region.clone()).credentials_provider(invalid()),
        ),
        (
            "an endpoint that is no URL",
            NOT_SENT,
            config()
                .region(region.clone())
                .credentials_provider(credentials())
                .endpoint_url("no URL"),
        ),
    ];
    for (name, code, config) in configurations {
        let error = stopped(config).await;
        assert_eq!(error.undelivered().len(), 1_000, "{name}");
        for undelivered in error.undelivered() {
            let Cause::Stopped(fault) = &undelivered.cause else {
                panic!("{name}: {:?}", undelivered.cause);
            };
            assert_eq!(fault.code(), code, "{name}");
            assert_eq!(undelivered.cause.to_string(), format!("the delivery stopped: {code}"));
            assert!(!undelivered.may_have_been_delivered, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_gone_do_not_stop_a_delivery_that_had_some() {
    let (simulator, table) = with_table();
    let calls = Arc::new(AtomicUsize::new(0));
    let provider = provide_credentials_fn(move || {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            if (3..9).contains(&call) {
                Err(CredentialsError::not_loaded("there are none"))
            } else {
                Ok(credentials())
            }
        }
    });
    let config = config(&simulator)
        .region(Region::new("eu-central-1"))
        .identity_cache(IdentityCache::no_cache())
        .credentials_provider(provider);
    let delivery = Delivery::to_dynamo(Client::from_conf(config.build()), "orders").options(no_delay().concurrency(2));
    assert_eq!(delivery.deliver(puts(500)).await.unwrap().delivered, 500);
    assert_eq!(table.items().len(), 500);
}

/// A client of the endpoint with the SDK's own connections.
fn client_of(url: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials());
    Client::from_conf(config.endpoint_url(url).build())
}

#[tokio::test]
async fn what_never_had_a_connection_is_known_not_to_be_delivered() {
    let plain = Raw::serving(|_, _| Does {
        answers: b"this is no TLS".to_vec(),
        then: Then::Closes,
    });
    let tls = plain.url.replace("http://", "https://");
    for url in ["http://127.0.0.1:1", "http://no-such-host.invalid:1", &tls] {
        let options = DeliveryOptions::default().give_up_after(Duration::from_millis(500));
        let delivery = Delivery::to_dynamo(client_of(url), "orders")
            .map_target(|table| table.key("id"))
            .options(options);
        let error = delivery.deliver(puts(100)).await.unwrap_err();
        assert_eq!(error.undelivered().len(), 100);
        for undelivered in error.undelivered() {
            assert!(!undelivered.may_have_been_delivered, "{url}");
            let Cause::Outage { fault, .. } = &undelivered.cause else {
                panic!("{url}: {:?}", undelivered.cause);
            };
            assert_eq!(fault.code(), "no connection", "{url}");
        }
    }
}

#[tokio::test]
async fn a_service_that_is_not_up_yet_is_waited_for() {
    let port = Refusing::new();
    let client = client_of(&port.url);
    let delivery = Delivery::to_dynamo(client, "orders")
        .map_target(|table| table.key("id"))
        .options(no_delay());
    let outcome = tokio::spawn(async move { delivery.deliver([put("a")]).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let service = port.serving(|_, _| ok());
    assert_eq!(outcome.await.unwrap().unwrap().delivered, 1);
    assert_eq!(service.taken().len(), 1);
}
