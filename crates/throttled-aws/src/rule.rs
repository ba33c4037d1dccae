//! The words for faults: what happens, and to which calls.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::origin::Origin;

/// What happens to a call, or to some of its entries.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Nothing, which a script needs between two faults.
    None,
    /// The whole call is throttled, with the error of the service. Nothing is applied.
    Throttle,
    /// The connection is closed without an answer, and nothing was applied.
    Dropped,
    /// The call is applied, and the connection is closed without an answer.
    Lost,
    /// There is no answer, and the connection stays open. Nothing is applied.
    Hung,
    /// The call is applied, and its answer is cut off: it is not JSON.
    Garbage,
    /// This many entries of the call are not applied: `UnprocessedItems`, or `Failed` with the code of a throttle.
    Unprocessed(usize),
    /// This many entries of the call fail with this code.
    Failed(FailedEntries),
    /// The call fails with this status and code.
    Error(ErrorAnswer),
    /// The call takes this much longer.
    Slow(#[serde(with = "crate::time")] Duration),
}

/// Entries that fail.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FailedEntries {
    /// How many: those that come first in the call.
    pub entries: usize,
    /// The code. Default: `InternalError` of a queue, `InternalFailure` of a stream, `InternalServerError` of a call with one item,
    /// `TransactionConflict` of a transaction. Batches of items have none.
    #[serde(default)]
    pub code: Option<String>,
    /// Of queues: whether it is the sender's fault. Default: no.
    #[serde(default)]
    pub sender_fault: bool,
}

/// The error of a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorAnswer {
    /// The status. Default: 500.
    #[serde(default = "internal", deserialize_with = "status")]
    pub status: u16,
    /// The code. Default: that of the service for an internal error.
    #[serde(default)]
    pub code: Option<String>,
    /// Whether the call is applied all the same. Default: no.
    #[serde(default)]
    pub applied: bool,
}

fn internal() -> u16 {
    500
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let status = u16::deserialize(deserializer)?;
    if (400..600).contains(&status) {
        Ok(status)
    } else {
        let message = format!("the status of an error is from 400 to 599, not {status}");
        Err(serde::de::Error::custom(message))
    }
}

/// Faults for the calls that it is about: those of all services, operations and destinations that it does not name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// `dynamodb`, `sqs`, `kinesis`, or the name of another service as in a signature: `s3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Such as `BatchWriteItem`; of S3 the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The name of a table, a queue or a stream. Calls that take no capacity have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The faults of the next calls, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Fault>,
    /// The fault of a share of the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The share of the calls, from 0 to 1. Default: all of them.
    #[serde(
        deserialize_with = "crate::number::optional_share",
        skip_serializing_if = "Option::is_none"
    )]
    pub share: Option<f64>,
}

/// Rules, each of which has something that happens.
pub(crate) fn all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    let rules: Vec<Complete> = Vec::deserialize(deserializer)?;
    Ok(rules.into_iter().map(|Complete(rule)| rule).collect())
}

struct Complete(Rule);

impl<'de> Deserialize<'de> for Complete {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rule = Rule::deserialize(deserializer)?;
        if rule.next.is_empty() == rule.fault.is_none() {
            return Err(serde::de::Error::custom(
                "a rule of `faults` has either a `fault` with its `share` of the calls, or the faults of the `next` calls",
            ));
        }
        Ok(Self(rule))
    }
}

impl Rule {
    pub(crate) fn is_about(&self, origin: &Origin, destinations: &[&str]) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        is(&self.service, &origin.service)
            && is(&self.operation, &origin.operation)
            && (self.destination.as_deref()).is_none_or(|wanted| destinations.contains(&wanted))
    }
}
