//! Records to Firehose.

use super::Delivery;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
use crate::targets::firehose::FirehoseStream;

impl Delivery<FirehoseStream> {
    /// Delivers records to a Firehose delivery stream, given by its name.
    pub fn to_firehose(client: aws_sdk_firehose::Client, stream: impl Into<String>) -> Self {
        Self::new(FirehoseStream::new(client, stream))
    }
}

/// Delivers any number of records to a Firehose delivery stream.
///
/// They are split by the limits of `PutRecordBatch`, count and bytes; those that fail temporarily are sent again, together
/// with fresh ones, at the pace of the strategy in the options.
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
pub async fn deliver_batch_to_firehose<I>(
    client: &aws_sdk_firehose::Client,
    stream: impl Into<String>,
    records: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_firehose::types::Record>>
where
    I: IntoIterator<Item = aws_sdk_firehose::types::Record>,
{
    Delivery::to_firehose(client.clone(), stream)
        .options(options.clone())
        .deliver(records)
        .await
}
