//! Why a transaction is canceled.

use serde_json::{Value, json};

use super::table::Table;
use crate::admission::Throttle;
use crate::calls::{CONFLICT, Verdict};
use crate::wire::Refusal;

/// The code of an action that is valid, but not for its table or its item.
pub(super) const VALIDATION_ERROR: &str = "ValidationError";

/// The error of a transaction with the reasons of all its actions, in their order.
pub(super) fn canceled(reasons: Vec<Value>) -> Refusal {
    let codes: Vec<&str> = reasons.iter().filter_map(|reason| reason["Code"].as_str()).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    Refusal::new("TransactionCanceledException", message)
        .capital_message()
        .with("CancellationReasons", Value::Array(reasons))
}

/// Of an action that is not what canceled the transaction.
pub(super) fn no_reason() -> Value {
    json!({"Code": "None"})
}

/// The reason of an action. `item` is the item of an action whose condition is false, if the action asks for it.
pub(super) fn reason(table: &Table, verdict: &Verdict, problem: Option<&Refusal>, item: Option<Value>) -> Value {
    match verdict {
        Verdict::Accepted | Verdict::Omitted { .. } | Verdict::Canceled => no_reason(),
        Verdict::ConditionFailed => {
            let mut reason = json!({"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"});
            if let Some(item) = item {
                reason["Item"] = item;
            }
            reason
        }
        Verdict::Throttled(throttle) => throttled(table, *throttle),
        Verdict::Failed { code, .. } => {
            let message = match (code.as_ref(), problem) {
                (_, Some(problem)) => problem.message(),
                (CONFLICT, None) => "Transaction is ongoing for the item",
                ("ItemCollectionSizeLimitExceeded", None) => "Collection size exceeded.",
                _ => "Simulated failure",
            };
            json!({"Code": code, "Message": message})
        }
    }
}

fn throttled(table: &Table, throttle: Throttle) -> Value {
    let (code, message) = match (table.is_on_demand(), throttle.index) {
        (false, None) => (
            "ProvisionedThroughputExceeded",
            "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning \
             level with the UpdateTable API.",
        ),
        (false, Some(_)) => (
            "ProvisionedThroughputExceeded",
            "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. \
             Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable \
             API.",
        ),
        (true, None) => (
            "ThrottlingError",
            "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or \
             index so please try again shortly.",
        ),
        (true, Some(_)) => (
            "ThrottlingError",
            "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is automatically scaling \
             your index so please try again shortly.",
        ),
    };
    json!({"Code": code, "Message": message})
}
