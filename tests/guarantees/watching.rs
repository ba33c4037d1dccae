//! An interceptor of the client, such as those of mocks, sees every entry.

use std::sync::{Arc, Mutex};

use aws_batch_delivery::{Delivery, deliver_batch_to_sqs};
use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemInput;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchInput;

use crate::guarantees::entries::{messages, no_delay, puts, with_queue, with_table};

/// Counts the entries of each call that it sees.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watcher(Arc<Mutex<Vec<usize>>>);

impl Watcher {
    /// How many entries each call had.
    pub(crate) fn calls(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

impl Intercept for Watcher {
    fn name(&self) -> &'static str {
        "Watcher"
    }

    fn read_before_serialization(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let input = context.input();
        let writes = input.downcast_ref::<BatchWriteItemInput>().map(|input| {
            let tables = input.request_items().into_iter().flatten();
            tables.map(|(_, requests)| requests.len()).sum()
        });
        let sent = input
            .downcast_ref::<SendMessageBatchInput>()
            .map(|input| input.entries().len());
        self.0.lock().unwrap().extend(writes.or(sent));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_interceptor_sees_the_writes_of_every_call() {
    let (simulator, table) = with_table();
    let watcher = Watcher::default();
    let config = simulator
        .dynamo_client()
        .config()
        .to_builder()
        .interceptor(watcher.clone());
    let client = aws_sdk_dynamodb::Client::from_conf(config.build());
    let delivery = Delivery::to_dynamo(client, "orders")
        .map_target(|table| table.key("id"))
        .options(no_delay().concurrency(1));
    let report = delivery.deliver(puts(60)).await.unwrap();
    assert_eq!((report.delivered, table.len()), (60, 60));
    assert_eq!(watcher.calls(), [25, 25, 10]);
}

#[tokio::test(start_paused = true)]
async fn an_interceptor_sees_the_messages_of_every_call() {
    let (simulator, queue) = with_queue("orders");
    let watcher = Watcher::default();
    let config = simulator
        .sqs_client()
        .config()
        .to_builder()
        .interceptor(watcher.clone());
    let client = aws_sdk_sqs::Client::from_conf(config.build());
    let options = no_delay().concurrency(1);
    let report = deliver_batch_to_sqs(&client, queue.url(), messages(25), &options)
        .await
        .unwrap();
    assert_eq!((report.delivered, queue.len()), (25, 25));
    assert_eq!(watcher.calls(), [10, 10, 5]);
}
