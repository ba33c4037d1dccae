//! The partial batch response.

use anyhow::Result;
use aws_lambda_events::event::sqs::SqsBatchResponse;
use aws_lambda_events::event::streams::KinesisEventResponse;
use serde_json::Value;

use crate::batch::{Batch, Source};

impl Batch {
    /// What Lambda sends again: of a queue each failed message, of a FIFO queue also what is behind it in its group, of a stream
    /// everything from the first failed record on.
    pub(crate) fn response(&self) -> Result<Value> {
        let again = self.failed_or_behind();
        let again = self.identifiers().zip(again).filter(|(_, comes_again)| *comes_again);
        let mut identifiers = again.map(|(identifier, _)| identifier);
        let response = match self.source {
            Source::Queue | Source::FifoQueue => {
                let mut response = SqsBatchResponse::default();
                response.set_failures(identifiers);
                serde_json::to_value(response)?
            }
            // The response of DynamoDB's streams is the same. Records are in the order of their sequence numbers.
            Source::Stream => {
                let mut response = KinesisEventResponse::default();
                response.set_failures(identifiers.next());
                serde_json::to_value(response)?
            }
        };
        Ok(response)
    }
}
