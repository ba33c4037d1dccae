//! The errors of throttled calls.

use serde_json::{Value, json};

use super::table::Table;
use crate::plan::{Decision, Throttling};
use crate::refusal::{BY_FAULT, Refusal};

/// The error of a call of which nothing is accepted, with each reason once.
pub(super) fn throttled<'a>(throttled: impl Iterator<Item = (&'a Table, Throttling)>, is_read: bool) -> Refusal {
    let mut reasons: Vec<Value> = Vec::new();
    let mut is_on_demand = false;
    for (table, throttling) in throttled {
        is_on_demand = table.is_on_demand;
        let reason = if is_read {
            throttling.reason.replacen("Write", "Read", 1)
        } else {
            throttling.reason.to_owned()
        };
        let index = throttling.index.and_then(|index| table.globals.get(index));
        let resource = match index {
            Some(index) => format!("{}/index/{}", table.arn, index.name),
            None => table.arn.clone(),
        };
        let reason = json!({"reason": reason, "resource": resource});
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let reasons = Value::Array(reasons);
    // The two errors spell the member differently, as in the SDK's model.
    if is_on_demand {
        Refusal::new("ThrottlingException", ON_DEMAND).with("throttlingReasons", reasons)
    } else {
        Refusal::new("ProvisionedThroughputExceededException", PROVISIONED).with("ThrottlingReasons", reasons)
    }
}

const PROVISIONED: &str = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
                           provisioning level with the UpdateTable API.";
const ON_DEMAND: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your \
                         table or index so please try again shortly.";

/// The error of a transaction of which an action is throttled: a reason for each action, in their order.
pub(super) fn canceled<'a>(actions: impl Iterator<Item = (&'a Table, &'a Decision)>) -> Refusal {
    let reasons: Vec<Value> = actions
        .map(|(table, decision)| match decision {
            Decision::Accepted | Decision::Refused => json!({"Code": "None"}),
            Decision::Throttled(_) if table.is_on_demand => json!({"Code": "ThrottlingError", "Message": ON_DEMAND}),
            Decision::Throttled(_) => json!({"Code": "ProvisionedThroughputExceeded", "Message": PROVISIONED}),
            Decision::Failed { code, .. } => {
                json!({"Code": code.as_deref().unwrap_or("TransactionConflict"), "Message": BY_FAULT})
            }
        })
        .collect();
    let codes: Vec<&str> = reasons.iter().filter_map(|reason| reason["Code"].as_str()).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    Refusal::new("TransactionCanceledException", message).with("CancellationReasons", Value::Array(reasons))
}
