//! The calls of the service.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemOutput;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableOutput;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::types::{ConsumedCapacity, KeysAndAttributes, ReturnConsumedCapacity, WriteRequest};
use tracing::field::{Empty, display};

use super::page::{PageRead, PageRequest};
use super::throttling;
use crate::aws::classify;
use crate::aws::renewal::Changes;
use crate::aws::request::{send, single_attempt};
use crate::aws::whole_body::WholeBody;
use crate::contract::Answer;

/// The span of a call, which has a place for the capacity that it consumes.
macro_rules! dynamo_span {
    ($operation:literal, $tables:expr $(, $($more:tt)*)?) => {
        $crate::aws::request::request_span!(
            "DynamoDB",
            $operation,
            db.system.name = "aws.dynamodb",
            db.operation.name = $operation,
            aws.dynamodb.table_names = $tables,
            aws.dynamodb.consumed_capacity = tracing::field::Empty,
            $($($more)*)?
        )
    };
}
pub(super) use dynamo_span;

/// Sends what a scan and a query have in common, and records the consumed capacity. The builders of the SDK share no trait.
macro_rules! page {
    ($calls:ident, $call:expr, $asked:ident, $read:ident, $span:ident) => {{
        let call = $call
            .table_name(&$asked.table)
            .set_index_name($asked.index.clone())
            .set_exclusive_start_key($read.after.clone())
            .set_limit($read.limit)
            .set_consistent_read($asked.is_consistent.then_some(true))
            .set_filter_expression($asked.filter.clone())
            .set_projection_expression($asked.projection.clone())
            .set_expression_attribute_names((!$asked.names.is_empty()).then(|| $asked.names.clone()))
            .set_expression_attribute_values((!$asked.values.is_empty()).then(|| $asked.values.clone()))
            .set_select($asked.select())
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = send!(aws_sdk_dynamodb, call, $calls.changes, $span).map_err(throttling::of_call)?;
        let units = output.consumed_capacity().and_then(ConsumedCapacity::capacity_units);
        $span.record("aws.dynamodb.consumed_capacity", units);
        Ok(output)
    }};
}

/// The client, and the changes to its configuration for each call.
#[derive(Clone)]
pub(super) struct DynamoCalls {
    pub(super) client: Client,
    pub(super) changes: Changes<Builder>,
}

impl DynamoCalls {
    pub(super) fn new(client: Client) -> Self {
        // The answer to a put that was accepted has no members.
        let changes = single_attempt!(aws_sdk_dynamodb, client, Some(WholeBody::Json));
        Self { client, changes }
    }

    /// Makes one call with the requests of each table, and may ask for the consumed capacity.
    pub(super) async fn write(
        &self,
        requests: HashMap<String, Vec<WriteRequest>>,
        metered: bool,
    ) -> Result<BatchWriteItemOutput, Answer> {
        let size = requests.values().map(Vec::len).sum::<usize>();
        let span = dynamo_span!("BatchWriteItem", Empty, db.operation.batch.size = size);
        if !span.is_disabled() {
            let mut tables: Vec<_> = requests.keys().map(|table| short_name(table)).collect();
            tables.sort_unstable();
            span.record("aws.dynamodb.table_names", display(tables.join(",")));
        }
        let call = self
            .client
            .batch_write_item()
            .set_request_items(Some(requests))
            .set_return_consumed_capacity(metered.then_some(ReturnConsumedCapacity::Total));
        let output = send!(aws_sdk_dynamodb, call, self.changes, span).map_err(throttling::of_call)?;
        span.record("aws.dynamodb.consumed_capacity", consumed(output.consumed_capacity()));
        Ok(output)
    }

    /// Makes one call that reads from a table, and asks for the consumed capacity.
    pub(super) async fn read(&self, table: &str, keys: KeysAndAttributes) -> Result<BatchGetItemOutput, Answer> {
        let (table_name, size) = (short_name(table), keys.keys().len());
        let span = dynamo_span!("BatchGetItem", table_name, db.operation.batch.size = size);
        let call = self
            .client
            .batch_get_item()
            .request_items(table, keys)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = send!(aws_sdk_dynamodb, call, self.changes, span).map_err(throttling::of_call)?;
        span.record("aws.dynamodb.consumed_capacity", consumed(output.consumed_capacity()));
        Ok(output)
    }

    /// Makes one call that reads a page of a table, and asks for the consumed capacity.
    pub(super) async fn scan(&self, asked: &PageRequest, read: &PageRead) -> Result<ScanOutput, Answer> {
        let span = dynamo_span!(
            "Scan",
            short_name(&asked.table),
            aws.dynamodb.segment = read.segment,
            aws.dynamodb.total_segments = asked.segments,
        );
        let is_parallel = asked.segments > 1;
        let in_i32 = |number: u32| i32::try_from(number).ok().filter(|_| is_parallel);
        let call = self
            .client
            .scan()
            .set_segment(in_i32(read.segment))
            .set_total_segments(in_i32(asked.segments));
        page!(self, call, asked, read, span)
    }

    /// Makes one call that reads a page of the items of one partition key, and asks for the consumed capacity.
    pub(super) async fn query(
        &self,
        asked: &PageRequest,
        key_condition: &str,
        read: &PageRead,
    ) -> Result<QueryOutput, Answer> {
        let span = dynamo_span!("Query", short_name(&asked.table));
        let call = self.client.query().key_condition_expression(key_condition);
        page!(self, call, asked, read, span)
    }

    pub(super) async fn describe(&self, table: &str) -> Result<DescribeTableOutput, Answer> {
        let span = dynamo_span!("DescribeTable", short_name(table));
        let call = self.client.describe_table().table_name(table);
        send!(aws_sdk_dynamodb, call, self.changes, span).map_err(classify)
    }
}

/// Units that a call consumed in all its tables; `None` if the answer does not say.
pub(super) fn consumed(capacity: &[ConsumedCapacity]) -> Option<f64> {
    capacity
        .iter()
        .filter_map(ConsumedCapacity::capacity_units)
        .reduce(|sum, units| sum + units)
}

/// The name of a table for the log, without the account id of an ARN.
pub(super) fn short_name(table: &str) -> &str {
    let last = table.rsplit_once('/').filter(|_| table.starts_with("arn:"));
    last.map_or(table, |(_, name)| name)
}

/// The name of a table that may be given by its ARN, so that its writes keep their order with both spellings.
pub(super) fn table_name(table: &str) -> &str {
    match table.strip_prefix("arn:").and_then(|arn| arn.split_once(":table/")) {
        Some((_, name)) => name,
        None => table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::recording::Recorder;
    use crate::services::dynamo::testing::{client, put, text};

    async fn write(calls: &DynamoCalls, id: &str) -> bool {
        let requests = HashMap::from([("orders".to_owned(), vec![put([("id", text(id))])])]);
        calls.write(requests, false).await.is_ok()
    }

    #[tokio::test]
    async fn a_call_is_tried_once() {
        let recorder = Recorder::answering(
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#,
        );
        let calls = DynamoCalls::new(client(&recorder));
        for made in 1..=3 {
            assert!(!write(&calls, "a").await);
            assert_eq!(recorder.requests(), made);
        }
    }
}
