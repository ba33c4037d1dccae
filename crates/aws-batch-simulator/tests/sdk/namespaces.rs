//! Namespaces of CloudWatch.

use aws_batch_simulator::{Capacity, InjectedFault, MetricNamespaceOptions, Simulator, json};
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::config::retry::RetryConfig;
use aws_sdk_cloudwatch::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudwatch::operation::RequestId;
use aws_sdk_cloudwatch::operation::put_metric_data::{PutMetricDataError, PutMetricDataOutput};
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum};

/// Without retries.
fn client(simulator: &Simulator) -> Client {
    let config = simulator.cloudwatch_client().config().to_builder();
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

async fn put(
    client: &Client,
    metrics: impl IntoIterator<Item = MetricDatum>,
) -> Result<PutMetricDataOutput, SdkError<PutMetricDataError>> {
    let metrics = metrics.into_iter().collect();
    let call = client
        .put_metric_data()
        .namespace("shop")
        .set_metric_data(Some(metrics));
    call.send().await
}

fn metrics(count: usize) -> impl Iterator<Item = MetricDatum> {
    (0..count).map(|number| {
        MetricDatum::builder()
            .metric_name(format!("m{number}"))
            .value(1.0)
            .build()
    })
}

#[tokio::test(start_paused = true)]
async fn a_metric_is_kept_as_it_was_sent() {
    let simulator = Simulator::new(1);
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
    let metric = MetricDatum::builder()
        .metric_name("orders")
        .dimensions(Dimension::builder().name("region").value("eu").build())
        .timestamp(DateTime::from_secs(1_800_000_000))
        .values(1.5)
        .counts(3.0)
        .storage_resolution(1);
    put(&client(&simulator), [metric.build()]).await.unwrap();
    let expected = json!({
        "MetricName": "orders",
        "Dimensions": [{"Name": "region", "Value": "eu"}],
        "Timestamp": 1_800_000_000.0,
        "Values": [1.5],
        "Counts": [3.0],
        "StorageResolution": 1,
    });
    assert_eq!(namespace.metrics(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_taken_as_a_whole_or_not_at_all() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(1.0).burst(1.0).starts_full();
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default().capacity(capacity));
    let client = client(&simulator);
    // A request of this size is compressed.
    put(&client, metrics(1_000)).await.unwrap();
    assert_eq!(put(&client, metrics(1)).await.unwrap_err().code(), Some("Throttling"));
    namespace.set_capacity(Capacity::unlimited());
    namespace.script([InjectedFault::Unprocessed(1)]);
    let failed = put(&client, metrics(2)).await.unwrap_err();
    assert_eq!(failed.code(), Some("InternalServiceError"));
    assert!(failed.into_service_error().is_internal_service_fault());
    let statistics = namespace.statistics();
    assert_eq!(
        (
            namespace.len(),
            statistics.applied,
            statistics.throttled,
            statistics.failed
        ),
        (1_000, 1_000, 1, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_a_rule_is_refused_as_a_whole() {
    let simulator = Simulator::new(1);
    let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
    let client = client(&simulator);
    let metric = || MetricDatum::builder().metric_name("orders");
    for (code, refused) in [
        ("InvalidParameterValue", metrics(1_001).collect()),
        ("MissingParameter", vec![metric().build()]),
        ("InvalidParameterValue", vec![metric().value(f64::NAN).build()]),
        (
            "InvalidParameterCombination",
            vec![metric().value(1.0).values(1.0).build()],
        ),
        (
            "InvalidParameterValue",
            vec![metric().set_values(Some(vec![1.0; 151])).build()],
        ),
    ] {
        let error = put(&client, metrics(1).chain(refused)).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
    }
    assert_eq!((namespace.len(), namespace.statistics().refused_calls), (0, 5));
    let many = metrics(1_000).map(|mut metric| {
        metric.values = Some(vec![1.0; 150]);
        metric.value = None;
        metric
    });
    let error = put(&client, many).await.unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 413);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_is_created_by_the_first_call_to_it() {
    let simulator = Simulator::new(1);
    let client = client(&simulator);
    put(&client, metrics(1)).await.unwrap();
    let reserved = client
        .put_metric_data()
        .namespace("AWS/EC2")
        .metric_data(metrics(1).next().unwrap());
    assert_eq!(reserved.send().await.unwrap_err().code(), Some("InvalidParameterValue"));
}

#[tokio::test(start_paused = true)]
async fn no_fault_reports_metrics_as_put_that_are_not() {
    for applied in [false, true] {
        let simulator = Simulator::new(1);
        let namespace = simulator.metric_namespace("shop", MetricNamespaceOptions::default());
        let client = client(&simulator);
        let fault = InjectedFault::Empty { applied };
        namespace.script([fault.clone(), fault]);
        put(&client, metrics(2)).await.unwrap();
        assert_eq!(namespace.len(), 2);
        namespace.set_capacity(Capacity::none());
        put(&client, metrics(2)).await.unwrap_err();
        // The SDK does not read the answer. That it is not one of CloudWatch is seen from the missing id.
        namespace.script([InjectedFault::Garbage { applied }]);
        assert_eq!(put(&client, metrics(2)).await.unwrap().request_id(), None);
    }
}
