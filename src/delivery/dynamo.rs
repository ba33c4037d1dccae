//! Writes to DynamoDB.

use super::Delivery;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
use crate::targets::dynamo::{DynamoTable, DynamoTables};

impl Delivery<DynamoTable> {
    /// Delivers puts and deletes to a DynamoDB table, given by name or ARN.
    pub fn to_dynamo(client: aws_sdk_dynamodb::Client, table: impl Into<String>) -> Self {
        Self::new(DynamoTable::new(client, table))
    }

    /// The table's key is this attribute; the table is not asked for it. See [`DynamoTable::key`].
    #[must_use]
    pub fn key(self, partition: impl Into<String>) -> Self {
        self.with_target(|table| table.key(partition))
    }

    /// The table's key are these two attributes; the table is not asked for them. See [`DynamoTable::key_with_sort`].
    #[must_use]
    pub fn key_with_sort(self, partition: impl Into<String>, sort: impl Into<String>) -> Self {
        self.with_target(|table| table.key_with_sort(partition, sort))
    }
}

impl Delivery<DynamoTables> {
    /// Delivers puts and deletes to several DynamoDB tables, given by name or ARN, in calls that mix them.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::{Delivery, targets::dynamo::TableWrite};
    /// # use aws_sdk_dynamodb::types::WriteRequest;
    /// # async fn example(client: aws_sdk_dynamodb::Client, order: WriteRequest, customer: WriteRequest)
    /// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let shop = Delivery::to_dynamo_tables(client, ["orders", "customers"]);
    /// let writes = [TableWrite::new("customers", customer), TableWrite::new("orders", order)];
    /// shop.deliver(writes).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_dynamo_tables<S>(client: aws_sdk_dynamodb::Client, tables: impl IntoIterator<Item = S>) -> Self
    where
        S: Into<String>,
    {
        Self::new(DynamoTables::new(client, tables))
    }
}

/// Delivers any number of puts and deletes to a DynamoDB table.
///
/// They are split by the limits of `BatchWriteItem`, count and bytes; unprocessed ones are sent again, together with fresh
/// ones, at the pace of the strategy in the options. Writes to one primary key arrive in the given order; for that, one
/// `DescribeTable` call gets the key of the table. A [`Delivery`] makes this call only once for all its batches, or not at
/// all if it is given the key.
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
pub async fn deliver_batch_to_dynamo<I>(
    client: &aws_sdk_dynamodb::Client,
    table: impl Into<String>,
    write_requests: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_dynamodb::types::WriteRequest>>
where
    I: IntoIterator<Item = aws_sdk_dynamodb::types::WriteRequest>,
{
    Delivery::to_dynamo(client.clone(), table)
        .options(options.clone())
        .deliver(write_requests)
        .await
}
