//! The pages of one table or index, each of which is an entry: a call reads one page.

use std::borrow::Cow;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::types::{ConsumedCapacity, TableDescription};
use tracing::debug;

use super::calls::{DynamoCalls, short_name};
use super::page::{Page, PageRead, PageRequest};
use super::throughput;
use crate::contract::{Answer, BatchTarget, Fault, Limits, Lookup, LookupError, Rejection, Verdict, hash_of};
use crate::events::LOOKUP;
use crate::invalid::InvalidEntry;
use crate::services::debug::debug_by_name;

/// A table whose pages are read.
#[derive(Clone)]
pub(crate) struct Pages {
    calls: DynamoCalls,
    request: Arc<PageRequest>,
    description: Lookup<TableFigures>,
}

/// What the service reports about the table. Those of its items are up to six hours old.
#[derive(Debug, Clone, Copy)]
struct TableFigures {
    /// Read units a second.
    throughput: Option<f64>,
    /// Bytes of an item on average.
    item_bytes: Option<f64>,
}

impl Pages {
    pub(crate) fn new(client: Client, request: PageRequest) -> Self {
        Self {
            calls: DynamoCalls::new(client),
            request: Arc::new(request),
            description: Lookup::by("DescribeTable"),
        }
    }

    async fn describe(&self) -> Result<TableFigures, LookupError> {
        let output = self.calls.describe(&self.request.table).await?;
        let table = output.table();
        let index = self.request.index.as_deref();
        Ok(TableFigures {
            throughput: table.and_then(|table| throughput::of_reads(table, index)),
            item_bytes: table.and_then(|table| item_bytes(table, index)),
        })
    }

    /// Bytes of an item on average, as far as [`prepare`](BatchTarget::prepare) has found it out.
    pub(crate) fn item_bytes(&self) -> Option<f64> {
        self.description.get()?.item_bytes
    }
}

impl Pages {
    /// The operation that reads a page.
    pub(crate) fn operation(&self) -> &'static str {
        if self.request.key_condition.is_some() {
            "Query"
        } else {
            "Scan"
        }
    }
}

impl BatchTarget for Pages {
    type Entry = PageRead;

    fn name(&self) -> Cow<'_, str> {
        format!("dynamodb/{}", short_name(&self.request.table)).into()
    }

    fn limits(&self) -> Limits {
        Limits::new(1, 1)
    }

    fn check(&self, _: &PageRead) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn prepare(&self) {
        // A scan needs no description: it begins slower without one.
        if let Err(fault) = self.description.ask_once(|| self.describe()).await {
            let (destination, code) = (self.name(), fault.code().to_owned());
            debug!(target: LOOKUP, %destination, code, "the read throughput of the table is not known");
        }
    }

    fn throughput(&self) -> Option<f64> {
        self.description.get()?.throughput
    }

    fn units(&self, read: &PageRead) -> usize {
        read.units
    }

    /// A segment is a range of the partitions: one whose partition has no capacity left does not slow the others down.
    fn partition_key(&self, read: &PageRead) -> Option<u64> {
        (self.request.segments > 1).then(|| hash_of(&(&self.request.table, read.segment)))
    }

    async fn send(&self, chunk: &[PageRead]) -> Answer {
        self.send_metered(chunk).await.0
    }

    async fn send_metered(&self, chunk: &[PageRead]) -> (Answer, Option<f64>) {
        let [read] = chunk else {
            let fault = Fault::new("a call reads one page");
            return (Answer::Whole(Verdict::Refused(fault)), None);
        };
        match self.page(read).await {
            Ok(output) if is_answer(&output, self.request.is_count) => {
                let page = page(output);
                let units = page.units;
                read.put_page(page);
                (Answer::Whole(Verdict::Accepted), units)
            }
            Ok(_) => {
                let fault = Fault::new("an answer without items");
                (Answer::Whole(Verdict::Rejected(Rejection::Unanswered, fault)), None)
            }
            Err(answer) => (final_answer(answer), None),
        }
    }
}

impl Pages {
    async fn page(&self, read: &PageRead) -> Result<ScanOutput, Answer> {
        let request = &self.request;
        match &request.key_condition {
            None => self.calls.scan(request, read).await,
            Some(condition) => self.calls.query(request, condition, read).await.map(alike),
        }
    }
}

/// What a query returns is what a scan returns.
fn alike(output: QueryOutput) -> ScanOutput {
    ScanOutput::builder()
        .set_items(output.items)
        .count(output.count)
        .scanned_count(output.scanned_count)
        .set_last_evaluated_key(output.last_evaluated_key)
        .set_consumed_capacity(output.consumed_capacity)
        .build()
}

#[expect(clippy::cast_precision_loss, reason = "an average")]
fn item_bytes(table: &TableDescription, index: Option<&str>) -> Option<f64> {
    let (items, bytes) = match throughput::global(table, index) {
        None => (table.item_count(), table.table_size_bytes()),
        Some(index) => (index.item_count(), index.index_size_bytes()),
    };
    let items = items.filter(|items| *items > 0)?;
    let bytes = bytes.filter(|bytes| *bytes > 0)?;
    Some(bytes as f64 / items as f64)
}

/// Later pages are read from the same table with the same permission, so there are no others to wait for or to compare with.
fn final_answer(answer: Answer) -> Answer {
    match answer {
        Answer::Disputed(fault) => Answer::Whole(Verdict::Refused(fault)),
        Answer::Stop(fault) if fault.code() == "ResourceNotFoundException" => Answer::Whole(Verdict::Refused(fault)),
        answer => answer,
    }
}

/// Whether the output is that of a scan or a query. An answer that lost its body looks like the end of the segment.
fn is_answer(output: &ScanOutput, is_count: bool) -> bool {
    output.items.is_some() || is_count && (output.scanned_count > 0 || output.consumed_capacity.is_some())
}

fn page(output: ScanOutput) -> Page {
    Page {
        count: u64::try_from(output.count).unwrap_or_default(),
        scanned: u64::try_from(output.scanned_count).unwrap_or_default(),
        units: output
            .consumed_capacity
            .as_ref()
            .and_then(ConsumedCapacity::capacity_units),
        items: output.items.unwrap_or_default(),
        last: output.last_evaluated_key.filter(|key| !key.is_empty()),
    }
}

debug_by_name!(Pages);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::testing::{client, text};
    use super::*;
    use crate::aws::recording::Recorder;

    fn request(is_count: bool) -> PageRequest {
        PageRequest {
            table: "orders".into(),
            index: None,
            key_condition: None,
            segments: 1,
            is_consistent: false,
            filter: None,
            projection: None,
            names: HashMap::new(),
            values: HashMap::new(),
            is_count,
        }
    }

    async fn read(body: &'static str, is_count: bool) -> (Answer, Option<Page>) {
        let recorder = Recorder::answering(200, body);
        let read = PageRead::new(0, None, None, 1);
        let answer = Pages::new(client(&recorder), request(is_count))
            .send(std::slice::from_ref(&read))
            .await;
        assert!(!recorder.only_request().body.contains("Segment"));
        (answer, read.take_page())
    }

    fn is_accepted(answer: &Answer) -> bool {
        matches!(answer, Answer::Whole(Verdict::Accepted))
    }

    #[tokio::test]
    async fn an_answer_without_a_body_is_not_the_end_of_a_segment() {
        for is_count in [false, true] {
            let (answer, page) = read("{}", is_count).await;
            assert!(!is_accepted(&answer) && page.is_none(), "{answer:?}");
        }
    }

    #[tokio::test]
    async fn a_segment_without_items_has_ended() {
        let (answer, page) = read(r#"{"Items":[],"Count":0,"ScannedCount":0}"#, false).await;
        assert!(is_accepted(&answer) && page.unwrap().last.is_none());
        let counted = r#"{"Count":0,"ScannedCount":0,"ConsumedCapacity":{"TableName":"orders","CapacityUnits":0.5}}"#;
        let (answer, page) = read(counted, true).await;
        assert!(is_accepted(&answer));
        assert_eq!(page.unwrap().units, Some(0.5));
    }

    #[tokio::test]
    async fn an_empty_key_to_go_on_from_is_the_end_as_well() {
        let (_, page) = read(
            r#"{"Items":[],"Count":0,"ScannedCount":9,"LastEvaluatedKey":{}}"#,
            false,
        )
        .await;
        assert!(page.unwrap().last.is_none());
    }

    #[tokio::test]
    async fn a_page_without_items_is_no_end() {
        let body = r#"{"Items":[],"Count":0,"ScannedCount":9,"LastEvaluatedKey":{"id":{"S":"a"}}}"#;
        let (_, page) = read(body, false).await;
        let page = page.unwrap();
        assert!(page.last.is_some());
        assert_eq!((page.count, page.scanned), (0, 9));
    }

    #[tokio::test]
    async fn a_page_of_one_partition_key_is_queried_in_the_index() {
        let recorder = Recorder::answering(200, r#"{"Items":[],"Count":0,"ScannedCount":0}"#);
        let request = PageRequest {
            index: Some("by_customer".into()),
            key_condition: Some("customer = :c".into()),
            ..request(false)
        };
        let after = HashMap::from([("id".to_owned(), text("a")), ("customer".to_owned(), text("b"))]);
        let read = PageRead::new(0, Some(after), Some(7), 1);
        let answer = Pages::new(client(&recorder), request).send(&[read]).await;
        assert!(is_accepted(&answer), "{answer:?}");
        let sent = recorder.only_request();
        assert!(sent.operation.ends_with("Query"), "{}", sent.operation);
        for member in [
            r#""IndexName":"by_customer""#,
            r#""KeyConditionExpression":"customer = :c""#,
            r#""Limit":7"#,
            r#""customer":{"S":"b"}"#,
        ] {
            assert!(sent.body.contains(member), "{}", sent.body);
        }
    }
}
