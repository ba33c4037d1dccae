//! The errors of calls of which nothing was processed.

use serde_json::{Value, json};

use super::table::Table;
use crate::admission::{Throttle, ThroughputLimit};
use crate::fault::InjectedFault;
use crate::wire::Refusal;

/// The error without reasons.
pub(super) fn throughput_exceeded() -> Refusal {
    Refusal::new(
        "ProvisionedThroughputExceededException",
        "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
         provisioning level with the UpdateTable API.",
    )
}

/// The error with the reasons of all entries, each of them once.
///
/// The three errors have the same member, but one of them spells it differently, as in the SDK's model.
pub(super) fn throttled(table: &Table, throttles: impl IntoIterator<Item = Throttle>) -> Refusal {
    let mut distinct: Vec<Throttle> = Vec::new();
    for throttle in throttles {
        if !distinct.contains(&throttle) {
            distinct.push(throttle);
        }
    }
    throttled_by(table, &distinct, str::to_owned)
}

fn throttled_by(table: &Table, distinct: &[Throttle], named: impl Fn(&str) -> String) -> Refusal {
    let is_account = distinct
        .iter()
        .any(|throttle| throttle.limit == ThroughputLimit::Account);
    let (refusal, member) = if is_account {
        let refusal = Refusal::new(
            "RequestLimitExceeded",
            "Throughput exceeds the current throughput limit for your account. Please contact AWS Support to request a limit \
             increase.",
        );
        (refusal, "ThrottlingReasons")
    } else if table.is_on_demand() {
        let refusal = Refusal::new(
            "ThrottlingException",
            "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or \
             index so please try again shortly.",
        );
        (refusal, "throttlingReasons")
    } else {
        (throughput_exceeded(), "ThrottlingReasons")
    };
    let reasons: Vec<Value> = distinct
        .iter()
        .map(|throttle| json!({"reason": named(throttle.reason()), "resource": table.arn_of(throttle.index)}))
        .collect();
    refusal.with(member, Value::Array(reasons))
}

/// The error of a read of which nothing was processed. Its reason names the same limit of reads.
pub(super) fn throttled_read(table: &Table, throttle: Throttle) -> Refusal {
    throttled_by(table, &[throttle], |reason| reason.replacen("Write", "Read", 1))
}

/// The error of a call that this fault throttles.
pub(super) fn throttled_by_fault(table: &Table, fault: &InjectedFault) -> Refusal {
    let limit = match fault {
        InjectedFault::AccountLimit => ThroughputLimit::Account,
        _ if table.is_on_demand() => ThroughputLimit::KeyRange,
        _ => ThroughputLimit::Provisioned,
    };
    throttled(table, [Throttle::of_table(limit)])
}
