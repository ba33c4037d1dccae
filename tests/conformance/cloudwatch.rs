//! CloudWatch: metrics to a namespace, in CBOR.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::cloudwatch::{CloudWatchMetrics, MAX_DIMENSIONS};
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::conformance::throttles::paces;
use crate::conformance::wire::{UNREADABLE, Wire, config, identified};
use crate::conformance::{cases, number, text};

/// From the errors that all services share, by their names and, as CloudWatch writes them for the Query protocol, by their codes.
const THROTTLES: &[&str] = &["ThrottlingException", "Throttling"];

/// Bytes of a dimension that a metric is filled up with.
const DIMENSION: usize = 1_250;

fn client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_bytes(move |request| match answer(&numbers(request)) {
        Reply::Each { said, .. } if said.iter().all(|said| *said == Statement::Accepted) => identified(200, ""),
        // CloudWatch takes a call as a whole or not at all.
        Reply::Each { .. } | Reply::Whole(Statement::Throttled) => error(400, throttled),
        Reply::Whole(Statement::Failed) => error(500, "InternalServiceFault"),
        Reply::Whole(Statement::Refused) => error(400, "InvalidParameterValueException"),
        Reply::Whole(_) => identified(200, UNREADABLE),
    });
    let config = config!(aws_sdk_cloudwatch, wire).to_builder();
    Client::from_conf(config.disable_request_compression(true).build())
}

/// The numbers of the metrics of a request: each is in a name, a text that follows the name of its member.
fn numbers(request: &[u8]) -> Vec<usize> {
    let member = b"MetricName";
    let starts = request.windows(member.len()).enumerate();
    let starts = starts.filter_map(|(start, window)| (window == member).then_some(start + member.len()));
    let name = |start: usize| match &request[start..] {
        [head @ 0x60..=0x77, rest @ ..] => &rest[..usize::from(head - 0x60)],
        [0x78, length, rest @ ..] => &rest[..usize::from(*length)],
        _ => panic!("a name has at most 255 bytes"),
    };
    starts
        .map(|start| number(std::str::from_utf8(name(start)).expect("a name is text")))
        .collect()
}

/// An error as a map of one member.
fn error(status: u16, code: &str) -> HttpResponse {
    let code = format!("com.amazonaws.cloudwatch#{code}");
    let length = u8::try_from(code.len()).expect("a short code");
    let body = [&[0xA1, 0x66][..], b"__type", &[0x78, length], code.as_bytes()].concat();
    identified(status, body)
}

struct Metrics;

impl Fixture for Metrics {
    type Target = CloudWatchMetrics;

    fn target(&self, service: Service, limits: Option<Limits>) -> CloudWatchMetrics {
        let target = CloudWatchMetrics::new(client(THROTTLES[0], move |numbers| service.call(numbers)), "shop");
        limits.into_iter().fold(target, CloudWatchMetrics::with_limits)
    }

    /// The bytes are in dimensions, as far as a metric may have some; of more than it may have it has one too many.
    fn entry(&self, number: usize, bytes: usize) -> MetricDatum {
        let count = bytes
            .div_ceil(DIMENSION)
            .min(MAX_DIMENSIONS + usize::from(bytes > 2 * MAX_DIMENSIONS * DIMENSION));
        let dimension = |place: usize| {
            let bytes = (bytes - place * DIMENSION).min(DIMENSION);
            let (name, value) = (bytes.min(200), bytes.saturating_sub(200).min(1_000));
            let name = format!("{place}{}", "n".repeat(name));
            Dimension::builder().name(name).value(text(number, value)).build()
        };
        let dimensions = (0..count).map(dimension).collect();
        let metric = MetricDatum::builder().metric_name(text(number, 0)).value(1.0);
        metric.set_dimensions(Some(dimensions)).build()
    }

    fn number(&self, metric: &MetricDatum) -> usize {
        number(metric.metric_name().unwrap())
    }

    fn entry_replies(&self) -> &[Statement] {
        &[Statement::Accepted]
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_keep_the_contract() {
    check(Metrics, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn metrics_are_paced_by_every_throttle() {
    for code in THROTTLES {
        paces(code, &Metrics, |bucket, limits| {
            CloudWatchMetrics::new(client(code, bucket), "shop").with_limits(limits)
        })
        .await;
    }
}
