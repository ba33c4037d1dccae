//! Metrics of a namespace.

use std::collections::BTreeSet;

use aws_batch_delivery::targets::cloudwatch::CloudWatchMetrics;
use aws_batch_delivery::{Cause, Delivery};
use aws_batch_simulator::{Capacity, MetricNamespaceOptions, Simulator};
use aws_sdk_cloudwatch::types::MetricDatum;

use crate::{client, faults_of_calls, simulator};

fn delivery(simulator: &Simulator) -> Delivery<CloudWatchMetrics> {
    Delivery::new(CloudWatchMetrics::new(client!(aws_sdk_cloudwatch, simulator), "shop"))
}

fn metric(name: impl Into<String>, value: f64) -> MetricDatum {
    MetricDatum::builder().metric_name(name).value(value).build()
}

fn numbered(metrics: usize) -> impl Iterator<Item = MetricDatum> {
    (0..metrics).map(|number| metric(format!("m{number}"), 1.0))
}

fn names(metrics: &[aws_batch_simulator::Value]) -> BTreeSet<String> {
    let name = |metric: &aws_batch_simulator::Value| metric["MetricName"].as_str().unwrap().to_owned();
    metrics.iter().map(name).collect()
}

/// Their requests are compressed, as by default with the SDK.
#[tokio::test(start_paused = true)]
async fn metrics_are_in_their_namespace_whatever_goes_wrong() {
    let simulator = simulator();
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
    namespace.set_faults(faults_of_calls());
    let report = delivery(&simulator).deliver(numbered(30_000)).await.unwrap();
    assert_eq!(report.delivered, 30_000);
    assert_eq!(names(&namespace.metrics()).len(), 30_000);
}

/// Rebuilt from reports of exporters that lost all metrics of a call because one was NaN.
#[tokio::test(start_paused = true)]
async fn a_metric_that_is_no_number_takes_no_other_down() {
    let simulator = simulator();
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
    let metrics = numbered(500)
        .chain([metric("busy threads", f64::NAN)])
        .chain(numbered(500));
    let error = delivery(&simulator).deliver(metrics).await.unwrap_err();
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert_eq!(undelivered.position, 500);
    assert_eq!(
        undelivered.cause.to_string(),
        "not sent: the value must be a number from -2^360 to 2^360"
    );
    assert_eq!((namespace.len(), namespace.statistics().refused_calls), (1_000, 0));
}

#[tokio::test(start_paused = true)]
async fn a_metric_for_which_calls_are_refused_is_found_and_the_others_are_put() {
    let simulator = simulator();
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
    namespace.poison(|metric| metric["MetricName"] == "m1234");
    let error = delivery(&simulator).deliver(numbered(5_000)).await.unwrap_err();
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert!(matches!(undelivered.cause, Cause::Refused(_)) && !undelivered.may_have_been_delivered);
    assert_eq!(undelivered.position, 1_234);
    assert_eq!(namespace.len(), 4_999, "each was put once");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_of_aws_stops_the_delivery_before_its_first_call() {
    let simulator = simulator();
    let client = client!(aws_sdk_cloudwatch, simulator);
    let error = Delivery::new(CloudWatchMetrics::new(client, "AWS/EC2"))
        .deliver(numbered(10))
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 10);
    let cause = error.undelivered()[0].cause.to_string();
    assert!(cause.contains("invalid namespace"), "{cause}");
    assert_eq!(simulator.most_calls_in_flight(), 0);
}

/// Large metrics fill a request before it has a thousand of them.
#[tokio::test(start_paused = true)]
async fn a_request_is_not_larger_than_cloudwatch_takes() {
    let simulator = simulator();
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
    let values: Vec<f64> = (0..150).map(f64::from).collect();
    let metrics = (0..2_000).map(|number| {
        let metric = MetricDatum::builder().metric_name(format!("m{number}"));
        metric
            .set_values(Some(values.clone()))
            .set_counts(Some(values.clone()))
            .build()
    });
    let report = delivery(&simulator).deliver(metrics).await.unwrap();
    assert_eq!((report.delivered, namespace.statistics().refused_calls), (2_000, 0));
    // Each has some 2,800 bytes.
    assert!((6..=12).contains(&namespace.calls()), "{}", namespace.calls());
}

#[tokio::test(start_paused = true)]
async fn calls_are_paced_by_the_capacity_of_the_account() {
    let simulator = simulator();
    let capacity = Capacity::per_second(20.0).burst(20.0);
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default().capacity(capacity));
    let report = delivery(&simulator).deliver(numbered(100_000)).await.unwrap();
    assert_eq!((report.delivered, namespace.len()), (100_000, 100_000));
    assert!(namespace.calls() <= 200, "{:?}", namespace.statistics());
}
