//! Writes to one table.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::WriteRequest;

use super::calls::{DynamoCalls, consumed};
use super::calls::{short_name, table_name};
use super::describe::{Description, NO_TABLE};
use super::key::KeySchema;
use super::size::{item_size, request_memory, write_units};
use super::vectors::VectorCounts;
use super::{body, check, correlate, describe};
use crate::contract::{Answer, BatchTarget, Fault, Lane, Limits, Lookup};
use crate::invalid::InvalidEntry;
use crate::services::checks::check_size;
use crate::services::debug::debug_by_name;

/// Puts and deletes in a call. From the API reference of `BatchWriteItem`.
pub const MAX_REQUESTS: usize = 25;

/// Bytes of a call's body: 16 MiB of JSON, one byte more is answered with HTTP 413. From the API reference of
/// `BatchWriteItem`.
pub const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of an item as [`item_size`] counts them: 400 KiB. From the service quotas of DynamoDB.
pub const MAX_ITEM_BYTES: usize = 400 * 1024;

/// A DynamoDB table to write to.
///
/// Writes of one primary key arrive in the order of the input: at most one of them is in flight. This requires the key of
/// the table. `DescribeTable` gets it, for all clones and before the first write, unless it is given by [`key`](Self::key)
/// or [`key_with_sort`](Self::key_with_sort). The call is repeated until it is answered; what that takes counts against
/// [`give_up_after`](crate::DeliveryOptions::give_up_after). If it is not permitted, a warning is logged, and one call at a
/// time is made, so that no write passes another: 25 writes for each round trip, at 10 ms 2,500 a second instead of 33,000.
/// The key is asked for again every 5 minutes.
///
/// The table is described again once an hour, and when DynamoDB refuses a call: it may have another index then.
///
/// The keys of its secondary indexes are checked before a call. What its vector indexes need is checked with the feature `vector-indexes`
/// alone, which takes a newer SDK. Without it DynamoDB refuses the call, the entries at fault are found by
/// [halving it](crate#calls-that-are-refused-as-a-whole), and each is handed back with DynamoDB's words; an item that a vector index leaves out is neither
/// logged nor counted.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies,
/// such as its endpoint, credentials and timeouts. In a call without retries the SDK waits 6.2 s for a credentials
/// provider; for a slower one, set the `load_timeout` of the client's identity cache.
///
/// A call sends copies of its writes, because a write that is returned as unprocessed is sent again.
///
/// DynamoDB's answers always have `UnprocessedItems`, even if it is empty. A mock of the client must set it to an empty
/// map: without it the writes count as unanswered and are sent again. With a given key, the mock needs no `DescribeTable`;
/// the [guide](crate::guide#testing) has an example.
#[derive(Clone)]
#[must_use]
pub struct DynamoTable {
    pub(super) calls: DynamoCalls,
    pub(super) table: String,
    pub(super) limits: Limits,
    description: Lookup<Description>,
    pub(super) vectors: VectorCounts,
}

impl DynamoTable {
    /// The table with this name or ARN.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_REQUESTS`], 25 |
    /// | bytes of a call's body | [`MAX_BODY_BYTES`], 16 MiB |
    /// | bytes of an item | [`MAX_ITEM_BYTES`], 409,600 |
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self::called_by(DynamoCalls::new(client), table)
    }

    pub(super) fn called_by(calls: DynamoCalls, table: impl Into<String>) -> Self {
        Self {
            calls,
            table: table.into(),
            limits: Limits::new(MAX_REQUESTS, MAX_BODY_BYTES).with_entry_bytes(MAX_ITEM_BYTES),
            description: describe::lookup(),
            vectors: VectorCounts::default(),
        }
    }

    /// The table's key is this attribute; the table is not asked for it.
    pub fn key(mut self, partition: impl Into<String>) -> Self {
        self.description = Description::given(KeySchema::named(partition.into(), None));
        self
    }

    /// The table's key are these two attributes; the table is not asked for them.
    pub fn key_with_sort(mut self, partition: impl Into<String>, sort: impl Into<String>) -> Self {
        self.description = Description::given(KeySchema::named(partition.into(), Some(sort.into())));
        self
    }

    /// Other limits: `bytes` are those of the whole body of a call, `entry_bytes` those of an item by [`item_size`].
    ///
    /// For a table with local secondary indexes, where the limit applies to an item together with its index entries, and
    /// for endpoints with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Checks a write, and measures how many bytes it takes in a call that has room for `limit` bytes.
    pub(super) fn measure(&self, entry: &WriteRequest, limit: usize) -> Result<usize, InvalidEntry> {
        check::check(entry, self.limits.entry_bytes)?;
        if let Some(description) = self.described() {
            let checked = description.key.check(entry);
            let checked = checked.and_then(|()| description.index_keys.check(entry));
            let checked = checked.and_then(|()| description.vectors.check(entry));
            if checked.is_err() {
                self.seems_changed();
            }
            checked?;
        }
        let bytes = check_size("request", limit, body::taken(entry, limit, self.limits.entries))?;
        if let Some(description) = self.described() {
            let counted = description.vectors.count(entry, &self.table, &self.vectors);
            counted.inspect_err(|_| self.seems_changed())?;
        }
        Ok(bytes)
    }

    /// Write units that an entry consumes. For a delete they depend on the item in the table.
    pub(super) fn write_units(&self, entry: &WriteRequest) -> usize {
        let Some(put) = entry.put_request() else {
            return 1;
        };
        write_units(match self.described() {
            Some(described) => described.vectors.billed_size(put.item()),
            None => item_size(put.item()),
        })
    }

    async fn call(&self, chunk: &[WriteRequest], metered: bool) -> (Answer, Option<f64>) {
        let requests = HashMap::from([(self.table.clone(), chunk.to_vec())]);
        match self.calls.write(requests, metered).await {
            Ok(output) => (
                correlate::verdicts(chunk, output.unprocessed_items()),
                consumed(output.consumed_capacity()),
            ),
            Err(answer) => (self.failed(answer), None),
        }
    }

    /// A call has failed. If its entries are refused, the table may have another key or index than before.
    pub(super) fn failed(&self, answer: Answer) -> Answer {
        if answer.has_refusal() {
            self.seems_changed();
        }
        answer
    }

    /// Something contradicts what the table has reported.
    fn seems_changed(&self) {
        self.description.seems_outdated();
    }

    /// Why the table does not exist, if it is known that it does not.
    pub(super) fn missing(&self) -> Option<Fault> {
        self.description.last_fault().filter(|fault| fault.code() == NO_TABLE)
    }

    /// What is known of the table.
    fn described(&self) -> Option<Arc<Description>> {
        self.description.get()
    }

    /// Bytes that requests may take in the body of a call, which may ask for the consumed capacity.
    fn request_bytes(&self) -> usize {
        let others = body::envelope(&self.table) + body::ASKING;
        self.limits.bytes.saturating_sub(others)
    }
}

impl BatchTarget for DynamoTable {
    type Entry = WriteRequest;

    fn name(&self) -> Cow<'_, str> {
        format!("dynamodb/{}", short_name(&self.table)).into()
    }

    fn limits(&self) -> Limits {
        Limits {
            bytes: self.request_bytes(),
            ..self.limits
        }
    }

    async fn prepare(&self) {
        describe::ask(&self.description, &self.calls, &self.table, &self.name()).await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.description.missing()
    }

    fn check(&self, entry: &WriteRequest) -> Result<usize, InvalidEntry> {
        self.measure(entry, self.request_bytes())
    }

    fn weight(&self, entry: &WriteRequest, bytes: usize) -> usize {
        request_memory(entry).max(bytes)
    }

    fn lane(&self, entry: &WriteRequest) -> Option<Lane> {
        match self.described() {
            Some(described) => described.key.lane(table_name(&self.table), entry),
            None => Some(Lane::unknown()),
        }
    }

    fn partition_key(&self, entry: &WriteRequest) -> Option<u64> {
        self.described()?.key.partition_key(table_name(&self.table), entry)
    }

    fn supersedes(&self, newer: &WriteRequest, older: &WriteRequest) -> bool {
        self.described()
            .is_some_and(|described| described.key.is_same(newer, older))
    }

    fn units(&self, entry: &WriteRequest) -> usize {
        self.write_units(entry)
    }

    /// The throughput of the table or of its narrowest index, if `DescribeTable` was called.
    fn throughput(&self) -> Option<f64> {
        self.described()?.throughput
    }

    async fn send(&self, chunk: &[WriteRequest]) -> Answer {
        self.call(chunk, false).await.0
    }

    async fn send_metered(&self, chunk: &[WriteRequest]) -> (Answer, Option<f64>) {
        self.call(chunk, true).await
    }
}

debug_by_name!(DynamoTable);

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::super::DynamoTables;
    use super::super::testing::{client, delete, put, text};
    use super::*;
    use crate::aws::recording::Recorder;
    use crate::contract::{Rejection, Verdict};

    fn table(recorder: &Recorder) -> DynamoTable {
        DynamoTable::new(client(recorder), "orders")
    }

    #[test]
    fn the_log_names_the_table_without_its_account() {
        let recorder = Recorder::answering(200, "{}");
        let named = |table: &str| DynamoTable::new(client(&recorder), table).name().into_owned();
        assert_eq!(named("orders"), "dynamodb/orders");
        let arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders";
        assert_eq!(named(arn), "dynamodb/orders");
        let tables = DynamoTables::new(client(&recorder), ["customers", arn]);
        assert_eq!(tables.name(), "dynamodb/customers,orders");
    }

    #[tokio::test]
    async fn writes_are_accepted_or_come_back() {
        let recorder = Recorder::answering(
            200,
            r#"{"UnprocessedItems":{"orders":[{"DeleteRequest":{"Key":{"id":{"S":"b"}}}}]}}"#,
        );
        let chunk = [put([("id", text("a"))]), delete([("id", text("b"))])];
        let Answer::Each(verdicts) = table(&recorder).send(&chunk).await else {
            panic!("each write has its verdict");
        };
        assert!(matches!(
            verdicts[..],
            [Verdict::Accepted, Verdict::Rejected(Rejection::Unprocessed, _)]
        ));
    }

    #[tokio::test]
    async fn a_metered_call_requests_and_returns_its_consumed_capacity() {
        let recorder = Recorder::answering(
            200,
            r#"{"UnprocessedItems":{},"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":7.5}]}"#,
        );
        let (answer, units) = table(&recorder).send_metered(&[put([("id", text("a"))])]).await;
        assert!(matches!(answer, Answer::Whole(Verdict::Accepted)));
        assert_eq!(units, Some(7.5));
        let asked = recorder.only_request().body;
        assert!(asked.contains(r#""ReturnConsumedCapacity":"TOTAL""#), "{asked}");
    }

    #[test]
    fn a_write_takes_a_unit_for_each_kilobyte_begun() {
        let orders = table(&Recorder::answering(200, "{}"));
        let of = |bytes: usize| orders.units(&put([("id", text(&"a".repeat(bytes - "id".len())))]));
        assert_eq!([3, 1024, 1025, 2048, 409_600].map(of), [1, 1, 2, 2, 400]);
        assert_eq!(orders.units(&delete([("id", text("a"))])), 1);
    }

    #[tokio::test]
    async fn an_answer_without_unprocessed_items_leaves_its_writes_unanswered() {
        let recorder = Recorder::answering(200, "{}");
        let answer = table(&recorder).send(&[put([("id", text("a"))])]).await;
        let Answer::Whole(Verdict::Rejected(Rejection::Unanswered, fault)) = answer else {
            panic!("{answer:?}");
        };
        assert!(fault.is_ambiguous());
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_may_have_been_applied() {
        let recorder = Recorder::answering(200, "<html>");
        let answer = table(&recorder).send(&[put([("id", text("a"))])]).await;
        let Answer::Whole(Verdict::Rejected(Rejection::Transient, fault)) = answer else {
            panic!("{answer:?}");
        };
        assert!(fault.is_ambiguous());
        assert_eq!(fault.code(), "unreadable answer");
        assert!(fault.source().is_some());
    }

    #[tokio::test]
    async fn an_empty_503_is_transient() {
        let recorder = Recorder::answering(503, "");
        let answer = table(&recorder).send(&[put([("id", text("a"))])]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Transient, fault)) if fault.is_ambiguous()),
            "{answer:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_throttled_call_is_made_once() {
        let recorder = Recorder::answering(
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow"}"#,
        );
        let answer = table(&recorder).send(&[put([("id", text("a"))])]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault)) if !fault.is_ambiguous()),
            "{answer:?}"
        );
        recorder.only_request();
    }

    #[tokio::test]
    async fn the_user_agent_names_the_crate() {
        let recorder = Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
        table(&recorder).send(&[put([("id", text("a"))])]).await;
        let agent = recorder.only_request().user_agent;
        let expected = concat!("lib/aws-batch-delivery/", env!("CARGO_PKG_VERSION"));
        assert!(agent.contains(expected), "{agent}");
    }

    #[tokio::test]
    async fn the_body_never_exceeds_its_limit() {
        let recorder = Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
        let entry = put([("id", text("a"))]);
        let bytes = body::envelope("orders") + body::request(&entry) + body::ASKING;
        let limits = |bytes| Limits::new(25, bytes).with_entry_bytes(MAX_ITEM_BYTES);
        let exact = table(&recorder).with_limits(limits(bytes));
        assert_eq!(exact.check(&entry), Ok(BatchTarget::limits(&exact).bytes));
        exact.send_metered(std::slice::from_ref(&entry)).await;
        let body = recorder.only_request().body;
        assert_eq!(body.len(), bytes);
        assert!(body.contains("ReturnConsumedCapacity"));
        let short = table(&recorder).with_limits(limits(bytes - 1));
        assert!(matches!(
            short.check(&entry),
            Err(InvalidEntry::TooLarge { part: "request", .. })
        ));
    }

    #[test]
    fn debug_shows_neither_the_client_nor_its_credentials() {
        let shown = format!("{:?}", table(&Recorder::answering(200, "{}")));
        assert!(shown.contains("orders") && !shown.contains("secret"), "{shown}");
    }
}
