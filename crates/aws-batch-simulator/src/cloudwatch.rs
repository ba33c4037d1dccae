//! The part of CloudWatch that accepts metrics: `PutMetricData`.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::capacity::Capacity;
use crate::handles::{counts_only_option, handle_capacity, kept_handle};
use crate::intake::WholeIntake;
use crate::journal::AnswerReceipt;
use crate::registry::Registry;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Cbor,
    namespace: "com.amazonaws.cloudwatch#",
    has_checksums: false,
    has_query_errors: true,
    throttled,
};

/// Metrics in a call at most. From the API reference of `PutMetricData`, as all of these.
const MOST_METRICS: usize = 1_000;
/// Bytes of a request at most, after decompression: 1 MB.
const LARGEST_CALL: usize = 1_000_000;
/// Dimensions and values of a metric at most.
const MOST_DIMENSIONS: usize = 30;
const MOST_VALUES: usize = 150;

/// The options of a namespace of CloudWatch.
///
/// # Default
/// - capacity: unlimited
/// - metrics are kept
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct MetricNamespaceOptions {
    capacity: Capacity,
    counts_only: bool,
}

impl MetricNamespaceOptions {
    counts_only_option!("metrics");

    /// The capacity, in calls per second. A call is accepted as a whole or not at all. The service limits the calls of an account.
    pub fn capacity(mut self, calls: impl Into<Capacity>) -> Self {
        self.capacity = calls.into();
        self
    }
}

/// A namespace of CloudWatch in the simulator, which keeps its metrics. Clones are handles to the same namespace.
///
/// As with the service, a namespace that was not created before is created by the first call to it.
#[derive(Clone)]
pub struct MetricNamespace {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    intake: WholeIntake<Value>,
}

kept_handle!(MetricNamespace, "metrics", "are put");

impl MetricNamespace {
    handle_capacity!("calls", "metric_namespace(\"shop\", MetricNamespaceOptions::default())");

    /// Calls with a metric for which the predicate is true are refused with `InvalidParameterValue`.
    ///
    /// The metric is the request's as JSON: `namespace.poison(|metric| metric["MetricName"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.intake.poison.set(predicate);
    }

    /// All metrics as JSON, in the order of acceptance.
    pub fn metrics(&self) -> Vec<Value> {
        self.inner.intake.state().kept.clone()
    }
}

impl MetricNamespace {
    pub(crate) fn new(name: &str, options: MetricNamespaceOptions, seed: u64) -> Self {
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                intake: WholeIntake::new(options.capacity, options.counts_only, seed),
            }),
        }
    }
}

pub(crate) fn operate(
    namespaces: &Registry<MetricNamespace>,
    operation: &str,
    body: Value,
    bytes: usize,
    answered: &AnswerReceipt,
) -> OperationOutcome {
    match operation {
        "PutMetricData" => put(namespaces, body, bytes, answered).into(),
        _ => Refusal::unknown_operation().into(),
    }
}

fn put(
    namespaces: &Registry<MetricNamespace>,
    mut body: Value,
    bytes: usize,
    answered: &AnswerReceipt,
) -> Result<OperationOutcome, Refusal> {
    let name = body["Namespace"].as_str().unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(missing("The parameter Namespace is required."));
    }
    if name.starts_with("AWS/") || name.starts_with(':') {
        return Err(invalid(format!("The value {name} for parameter Namespace is invalid.")));
    }
    let create = |seed| MetricNamespace::new(&name, MetricNamespaceOptions::default(), seed);
    let namespace = namespaces.find(&name).unwrap_or_else(|| namespaces.add(&name, create));
    let intake = &namespace.inner.intake;
    let call = intake.call(answered);
    let Value::Array(metrics) = body["MetricData"].take() else {
        return Err(intake.refused(missing("The parameter MetricData is required.")));
    };
    check(&namespace, &metrics, bytes).map_err(|refusal| intake.refused(refusal))?;
    let kept = metrics.iter().cloned().map(Some).collect();
    let failed = Refusal::new("InternalServiceFault", "Simulated failure").status(500);
    let failed = failed.query_code("InternalServiceError");
    Ok(intake
        .admit(&call, &metrics, kept)
        .outcome(|| json!({}), throttled(), failed))
}

fn check(namespace: &MetricNamespace, metrics: &[Value], bytes: usize) -> Result<(), Refusal> {
    if bytes > LARGEST_CALL {
        let refusal = Refusal::new("RequestEntityTooLarge", "Request size exceeded 1048576 bytes");
        return Err(refusal.status(413));
    }
    if !(1..=MOST_METRICS).contains(&metrics.len()) {
        return Err(invalid(format!(
            "The collection MetricData must not have a size greater than {MOST_METRICS}."
        )));
    }
    for (place, metric) in metrics.iter().enumerate() {
        check_metric(metric, place + 1)?;
        if namespace.inner.intake.poison.holds(metric) {
            return Err(invalid("The simulator is set to refuse this metric."));
        }
    }
    Ok(())
}

fn check_metric(metric: &Value, number: usize) -> Result<(), Refusal> {
    let count = |member: &str| metric[member].as_array().map_or(0, Vec::len);
    let member = |member: &str| format!("The parameter MetricData.member.{number}.{member}");
    if metric["MetricName"].as_str().is_none_or(str::is_empty) {
        return Err(missing(member("MetricName is required.")));
    }
    if count("Dimensions") > MOST_DIMENSIONS || count("Values") > MOST_VALUES {
        return Err(invalid(member("Dimensions or Values has too many members.")));
    }
    let kinds = [
        !metric["Value"].is_null(),
        count("Values") > 0,
        metric["StatisticValues"].is_object(),
    ];
    match kinds.iter().filter(|is_there| **is_there).count() {
        1 => {}
        0 => return Err(missing(member("Value is required."))),
        _ => {
            let refusal = Refusal::new("InvalidParameterCombinationException", member("Value is one too many."));
            return Err(refusal.query_code("InvalidParameterCombination"));
        }
    }
    let values = metric["Values"].as_array().into_iter().flatten();
    // JSON has no number for NaN and the infinities: these are text.
    let is_number = |value: &Value| value.is_number();
    if !values
        .chain([&metric["Value"]].into_iter().filter(|value| !value.is_null()))
        .all(is_number)
    {
        return Err(invalid(member("Value must be a number.")));
    }
    Ok(())
}

/// The error of a throttled call.
fn throttled() -> Refusal {
    Refusal::new("ThrottlingException", "Rate exceeded").query_code("Throttling")
}

fn invalid(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new("InvalidParameterValueException", message).query_code("InvalidParameterValue")
}

fn missing(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new("MissingRequiredParameterException", message).query_code("MissingParameter")
}
