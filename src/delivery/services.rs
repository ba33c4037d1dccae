//! Where a delivery goes: constructors for DynamoDB, SQS and Kinesis, and the two functions for a single batch. Those of the other services
//! are `Delivery::new` and that of their target.

#[cfg(feature = "dynamodb")]
use std::sync::Arc;

use super::Delivery;
#[cfg(feature = "s3")]
use super::Values;
#[cfg(any(feature = "dynamodb", feature = "sqs"))]
use crate::options::DeliveryOptions;
#[cfg(any(feature = "dynamodb", feature = "sqs"))]
use crate::report::{DeliveryError, Report};
#[cfg(feature = "dynamodb")]
use crate::services::dynamo::{DynamoReads, DynamoTable, DynamoTables, DynamoTransactions, DynamoWrites};
#[cfg(feature = "kinesis")]
use crate::services::kinesis::KinesisStream;
#[cfg(feature = "s3")]
use crate::services::s3::S3Deletions;
#[cfg(feature = "sqs")]
use crate::services::sqs::{SqsDeletions, SqsQueue, SqsVisibility};

#[cfg(feature = "dynamodb")]
impl Delivery<DynamoTable> {
    /// Delivers puts and deletes to a DynamoDB table, given by name or ARN.
    pub fn to_dynamo(client: aws_sdk_dynamodb::Client, table: impl Into<String>) -> Self {
        Self::new(DynamoTable::new(client, table))
    }

    /// Delivers [`ItemWrite`](crate::targets::dynamo::ItemWrite)s instead: puts, updates and deletions with conditions, each in a call
    /// of its own. Handlers that were set before do not apply.
    ///
    /// [`DynamoWrites`] describes what a lost answer means for each kind of write, and the [guide](crate::guide#writes-with-conditions)
    /// what each costs.
    ///
    /// ```no_run
    /// # use std::collections::HashMap;
    /// # use aws_batch_delivery::{Delivery, targets::dynamo::ItemWrite};
    /// # use aws_sdk_dynamodb::types::AttributeValue;
    /// # async fn example(client: aws_sdk_dynamodb::Client, orders: Vec<HashMap<String, AttributeValue>>)
    /// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let if_absent = |order| ItemWrite::put(order).condition("attribute_not_exists(id)");
    /// let delivery = Delivery::to_dynamo(client, "orders").item_writes();
    /// let report = delivery.deliver(orders.into_iter().map(if_absent)).await?;
    /// println!("{} new, {} known", report.delivered, report.condition_failed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn item_writes(self) -> Delivery<DynamoWrites> {
        let target = Arc::unwrap_or_clone(self.run.target);
        Delivery::of(Arc::new(target.into()), (), self.run.options)
    }
}

#[cfg(feature = "dynamodb")]
impl Delivery<DynamoTransactions> {
    /// Delivers [`Transaction`](crate::targets::dynamo::Transaction)s: up to 100 writes to any tables, which are applied together or not
    /// at all.
    pub fn to_dynamo_transactions(client: aws_sdk_dynamodb::Client) -> Self {
        Self::new(DynamoTransactions::new(client))
    }
}

#[cfg(feature = "dynamodb")]
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

#[cfg(feature = "dynamodb")]
impl Delivery<DynamoReads> {
    /// Reads items from a DynamoDB table, given by name or ARN, by their primary keys.
    pub fn reads_from_dynamo(client: aws_sdk_dynamodb::Client, table: impl Into<String>) -> Self {
        Self::new(DynamoReads::new(client, table))
    }
}

#[cfg(feature = "sqs")]
impl Delivery<SqsQueue> {
    /// Delivers messages to an SQS queue, given by its URL.
    pub fn to_sqs(client: aws_sdk_sqs::Client, queue_url: impl Into<String>) -> Self {
        Self::new(SqsQueue::new(client, queue_url))
    }
}

#[cfg(feature = "sqs")]
impl Delivery<SqsDeletions> {
    /// Deletes received messages from an SQS queue, given by its URL. The entries are receipt handles.
    pub fn deletes_from_sqs(client: aws_sdk_sqs::Client, queue_url: impl Into<String>) -> Self {
        Self::new(SqsDeletions::new(client, queue_url))
    }
}

#[cfg(feature = "sqs")]
impl Delivery<SqsVisibility> {
    /// Changes the visibility timeouts of received messages of an SQS queue, given by its URL.
    pub fn visibility_changes_in_sqs(client: aws_sdk_sqs::Client, queue_url: impl Into<String>) -> Self {
        Self::new(SqsVisibility::new(client, queue_url))
    }
}

#[cfg(feature = "kinesis")]
impl Delivery<KinesisStream> {
    /// Delivers records to a Kinesis data stream, given by name or ARN.
    pub fn to_kinesis(client: aws_sdk_kinesis::Client, stream: impl Into<String>) -> Self {
        Self::new(KinesisStream::new(client, stream))
    }
}

#[cfg(feature = "s3")]
impl Delivery<S3Deletions> {
    /// Deletes objects by their keys. In a bucket with versions that adds a delete marker, and removes no version.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::{Delivery, targets::s3::S3Deletions};
    /// # async fn example(client: aws_sdk_s3::Client, keys: Vec<String>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let report = Delivery::new(S3Deletions::new(client, "logs")).keys().deliver(keys).await?;
    /// println!("{} objects are deleted", report.delivered);
    /// # Ok(())
    /// # }
    /// ```
    pub fn keys<K: AsRef<str> + Send + Sync + 'static>(self) -> Delivery<S3Deletions, Values<K>> {
        self.try_map_entries(|key: &K| {
            let object = aws_sdk_s3::types::ObjectIdentifier::builder();
            object.key(key.as_ref()).build()
        })
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
#[cfg(feature = "dynamodb")]
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

/// Delivers any number of messages to an SQS queue.
///
/// They are split by the limits of `SendMessageBatch`, count and bytes; those that fail temporarily are sent again,
/// together with fresh ones, at the pace of the strategy in the options. The ids of the entries need not be distinct.
/// Messages of one group of a FIFO queue arrive in the given order, with the limits described at [`SqsQueue`].
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
#[cfg(feature = "sqs")]
pub async fn deliver_batch_to_sqs<I>(
    client: &aws_sdk_sqs::Client,
    queue_url: impl Into<String>,
    entries: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_sqs::types::SendMessageBatchRequestEntry>>
where
    I: IntoIterator<Item = aws_sdk_sqs::types::SendMessageBatchRequestEntry>,
{
    Delivery::to_sqs(client.clone(), queue_url)
        .options(options.clone())
        .deliver(entries)
        .await
}
