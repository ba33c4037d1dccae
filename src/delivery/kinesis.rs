//! Records to Kinesis.

use super::Delivery;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
use crate::targets::kinesis::KinesisStream;

impl Delivery<KinesisStream> {
    /// Delivers records to a Kinesis data stream, given by name or ARN.
    pub fn to_kinesis(client: aws_sdk_kinesis::Client, stream: impl Into<String>) -> Self {
        Self::new(KinesisStream::new(client, stream))
    }

    /// Records of one partition key arrive in the order of the input. See [`KinesisStream::ordered`].
    #[must_use]
    pub fn ordered(self) -> Self {
        self.with_target(KinesisStream::ordered)
    }
}

/// Delivers any number of records to a Kinesis data stream.
///
/// They are split by the limits of `PutRecords`, count and bytes; those that fail temporarily are sent again, together with
/// fresh ones, at the pace of the strategy in the options. A shard that is throttled far more often than the others gets a
/// pace of its own. No order is kept; [`Delivery::ordered`] keeps the order of each partition key.
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
pub async fn deliver_batch_to_kinesis<I>(
    client: &aws_sdk_kinesis::Client,
    stream: impl Into<String>,
    records: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_kinesis::types::PutRecordsRequestEntry>>
where
    I: IntoIterator<Item = aws_sdk_kinesis::types::PutRecordsRequestEntry>,
{
    Delivery::to_kinesis(client.clone(), stream)
        .options(options.clone())
        .deliver(records)
        .await
}
