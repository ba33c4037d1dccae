//! Writes to several tables, in calls that mix them.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::WriteRequest;
use futures::future::join_all;

use super::TableWrite;
use super::calls::{DynamoCalls, consumed, short_name};
use super::size::request_memory;
use super::table::{DynamoTable, MAX_BODY_BYTES, MAX_ITEM_BYTES, MAX_REQUESTS};
use super::{body, correlate};
use crate::aws::of_named_resources;
use crate::contract::{Answer, BatchTarget, Fault, Lane, Limits, Verdict};
use crate::invalid::InvalidEntry;
use crate::services::debug::debug_by_name;

/// Several DynamoDB tables to write to. A call carries writes to any of them.
///
/// Everything that applies to a [`DynamoTable`] applies to each of them: the order of writes to one key, how the key is
/// determined, the client. A table that is given by its name and by its ARN is one table for the order. Writes to a table that
/// does not exist are handed back as [refused](crate::Cause::Refused), with the code `ResourceNotFoundException`; if none of the
/// tables exists, the delivery stops. All of them have one pace: while one is throttled, writes to the others wait, too. Use a
/// delivery for each table where they must not.
#[derive(Clone)]
#[must_use]
pub struct DynamoTables {
    calls: DynamoCalls,
    pub(super) tables: Vec<DynamoTable>,
    limits: Limits,
    pub(super) refuses_unindexed: bool,
}

impl DynamoTables {
    /// The tables with these names or ARNs. Writes to any other are handed back unsent.
    ///
    /// # Default
    /// The limits of a [`DynamoTable`].
    pub fn new<S>(client: Client, tables: impl IntoIterator<Item = S>) -> Self
    where
        S: Into<String>,
    {
        let calls = DynamoCalls::new(client);
        let tables = tables
            .into_iter()
            .map(|table| DynamoTable::called_by(calls.clone(), table));
        Self {
            tables: tables.collect(),
            calls,
            limits: Limits::new(MAX_REQUESTS, MAX_BODY_BYTES).with_entry_bytes(MAX_ITEM_BYTES),
            refuses_unindexed: false,
        }
    }

    /// The key of this table is this attribute; the table is not asked for it.
    pub fn key(self, table: &str, partition: impl Into<String>) -> Self {
        self.with_table(table, |table| table.key(partition))
    }

    /// The key of this table are these two attributes; the table is not asked for them.
    pub fn key_with_sort(self, table: &str, partition: impl Into<String>, sort: impl Into<String>) -> Self {
        self.with_table(table, |table| table.key_with_sort(partition, sort))
    }

    /// Adds the table if it was not given before.
    fn with_table(mut self, name: &str, change: impl FnOnce(DynamoTable) -> DynamoTable) -> Self {
        let known = self.tables.iter().position(|table| table.table == name);
        let mut table = match known {
            Some(place) => self.tables.swap_remove(place),
            None => DynamoTable::called_by(self.calls.clone(), name).with_limits(self.limits),
        };
        table.vectors.set_refuses(self.refuses_unindexed);
        self.tables.push(change(table));
        self
    }

    /// Other limits: `bytes` are those of a call's whole body, `entry_bytes` those of an item.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self.tables.iter_mut().for_each(|table| table.limits = limits);
        self
    }

    fn table(&self, name: &str) -> Option<&DynamoTable> {
        self.tables.iter().find(|table| table.table == name)
    }

    /// Bytes that requests may take in the body of a call that names every table, and may ask for the consumed capacity.
    fn request_bytes(&self) -> usize {
        let names: usize = self.tables.iter().map(|table| body::envelope(&table.table)).sum();
        self.limits.bytes.saturating_sub(names + body::ASKING)
    }
}

impl BatchTarget for DynamoTables {
    type Entry = TableWrite;

    fn name(&self) -> Cow<'_, str> {
        let names: Vec<&str> = self.tables.iter().map(|table| short_name(&table.table)).collect();
        format!("dynamodb/{}", names.join(",")).into()
    }

    fn limits(&self) -> Limits {
        Limits {
            bytes: self.request_bytes(),
            ..self.limits
        }
    }

    async fn prepare(&self) {
        join_all(self.tables.iter().map(BatchTarget::prepare)).await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.tables.iter().find_map(BatchTarget::preparation_fault)
    }

    fn check(&self, entry: &TableWrite) -> Result<usize, InvalidEntry> {
        let table = self
            .table(&entry.table)
            .ok_or(InvalidEntry::malformed("table", "one of the tables of the delivery"))?;
        table.measure(&entry.request, self.request_bytes())
    }

    fn weight(&self, entry: &TableWrite, bytes: usize) -> usize {
        request_memory(&entry.request).max(bytes)
    }

    fn lane(&self, entry: &TableWrite) -> Option<Lane> {
        self.table(&entry.table)?.lane(&entry.request)
    }

    fn partition_key(&self, entry: &TableWrite) -> Option<u64> {
        self.table(&entry.table)?.partition_key(&entry.request)
    }

    fn supersedes(&self, newer: &TableWrite, older: &TableWrite) -> bool {
        let table = self.table(&newer.table).filter(|_| newer.table == older.table);
        table.is_some_and(|table| table.supersedes(&newer.request, &older.request))
    }

    fn units(&self, entry: &TableWrite) -> usize {
        let table = self.table(&entry.table);
        table.map_or(1, |table| table.write_units(&entry.request))
    }

    /// The lowest throughput that is known, because all writes may be to that table.
    fn throughput(&self) -> Option<f64> {
        self.tables.iter().filter_map(BatchTarget::throughput).reduce(f64::min)
    }

    async fn send(&self, chunk: &[TableWrite]) -> Answer {
        self.call(chunk, false).await.0
    }

    async fn send_metered(&self, chunk: &[TableWrite]) -> (Answer, Option<f64>) {
        self.call(chunk, true).await
    }
}

impl DynamoTables {
    /// Makes a call with the writes to tables that exist, as far as is known. The others are refused unsent.
    async fn call(&self, chunk: &[TableWrite], metered: bool) -> (Answer, Option<f64>) {
        let missing = |write: &TableWrite| self.table(&write.table)?.missing();
        let unsent: Vec<Option<Fault>> = chunk.iter().map(missing).collect();
        let Some(fault) = unsent.iter().flatten().next() else {
            return self.send_all(chunk, metered).await;
        };
        if self.tables.iter().all(|table| table.missing().is_some()) {
            return (Answer::Stop(fault.clone()), None);
        }
        let is_sent = |(_, fault): &(&TableWrite, &Option<Fault>)| fault.is_none();
        let sent: Vec<TableWrite> = chunk
            .iter()
            .zip(&unsent)
            .filter(is_sent)
            .map(|(write, _)| write.clone())
            .collect();
        let (answer, units) = match sent[..] {
            [] => (Answer::Each(Vec::new()), None),
            _ => self.send_all(&sent, metered).await,
        };
        (beside_unsent(answer, unsent), units)
    }

    async fn send_all(&self, chunk: &[TableWrite], metered: bool) -> (Answer, Option<f64>) {
        let mut requests: HashMap<String, Vec<WriteRequest>> = HashMap::new();
        for write in chunk {
            requests
                .entry(write.table.clone())
                .or_default()
                .push(write.request.clone());
        }
        match self.calls.write(requests, metered).await {
            Ok(output) => (
                correlate::verdicts_by_table(chunk, output.unprocessed_items()),
                consumed(output.consumed_capacity()),
            ),
            Err(answer) => {
                let answer = of_named_resources(answer);
                let was_sent = |table: &&DynamoTable| chunk.iter().any(|write| write.table == table.table);
                let tables = self.tables.iter().filter(was_sent);
                (tables.fold(answer, |answer, table| table.failed(answer)), None)
            }
        }
    }
}

/// The answer for a chunk of which only the writes without a fault were sent.
fn beside_unsent(answer: Answer, unsent: Vec<Option<Fault>>) -> Answer {
    let (of_each, of_all) = match answer {
        Answer::Each(verdicts) => (verdicts, None),
        // The call is halved, whatever its other writes are.
        Answer::Whole(Verdict::Refused(_)) | Answer::Disputed(_) | Answer::Stop(_) => return answer,
        Answer::Whole(verdict) => (Vec::new(), Some(verdict)),
    };
    let mut of_each = of_each.into_iter();
    let mut of_sent = || {
        let verdict = of_each.next().or_else(|| of_all.clone());
        verdict.unwrap_or_else(|| correlate::unanswered("no answer for this entry"))
    };
    let verdicts = unsent.into_iter().map(|fault| match fault {
        Some(fault) => Verdict::Refused(fault),
        None => of_sent(),
    });
    Answer::Each(verdicts.collect())
}

debug_by_name!(DynamoTables);

#[cfg(test)]
mod tests {
    use super::super::testing::{client, delete, put, text};
    use super::*;
    use crate::aws::recording::Recorder;

    fn tables(recorder: &Recorder) -> DynamoTables {
        DynamoTables::new(client(recorder), ["orders", "customers"])
            .key("orders", "id")
            .key_with_sort("customers", "id", "at")
    }

    #[test]
    fn the_same_key_of_different_tables_is_not_the_same() {
        let tables = DynamoTables::new(client(&Recorder::answering(200, "{}")), [""; 0])
            .key("orders", "id")
            .key("customers", "id");
        let to = |table: &str| TableWrite::new(table, put([("id", text("a"))]));
        assert!(tables.lane(&to("orders")).is_some());
        assert_ne!(tables.lane(&to("orders")), tables.lane(&to("customers")));
        assert!(tables.partition_key(&to("orders")).is_some());
        assert_ne!(
            tables.partition_key(&to("orders")),
            tables.partition_key(&to("customers"))
        );
        assert!(tables.supersedes(&to("orders"), &to("orders")));
        assert!(!tables.supersedes(&to("orders"), &to("customers")));
    }

    #[test]
    fn a_table_is_one_for_the_order_however_it_is_spelled() {
        let arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders";
        let tables = DynamoTables::new(client(&Recorder::answering(200, "{}")), [""; 0])
            .key("orders", "id")
            .key(arn, "id");
        let to = |table: &str| TableWrite::new(table, put([("id", text("a"))]));
        assert!(tables.lane(&to("orders")).is_some());
        assert_eq!(tables.lane(&to("orders")), tables.lane(&to(arn)));
        // The ARN may be that of a table in another account, so a write to it does not overwrite this one.
        assert!(!tables.supersedes(&to("orders"), &to(arn)));
    }

    #[test]
    fn each_write_is_checked_by_its_table() {
        let tables = tables(&Recorder::answering(200, "{}"));
        let refusal = |table: &str| {
            let write = TableWrite::new(table, put([("id", text("a"))]));
            tables.check(&write).err().map(|refusal| refusal.to_string())
        };
        assert_eq!(refusal("orders"), None);
        assert_eq!(
            refusal("customers").as_deref(),
            Some("`at`: the sort key is missing or empty")
        );
        assert_eq!(
            refusal("others").as_deref(),
            Some("the table must be one of the tables of the delivery")
        );
    }

    #[tokio::test]
    async fn a_call_mixes_tables_and_its_body_never_exceeds_the_counted_bytes() {
        let recorder = Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
        let tables = tables(&recorder);
        let chunk = [
            TableWrite::new("orders", put([("id", text("a"))])),
            TableWrite::new("customers", delete([("id", text("a")), ("at", text("b"))])),
            TableWrite::new("orders", delete([("id", text("b"))])),
        ];
        let counted: usize = chunk.iter().map(|write| tables.check(write).unwrap()).sum();
        assert!(matches!(tables.send(&chunk).await, Answer::Whole(Verdict::Accepted)));
        let body = recorder.only_request().body;
        let requests = |table: &str| {
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            body["RequestItems"][table].as_array().map(Vec::len)
        };
        assert_eq!(["orders", "customers"].map(requests), [Some(2), Some(1)]);
        assert!(body.len() <= counted + MAX_BODY_BYTES - BatchTarget::limits(&tables).bytes);
    }
}
