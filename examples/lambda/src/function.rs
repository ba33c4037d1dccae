//! The handler of invocations.

use std::time::Duration;

use anyhow::Result;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use serde_json::Value;
use tokio::time::Instant;

use crate::batch::Batch;

/// The part of the invocation's time that is kept for calls in flight and the response.
const KEPT: Duration = Duration::from_millis(500);

/// What all invocations share: the table, and the options with the pace.
pub struct Function {
    table: Delivery<DynamoTable>,
    options: DeliveryOptions,
}

impl Function {
    /// Writes to this table. Clones of the options share a pace.
    pub fn new(table: Delivery<DynamoTable>, options: DeliveryOptions) -> Self {
        Self { table, options }
    }

    /// Writes the records of an event within the time that is left, and returns the partial batch response.
    ///
    /// # Errors
    /// When the event is not of one of the four sources, or a record has no identifier. Then nothing is written, and Lambda invokes
    /// the function again with all records.
    pub async fn handle(&self, event: Value, left: Duration) -> Result<Value> {
        let mut batch = Batch::read(event)?;
        let (places, writes): (Vec<usize>, Vec<_>) = batch.take_writes().into_iter().unzip();
        let deadline = Instant::now() + left.saturating_sub(KEPT);
        let options = self.options.clone().deadline(deadline).grace(KEPT / 2);
        if let Err(error) = self.table.clone().options(options).deliver(writes).await {
            eprintln!("{error}");
            for undelivered in error.into_undelivered() {
                let written = usize::try_from(undelivered.position)?;
                batch.failed[places[written]] = true;
            }
        }
        batch.response()
    }
}
