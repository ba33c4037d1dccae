//! Puts items into a table.

use super::deliver::deliver;
use super::table::{needed, single, whole};
use crate::arguments::LoadArguments;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::Change;

/// The placeholder for the partition key, which every item has.
const KEY: &str = "#key";

/// Puts the items of the inputs.
pub(super) async fn run(arguments: LoadArguments) -> Result<CommandOutcome, Failure> {
    let LoadArguments {
        mut from,
        if_absent,
        refuse_unindexed,
        condition,
    } = arguments;
    from.refuses_unindexed = refuse_unindexed;
    if !if_absent && condition.is_empty() {
        return deliver(whole(&from, false).await?, &from.common).await;
    }
    let settings = vec![("--if-absent", if_absent.to_string())];
    let job = single("load", &from, &condition, settings, |key| {
        let mut expressions = condition.expressions(Change::Put);
        if if_absent {
            expressions.condition = Some(format!("attribute_not_exists({KEY})"));
            expressions.names.insert(KEY.to_owned(), needed(key)?.partition.name);
        }
        Ok(expressions)
    });
    deliver(job.await?, &from.common).await
}
