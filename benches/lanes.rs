//! The cost of lanes if no key repeats.
//!
//! The same entries are delivered with lanes and without, in turn, so that other load on the machine affects both. The service
//! answers at once, so all the time is spent in the crate and in the SDK. On Linux the processor time of the thread is measured,
//! which depends little on other load. With `--check` the run fails if the lanes cost more than a twentieth of the throughput.
//!
//! ```sh
//! cargo bench --bench lanes -- --check
//! cargo bench --bench lanes -- --entries 100000    # fewer entries, for example to count instructions
//! ```

use std::fs;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::{Answer, BatchTarget, Lane, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

/// Entries of one measurement, in all turns together.
const ENTRIES: usize = 1_000_000;

/// Turns with lanes, and as many without.
const TURNS: usize = 40;

/// The least throughput with lanes, as a share of that without.
const FLOOR: f64 = 0.95;

/// Calls the service without asking for the lane of an entry.
struct WithoutLanes<T>(T);

impl<T: BatchTarget> BatchTarget for WithoutLanes<T> {
    type Entry = T::Entry;

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn check(&self, entry: &T::Entry) -> Result<usize, InvalidEntry> {
        self.0.check(entry)
    }

    async fn send(&self, chunk: &[T::Entry]) -> Answer {
        self.0.send(chunk).await
    }
}

/// A service that costs nothing, so that only the loop is measured.
#[derive(Clone)]
struct Nothing;

impl BatchTarget for Nothing {
    type Entry = u64;

    fn limits(&self) -> Limits {
        Limits::new(25, usize::MAX)
    }

    fn check(&self, _: &u64) -> Result<usize, InvalidEntry> {
        Ok(8)
    }

    fn lane(&self, entry: &u64) -> Option<Lane> {
        Some(Lane::exclusive(entry))
    }

    async fn send(&self, chunk: &[u64]) -> Answer {
        Answer::Each(vec![Verdict::Accepted; chunk.len()])
    }
}

/// Answers that everything was processed.
#[derive(Debug, Clone)]
struct AllDone;

impl HttpConnector for AllDone {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let answer = SdkBody::from(r#"{"UnprocessedItems":{}}"#);
        HttpConnectorFuture::ready(Ok(HttpResponse::new(
            aws_smithy_runtime_api::http::StatusCode::try_from(200).expect("200 is a status"),
            answer,
        )))
    }
}

impl HttpClient for AllDone {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn table() -> DynamoTable {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "bench"))
        .http_client(AllDone);
    DynamoTable::new(Client::from_conf(config.build()), "orders").key("id")
}

fn write(number: usize) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(format!("order-{number:09}")))
        .item("amount", AttributeValue::N(number.to_string()))
        .item("customer", AttributeValue::S("somebody".to_owned()))
        .item("paid", AttributeValue::Bool(true));
    WriteRequest::builder()
        .put_request(put.build().expect("an item is given"))
        .build()
}

/// The processor time of this thread; on other systems than Linux, the time since the start of the process.
fn time_used() -> Duration {
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
    // Linux updates the figure when a thread yields.
    thread::yield_now();
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = statistics
        .as_deref()
        .and_then(|numbers| numbers.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| STARTED.elapsed(), Duration::from_nanos)
}

/// How long it takes to deliver the entries.
async fn time<T: BatchTarget>(delivery: &Delivery<T>, entries: Vec<T::Entry>) -> Duration {
    let count = entries.len() as u64;
    let started = time_used();
    let report = delivery.deliver(entries).await.expect("the service takes everything");
    assert_eq!(report.delivered, count);
    time_used().saturating_sub(started)
}

/// The throughput with lanes as a share of that without: the median of all turns.
async fn measure<T>(name: &str, target: T, count: usize, entries: impl Fn(usize) -> T::Entry) -> f64
where
    T: BatchTarget + Clone,
{
    let options = || DeliveryOptions::default().backoff(|_: u32| Duration::ZERO);
    let with = Delivery::new(target.clone()).options(options());
    let without = Delivery::new(WithoutLanes(target)).options(options());
    let per_turn = count / TURNS;
    let mut turns = Vec::with_capacity(TURNS);
    // The first turn warms up and does not count.
    for turn in 0..=TURNS {
        let input = || -> Vec<T::Entry> { (0..per_turn).map(|number| entries(turn * per_turn + number)).collect() };
        let (on, off) = if turn % 2 == 0 {
            (time(&with, input()).await, time(&without, input()).await)
        } else {
            let off = time(&without, input()).await;
            (time(&with, input()).await, off)
        };
        turns.push((on, off));
    }
    turns.remove(0);
    let ratio = median(turns.iter().map(|(on, off)| off.as_secs_f64() / on.as_secs_f64()));
    let rate = |time: f64| f64::from(u32::try_from(per_turn).unwrap_or(u32::MAX)) / time;
    println!(
        "{name:<26}{:>12.0} entries/s with lanes{:>12.0} without{ratio:>8.3}",
        rate(median(turns.iter().map(|(on, _)| on.as_secs_f64()))),
        rate(median(turns.iter().map(|(_, off)| off.as_secs_f64()))),
    );
    ratio
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let count = std::env::args().skip_while(|argument| argument != "--entries").nth(1);
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(ENTRIES);
    measure("the loop alone", Nothing, count, |number| number as u64).await;
    let ratio = measure("DynamoDB through the SDK", table(), count, write).await;
    if check && ratio < FLOOR {
        eprintln!("lanes cost more than a twentieth of the throughput");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
