use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::builders::MetricDatumBuilder;
use aws_sdk_cloudwatch::types::{Dimension, StandardUnit, StatisticSet};
use proptest::prelude::*;

use super::*;
use crate::aws::recording::{Recorder, recorded_config};
use crate::contract::{Rejection, Verdict};

fn client(recorder: &Recorder) -> Client {
    Client::from_conf(
        recorded_config!(aws_sdk_cloudwatch, recorder.clone())
            .disable_request_compression(true)
            .build(),
    )
}

fn recorder() -> Recorder {
    Recorder::answering(200, "").with_request_ids()
}

fn shop() -> CloudWatchMetrics {
    CloudWatchMetrics::new(client(&recorder()), "shop")
}

fn metric() -> MetricDatumBuilder {
    MetricDatum::builder().metric_name("orders")
}

fn checked(metric: MetricDatumBuilder) -> Result<(), String> {
    let checked = shop().check(&metric.build()).map(|_| ());
    checked.map_err(|error| error.to_string())
}

fn refused(metric: MetricDatumBuilder) -> String {
    checked(metric).unwrap_err()
}

fn dimension(name: &str, value: &str) -> Dimension {
    Dimension::builder().name(name).value(value).build()
}

fn statistics(numbers: [Option<f64>; 4]) -> StatisticSet {
    let [sample_count, sum, minimum, maximum] = numbers;
    StatisticSet::builder()
        .set_sample_count(sample_count)
        .set_sum(sum)
        .set_minimum(minimum)
        .set_maximum(maximum)
        .build()
}

#[test]
fn a_metric_has_one_kind_of_value() {
    assert_eq!(checked(metric().value(1.0)), Ok(()));
    assert_eq!(checked(metric().values(1.0).values(2.0)), Ok(()));
    assert_eq!(checked(metric().values(1.0).counts(3.0)), Ok(()));
    let all = statistics([Some(2.0), Some(3.0), Some(1.0), Some(2.0)]);
    assert_eq!(checked(metric().statistic_values(all.clone())), Ok(()));
    assert_eq!(refused(metric()), "the value is missing or empty");
    for two in [
        metric().value(1.0).values(1.0),
        metric().value(1.0).statistic_values(all.clone()),
        metric().value(1.0).values(1.0).statistic_values(all.clone()),
    ] {
        assert_eq!(
            refused(two),
            "the metric must be with either a value, or values or statistics"
        );
    }
    assert_eq!(checked(metric().values(1.0).counts(2.0).statistic_values(all)), Ok(()));
    let without_sum = statistics([Some(2.0), None, Some(1.0), Some(2.0)]);
    assert_eq!(
        refused(metric().statistic_values(without_sum)),
        "the sum is missing or empty"
    );
    let of_count = |count| metric().statistic_values(statistics([Some(count), Some(0.0), Some(0.0), Some(0.0)]));
    assert_eq!(refused(of_count(0.0)), "the sample count must be above 0");
    assert_eq!(checked(of_count(1e-9)), Ok(()));
    assert_eq!(
        refused(metric().values(1.0).values(2.0).counts(3.0)),
        "the counts must be as many as the values"
    );
}

#[test]
fn a_number_that_cloudwatch_does_not_take_is_refused_wherever_it_is() {
    let largest = 2_f64.powi(360);
    assert_eq!(checked(metric().value(largest)), Ok(()));
    assert_eq!(checked(metric().value(-largest)), Ok(()));
    for number in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        largest * 1.000_1,
        -largest * 1.000_1,
    ] {
        for (part, metric) in [
            ("value", metric().value(number)),
            ("value", metric().values(1.0).values(number)),
            ("count", metric().values(1.0).counts(number)),
            (
                "maximum",
                metric().statistic_values(statistics([Some(1.0), Some(1.0), Some(1.0), Some(number)])),
            ),
        ] {
            let expected = format!("the {part} must be a number from -2^360 to 2^360");
            assert_eq!(refused(metric), expected, "{number}");
        }
    }
}

#[test]
fn names_and_dimensions_have_their_limits() {
    let with = |name: &str, value: &str| metric().value(1.0).dimensions(dimension(name, value));
    let named = |name: String| MetricDatum::builder().metric_name(name).value(1.0);
    assert_eq!(checked(named("ü".repeat(255))), Ok(()));
    assert_eq!(
        refused(named("ü".repeat(256))),
        "the metric name must be of at most 255 characters"
    );
    assert_eq!(refused(named(" ".to_owned())), "the metric name is missing or empty");
    assert_eq!(checked(with(&"n".repeat(255), &"v".repeat(1_024))), Ok(()));
    assert_eq!(
        refused(with(&"n".repeat(256), "v")),
        "the dimension name must be of at most 255 characters"
    );
    assert_eq!(
        refused(with("n", &"v".repeat(1_025))),
        "the dimension value has 1025 bytes, the limit is 1024"
    );
    assert_eq!(refused(with("n", "")), "the dimension value is missing or empty");
    assert_eq!(refused(with(" ", "v")), "the dimension name is missing or empty");
    assert_eq!(
        refused(with(":n", "v")),
        "the dimension name must be without a colon at its beginning"
    );
    assert_eq!(
        refused(with("n", "a ü")),
        "the dimension value has U+00FC at byte 2, a character that is not allowed"
    );
    assert_eq!(
        refused(with("n\n", "v")),
        "the dimension name has U+000A at byte 1, a character that is not allowed"
    );
}

#[test]
fn a_metric_has_at_most_so_many_dimensions_and_values() {
    let with = |dimensions: usize, values: usize| {
        let dimension = |number| dimension(&format!("d{number}"), "v");
        metric()
            .set_dimensions(Some((0..dimensions).map(dimension).collect()))
            .set_values(Some(vec![1.0; values]))
    };
    assert_eq!(checked(with(MAX_DIMENSIONS, MAX_VALUES)), Ok(()));
    assert_eq!(refused(with(31, 1)), "there are 31 dimensions, the limit is 30");
    assert_eq!(refused(with(1, 151)), "there are 151 values, the limit is 150");
    assert_eq!(
        refused(with(1, 1).storage_resolution(30)),
        "the storage resolution must be 1 or 60"
    );
}

#[test]
fn the_largest_valid_metric_is_within_the_limit() {
    let dimensions = (10..40).map(|number| dimension(&format!("{number}{}", "n".repeat(253)), &"v".repeat(1_024)));
    let largest = MetricDatum::builder()
        .metric_name("\u{1F600}".repeat(255))
        .set_dimensions(Some(dimensions.collect()))
        .set_values(Some(vec![1.0; MAX_VALUES]))
        .set_counts(Some(vec![1.0; MAX_VALUES]))
        .statistic_values(statistics([Some(1.0), Some(1.0), Some(1.0), Some(1.0)]))
        .timestamp(DateTime::from_secs(1))
        .unit(StandardUnit::GigabytesSecond)
        .storage_resolution(60);
    assert_eq!(checked(largest), Ok(()));
}

#[tokio::test]
async fn a_namespace_that_cloudwatch_does_not_take_stops_the_delivery_before_its_first_call() {
    for namespace in ["AWS/EC2", "", " ", ":shop", "sh\u{FC}p", "shop\n", &"n".repeat(256)] {
        let recorder = recorder();
        let metrics = CloudWatchMetrics::new(client(&recorder), namespace);
        let answer = metrics.send(&[metric().value(1.0).build()]).await;
        assert!(
            matches!(&answer, Answer::Stop(fault) if !fault.is_ambiguous()),
            "{namespace:?}: {answer:?}"
        );
        assert_eq!(recorder.requests(), 0, "{namespace:?}");
    }
}

#[tokio::test]
async fn a_call_is_accepted_as_a_whole_by_cloudwatch_and_by_nothing_else() {
    let answer = shop().send(&[metric().value(1.0).build()]).await;
    assert!(matches!(answer, Answer::Whole(Verdict::Accepted)), "{answer:?}");
    let proxy = CloudWatchMetrics::new(client(&Recorder::answering(200, "<html>")), "shop");
    let answer = proxy.send(&[metric().value(1.0).build()]).await;
    assert!(
        matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Unanswered, fault)) if fault.is_ambiguous()),
        "{answer:?}"
    );
}

prop_compose! {
    fn any_metric()(
        name in "[a-zA-Z ]{1,300}",
        dimensions in prop::collection::vec(("[a-z]{1,300}", "[a-z]{1,1100}"), 0..32),
        values in prop::collection::vec(any::<f64>(), 0..152),
        has_counts in any::<bool>(),
        value in any::<Option<f64>>(),
        statistics in any::<Option<f64>>(),
        seconds in prop::option::of(0_i64..4_000_000_000),
        has_unit in any::<bool>(),
        resolution in any::<Option<i32>>(),
    ) -> MetricDatum {
        let dimensions = dimensions.iter().map(|(name, value)| dimension(name, value)).collect();
        MetricDatum::builder()
            .metric_name(name)
            .set_dimensions(Some(dimensions))
            .set_counts(has_counts.then(|| values.clone()))
            .set_values(Some(values))
            .set_value(value)
            .set_statistic_values(statistics.map(|number| super::tests::statistics([Some(number); 4])))
            .set_timestamp(seconds.map(DateTime::from_secs))
            .set_unit(has_unit.then_some(StandardUnit::TerabytesSecond))
            .set_storage_resolution(resolution)
            .build()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// So that a call of metrics within the limit is a request within the limit.
    #[test]
    fn a_request_is_not_larger_than_its_metrics_are_measured(metrics in prop::collection::vec(any_metric(), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let recorder = recorder();
        let shop = CloudWatchMetrics::new(client(&recorder), "n".repeat(255));
        runtime.block_on(shop.send(&metrics));
        let measured: usize = metrics.iter().map(metric_size).sum();
        let sent = recorder.only_request().length;
        prop_assert!(sent <= measured + ENVELOPE, "{} bytes, measured {}", sent, measured);
        prop_assert!(measured <= sent + 32 * 40 * metrics.len(), "{} bytes, measured {}", sent, measured);
    }
}
