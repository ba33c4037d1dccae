//! What CloudWatch requires of a metric and of a namespace.
//!
//! From the API references of `PutMetricData`, `MetricDatum`, `Dimension` and `StatisticSet`, unless another source is named.

use aws_sdk_cloudwatch::types::{Dimension, MetricDatum, StatisticSet};

use crate::invalid::InvalidEntry;
use crate::services::checks::{check_characters, check_count, check_length, check_size};

/// Dimensions of a metric.
pub const MAX_DIMENSIONS: usize = 30;

/// Values of a metric, in `Values`.
pub const MAX_VALUES: usize = 150;

/// Bytes of a metric, as [`metric_size`] counts them: more than one has that is within all other limits.
pub const MAX_METRIC_BYTES: usize = 42 * 1_024;

/// Characters of the name of a metric, of a dimension and of a namespace.
const MAX_NAME_LENGTH: usize = 255;
const NAME_RULE: &str = "of at most 255 characters";

/// Characters of the value of a dimension, which are bytes, because they are ASCII.
const MAX_DIMENSION_VALUE_BYTES: usize = 1_024;

/// The namespaces of AWS begin so.
const RESERVED: &str = "AWS/";

/// 2^360: its exponent, in the bits of a number of 64 bits.
const LARGEST_VALUE: f64 = f64::from_bits((1_023 + 360) << 52);
const VALUE_RULE: &str = "a number from -2^360 to 2^360";

/// The resolutions in seconds.
const RESOLUTIONS: [i32; 2] = [1, 60];

type Checked = Result<(), InvalidEntry>;

/// The name of the metrics' namespace.
pub(super) fn check_namespace(namespace: &str) -> Checked {
    let part = "namespace";
    check_ascii(part, namespace)?;
    check_length(part, namespace, MAX_NAME_LENGTH, NAME_RULE)?;
    if namespace.starts_with(':') || namespace.starts_with(RESERVED) {
        return Err(InvalidEntry::malformed(
            part,
            "without `AWS/` or a colon at its beginning",
        ));
    }
    Ok(())
}

/// Everything but the size, and the time, which CloudWatch compares with its own clock.
pub(super) fn check_metric(metric: &MetricDatum) -> Checked {
    let part = "metric name";
    let name = metric.metric_name().unwrap_or_default();
    if name.trim().is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    check_length(part, name, MAX_NAME_LENGTH, NAME_RULE)?;
    let dimensions = metric.dimensions();
    check_count("dimensions", MAX_DIMENSIONS, dimensions.len())?;
    dimensions.iter().try_for_each(check_dimension)?;
    if metric
        .storage_resolution()
        .is_some_and(|seconds| !RESOLUTIONS.contains(&seconds))
    {
        return Err(InvalidEntry::malformed("storage resolution", "1 or 60"));
    }
    check_values(metric)
}

fn check_dimension(dimension: &Dimension) -> Checked {
    let part = "dimension name";
    let name = dimension.name().unwrap_or_default();
    check_ascii(part, name)?;
    check_length(part, name, MAX_NAME_LENGTH, NAME_RULE)?;
    if name.starts_with(':') {
        return Err(InvalidEntry::malformed(part, "without a colon at its beginning"));
    }
    let part = "dimension value";
    let value = dimension.value().unwrap_or_default();
    check_ascii(part, value)?;
    check_size(part, MAX_DIMENSION_VALUE_BYTES, value.len()).map(drop)
}

/// A metric has one value, or several with their counts, or statistics. CloudWatch accepts values together with statistics, as recorded by the tests
/// of LocalStack that were validated against AWS; to a value together with either it answers "mutually exclusive".
fn check_values(metric: &MetricDatum) -> Checked {
    let (values, counts) = (metric.values(), metric.counts());
    let has_several = metric.statistic_values().is_some() || !values.is_empty();
    match (metric.value().is_some(), has_several) {
        (false, false) => return Err(InvalidEntry::Missing { part: "value" }),
        (true, true) => {
            return Err(InvalidEntry::malformed(
                "metric",
                "with either a value, or values or statistics",
            ));
        }
        (true, false) | (false, true) => {}
    }
    check_count("values", MAX_VALUES, values.len())?;
    if !counts.is_empty() && counts.len() != values.len() {
        return Err(InvalidEntry::malformed("counts", "as many as the values"));
    }
    metric.value().map_or(Ok(()), |value| check_number("value", value))?;
    values.iter().try_for_each(|value| check_number("value", *value))?;
    counts.iter().try_for_each(|count| check_number("count", *count))?;
    metric.statistic_values().map_or(Ok(()), check_statistics)
}

fn check_statistics(statistics: &StatisticSet) -> Checked {
    let numbers = [
        ("sample count", statistics.sample_count()),
        ("sum", statistics.sum()),
        ("minimum", statistics.minimum()),
        ("maximum", statistics.maximum()),
    ];
    numbers.into_iter().try_for_each(|(part, number)| {
        let number = number.ok_or(InvalidEntry::Missing { part })?;
        check_number(part, number)
    })?;
    // Not in the API reference: CloudWatch refuses the call with it, and takes 1e-9.
    if statistics.sample_count().is_some_and(|count| count <= 0.0) {
        return Err(InvalidEntry::malformed("sample count", "above 0"));
    }
    Ok(())
}

/// NaN is in no range.
fn check_number(part: &'static str, number: f64) -> Checked {
    if (-LARGEST_VALUE..=LARGEST_VALUE).contains(&number) {
        return Ok(());
    }
    Err(InvalidEntry::malformed(part, VALUE_RULE))
}

/// ASCII without control characters, and not only white space.
fn check_ascii(part: &'static str, text: &str) -> Checked {
    check_characters(part, text, |character| {
        character.is_ascii() && !character.is_ascii_control()
    })?;
    if text.trim().is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    Ok(())
}

/// Bytes of a number with its head, in the CBOR of a request.
const NUMBER: usize = 9;
/// Bytes of the head and the end of a map or a list at most.
const ENDS: usize = 4;
/// Bytes of the head of a text at most. A head before a name of a member has one.
const HEAD: usize = 3;

/// Bytes of a metric in a request before its compression, or a few more. The SDK sends CBOR.
pub fn metric_size(metric: &MetricDatum) -> usize {
    let text = |name: &str, value: &str| 1 + name.len() + HEAD + value.len();
    let numbers = |name: &str, count: usize| 1 + name.len() + ENDS + count * NUMBER;
    let dimension = |dimension: &Dimension| {
        ENDS + text("Name", dimension.name().unwrap_or_default()) + text("Value", dimension.value().unwrap_or_default())
    };
    let dimensions: usize = metric.dimensions().iter().map(dimension).sum();
    let timestamp = metric.timestamp().map_or(0, |_| 1 + "Timestamp".len() + 1 + NUMBER);
    let value = metric.value().map_or(0, |_| 1 + "Value".len() + NUMBER);
    let statistics = metric.statistic_values().map_or(0, |_| {
        let names = "StatisticValues".len() + "SampleCount".len() + "Sum".len() + "Minimum".len() + "Maximum".len();
        5 + names + ENDS + 4 * NUMBER
    });
    let unit = metric.unit().map_or(0, |unit| text("Unit", unit.as_str()));
    let resolution = metric
        .storage_resolution()
        .map_or(0, |_| 1 + "StorageResolution".len() + NUMBER);
    ENDS + text("MetricName", metric.metric_name().unwrap_or_default())
        + (1 + "Dimensions".len() + ENDS + dimensions)
        + timestamp
        + value
        + statistics
        + numbers("Values", metric.values().len())
        + numbers("Counts", metric.counts().len())
        + unit
        + resolution
}
