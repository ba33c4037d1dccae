//! Puts, updates and deletions of single items of one table, with conditions.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::attempts::{Attempts, FailedCondition, Reply};
use super::check;
use super::item_write::{ItemWrite, Operation};
use super::size::{attributes_memory, item_size, write_units};
use super::table::DynamoTable;
use super::transaction::TRANSACTION;
use super::transactions::transact;
use crate::contract::{Answer, BatchTarget, Fault, Identity, Lane, Limits, Verdict};
use crate::invalid::InvalidEntry;

/// A DynamoDB table to write single items to, with conditions and updates, which `BatchWriteItem` does not know.
///
/// Each entry is one call: `PutItem`, `UpdateItem`, `DeleteItem`, or a `TransactWriteItems` with one action. Everything else that
/// applies to a [`DynamoTable`] applies here: the order of writes to one key, how the key is determined, the client. Create it from such a
/// table, with its key and its limits:
///
/// ```
/// # use aws_batch_delivery::targets::dynamo::{DynamoTable, DynamoWrites};
/// # fn example(client: aws_sdk_dynamodb::Client) -> DynamoWrites {
/// DynamoWrites::from(DynamoTable::new(client, "orders").key("id"))
/// # }
/// ```
///
/// # After a lost answer
/// The write may have been applied, and is sent again. What a later answer means depends on what the write does:
///
/// | write | a later success | a later failed condition |
/// |---|---|---|
/// | put or deletion without a condition | delivered | |
/// | update that only sets attributes to values or removes them | delivered | delivered if the attributes are there as they were sent, otherwise undecided |
/// | put with a condition | delivered | delivered if the item is there as it was sent, otherwise undecided |
/// | deletion with a condition | delivered | undecided |
/// | any other update, and [`with_token`](ItemWrite::with_token) | delivered, and applied once | condition failed |
///
/// An undecided write is handed back as [refused](crate::Cause::Refused) and
/// [in doubt](crate::Undelivered::may_have_been_delivered): it was applied, and another writer has changed the item since, or it was not.
/// An item or attributes that are there as they were sent count as written, whichever writer wrote them; where that matters, let the item
/// have something of its own, or use [`with_token`](ItemWrite::with_token). A token is recognized for 10 minutes: if the first lost answer
/// is more than 9 minutes old, the write is handed back in doubt, and not sent.
#[derive(Clone)]
pub struct DynamoWrites(DynamoTable);

/// The same table, with its key and its limits. One entry makes a call.
impl From<DynamoTable> for DynamoWrites {
    fn from(mut table: DynamoTable) -> Self {
        table.limits.entries = 1;
        Self(table)
    }
}

impl DynamoWrites {
    /// A chunk has one entry, by the limits.
    async fn send_one(&self, chunk: &[ItemWrite], metered: bool) -> (Answer, Option<f64>) {
        match chunk {
            [write] => self.call(write, metered).await,
            _ => (Answer::Whole(Verdict::Refused(Fault::new("more than one write"))), None),
        }
    }

    async fn call(&self, write: &ItemWrite, metered: bool) -> (Answer, Option<f64>) {
        let (calls, table) = (&self.0.calls, &self.0.table);
        let operation = write.operation();
        if operation == Operation::Transaction {
            let actions = write.action(table).into_iter().collect();
            let (answer, units) = transact(calls, &write.attempts, actions).await;
            return (self.0.failed(answer), units);
        }
        let attempt = write.attempts.begin();
        // Without a doubt there is nothing to compare, and an item may be large.
        let returns_old = write.returns_old_item || (write.condition.is_some() && attempt.is_in_doubt());
        let reply = match operation {
            Operation::Put => calls.put_item(table, write, returns_old, metered).await,
            Operation::Delete => calls.delete_item(table, write, returns_old, metered).await,
            Operation::Update | Operation::Transaction => calls.update_item(table, write, returns_old, metered).await,
        };
        let (answer, units) = match reply {
            Reply::Applied(units) => (Answer::Whole(Verdict::Accepted), units),
            Reply::ConditionFailed(failed) if attempt.is_in_doubt() => (after_a_doubt(write, failed), None),
            Reply::ConditionFailed(failed) => {
                write.attempts.failed(failed);
                (Answer::Whole(Verdict::ConditionFailed), None)
            }
            Reply::Failed(answer) => (self.0.failed(answer), None),
        };
        write.attempts.end(attempt, &answer);
        (answer, units)
    }
}

/// The condition does not hold, and an earlier attempt may be the reason: the existing item decides.
fn after_a_doubt(write: &ItemWrite, failed: Vec<FailedCondition>) -> Answer {
    let item = failed.first().and_then(|failed| failed.item.as_ref());
    if item.is_some_and(|item| write.stands_in(item)) {
        return Answer::Whole(Verdict::Accepted);
    }
    write.attempts.failed(failed);
    let fault = Fault::new("ConditionalCheckFailedException")
        .explained(
            "an earlier attempt, whose answer was lost, was applied and the item changed since, or it was not applied",
        )
        .ambiguous();
    // The verdict on the entry, not a refusal of the call.
    Answer::Each(vec![Verdict::Refused(fault)])
}

impl BatchTarget for DynamoWrites {
    type Entry = ItemWrite;

    fn name(&self) -> Cow<'_, str> {
        self.0.name()
    }

    fn limits(&self) -> Limits {
        self.0.limits
    }

    async fn prepare(&self) {
        self.0.prepare().await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.0.preparation_fault()
    }

    fn check(&self, write: &ItemWrite) -> Result<usize, InvalidEntry> {
        if write.table.as_ref().is_some_and(|table| *table != self.0.table) {
            return Err(InvalidEntry::malformed("table", "the table of the delivery"));
        }
        let request = self.0.measure(&write.request, self.0.limits.bytes)?;
        let (update, condition) = (write.update.as_deref(), write.condition.as_deref());
        let expressions = check::expressions(update, condition, Some(&write.names), Some(&write.values))?;
        Ok((request + expressions).min(self.0.limits.bytes))
    }

    fn identify(&self, write: &mut ItemWrite, identity: &Identity) {
        write.attempts = Arc::new(Attempts::of(identity));
    }

    fn weight(&self, write: &ItemWrite, bytes: usize) -> usize {
        self.0.weight(&write.request, bytes) + attributes_memory(&write.values)
    }

    fn lane(&self, write: &ItemWrite) -> Option<Lane> {
        self.0.lane(&write.request)
    }

    fn partition_key(&self, write: &ItemWrite) -> Option<u64> {
        self.0.partition_key(&write.request)
    }

    /// Only whole writes overwrite one another completely, whatever is there.
    fn supersedes(&self, newer: &ItemWrite, older: &ItemWrite) -> bool {
        newer.is_whole() && older.is_whole() && self.0.supersedes(&newer.request, &older.request)
    }

    /// For an update and a deletion they depend on the item in the table.
    fn units(&self, write: &ItemWrite) -> usize {
        let of_write = match (&write.update, write.attributes()) {
            (Some(_), Some(key)) => write_units(item_size(key) + item_size(&write.values)),
            _ => self.0.write_units(&write.request),
        };
        match write.operation() {
            Operation::Transaction => TRANSACTION * of_write,
            Operation::Put | Operation::Update | Operation::Delete => of_write,
        }
    }

    /// The throughput of the table or of its narrowest index, if `DescribeTable` was called.
    fn throughput(&self) -> Option<f64> {
        self.0.throughput()
    }

    async fn send(&self, chunk: &[ItemWrite]) -> Answer {
        self.send_one(chunk, false).await.0
    }

    async fn send_metered(&self, chunk: &[ItemWrite]) -> (Answer, Option<f64>) {
        self.send_one(chunk, true).await
    }
}

impl fmt::Debug for DynamoWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynamoWrites").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests;
