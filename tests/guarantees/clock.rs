//! A wrong clock, and a service that answers as if the permission were missing.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_batch_delivery::{Cause, Delivery};
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Config, Credentials, Region};
use aws_sdk_dynamodb::primitives::DateTime;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_async::time::StaticTimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::date_time::Format;

use crate::guarantees::entries::{one_at_a_time, put_with, puts, text};

/// The time on the client's clock: 21 September 2026, 14:13:20.
const CLIENT: Duration = Duration::from_secs(1_790_000_000);

/// The time on the service's clock: 20 minutes later.
const SERVICE: Duration = Duration::from_secs(1_790_001_200);

/// When a request was signed, from its header.
const RIGHT: &str = "20260921T1433";

/// Refuses requests with a wrong time as if the permission were missing, or refuses all of them.
#[derive(Debug, Clone, Default)]
struct Service {
    refuses_all: bool,
    /// Each request: its operation, and whether it was signed with the right time.
    requests: Arc<Mutex<Vec<(String, bool)>>>,
}

impl HttpClient for Service {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let header = |name| request.headers().get(name).unwrap().to_owned();
        let operation = header("x-amz-target").split_once('.').unwrap().1.to_owned();
        let is_right = header("x-amz-date").starts_with(RIGHT);
        let (status, body) = match operation.as_str() {
            _ if self.refuses_all || !is_right => (
                400,
                r#"{"__type":"com.amazonaws.test#AccessDeniedException","message":"no"}"#,
            ),
            "DescribeTable" => (
                200,
                r#"{"Table":{"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
                    "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}"#,
            ),
            _ => (200, r#"{"UnprocessedItems":{}}"#),
        };
        self.requests.lock().unwrap().push((operation, is_right));
        let mut answer = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
        let date = DateTime::from(SystemTime::UNIX_EPOCH + SERVICE);
        answer.headers_mut().insert("date", date.fmt(Format::HttpDate).unwrap());
        HttpConnectorFuture::ready(Ok(answer))
    }
}

impl Service {
    fn config(&self) -> Builder {
        Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .time_source(StaticTimeSource::new(SystemTime::UNIX_EPOCH + CLIENT))
            .sleep_impl(TokioSleep::new())
            .http_client(self.clone())
    }

    fn requests(&self) -> Vec<(String, bool)> {
        self.requests.lock().unwrap().clone()
    }
}

fn client(config: Builder) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_set_by_the_answer_that_forbids_a_call() {
    let service = Service::default();
    let delivery = Delivery::to_dynamo(client(service.config()), "orders").map_target(|table| table.key("id"));
    let report = delivery.deliver(puts(100)).await.unwrap();
    assert_eq!((report.delivered, report.undelivered), (100, 0));
    assert!(!service.requests()[0].1);
}

#[tokio::test(start_paused = true)]
async fn a_table_is_asked_for_its_key_again_when_the_clock_is_set() {
    let service = Service::default();
    let delivery = Delivery::to_dynamo(client(service.config()), "orders").options(one_at_a_time());
    // With a known key, both are sent in two calls instead of one that would be refused.
    let writes = ["1", "2"].map(|version| put_with("same", "version", text(version)));
    assert_eq!(delivery.deliver(writes).await.unwrap().calls, 2);
    let asked: Vec<String> = service.requests().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(
        asked,
        ["DescribeTable", "DescribeTable", "BatchWriteItem", "BatchWriteItem"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_is_missing_stops_the_delivery_once_the_clock_is_no_reason() {
    for corrects in [true, false] {
        let service = Service {
            refuses_all: true,
            ..Service::default()
        };
        let config = service.config().disable_clock_skew_correction(!corrects);
        let delivery = Delivery::to_dynamo(client(config), "orders")
            .map_target(|table| table.key("id"))
            .options(one_at_a_time());
        let error = delivery.deliver(puts(100)).await.unwrap_err();
        assert!(
            matches!(&error.undelivered()[99].cause, Cause::Stopped(fault) if fault.code() == "AccessDeniedException")
        );
        let right: Vec<bool> = service.requests().into_iter().map(|(_, is_right)| is_right).collect();
        assert!(!right[0] && right[1..].iter().all(|is_right| *is_right == corrects));
        assert!(right.len() < 150, "{} calls", right.len());
    }
}
