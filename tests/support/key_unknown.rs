//! A table whose key is not known, so that only the service finds writes of one key.

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::{Answer, BatchTarget, Lane, Limits};
use aws_sdk_dynamodb::types::WriteRequest;

/// Writes to a table without looking up its key.
pub(crate) struct KeyUnknown(pub(crate) DynamoTable);

impl BatchTarget for KeyUnknown {
    type Entry = WriteRequest;

    fn limits(&self) -> Limits {
        BatchTarget::limits(&self.0)
    }

    fn check(&self, entry: &WriteRequest) -> Result<usize, InvalidEntry> {
        self.0.check(entry)
    }

    fn lane(&self, entry: &WriteRequest) -> Option<Lane> {
        self.0.lane(entry)
    }

    async fn send(&self, chunk: &[WriteRequest]) -> Answer {
        self.0.send(chunk).await
    }
}
