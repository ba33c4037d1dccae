//! A custom target: deletes received messages from an SQS queue with `DeleteMessageBatch`.
//!
//! A target needs three methods: the limits of a call, a check of one entry, and one call. The delivery does everything
//! else: splitting, pace, retries. This one uses an AWS SDK, so [`classify`] can interpret its errors. It gets the queue's
//! name, and looks up its URL before the first call.
//!
//! ```text
//! cargo run --bin own_target
//! cargo test --bin own_target
//! ```

use anyhow::Result;
use aws_batch_delivery::targets::{
    Answer, BatchTarget, Fault, Limits, Lookup, LookupError, Rejection, Transmission, Verdict, classify, classify_entry,
};
use aws_batch_delivery::{Delivery, InvalidEntry};
use aws_batch_simulator::{QueueOptions, Simulator};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{Builder, Config};
use aws_sdk_sqs::operation::delete_message_batch::DeleteMessageBatchOutput;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;

/// A queue from which messages are deleted by their receipt handles.
struct Deletions {
    client: Client,
    /// The changes to the client's configuration for each call: the delivery retries, not the SDK.
    once: Builder,
    queue: String,
    url: Lookup<String>,
}

impl Deletions {
    fn new(client: Client, queue: impl Into<String>) -> Self {
        Self {
            client,
            once: Config::builder()
                .retry_config(RetryConfig::disabled())
                .interceptor(Transmission::default()),
            queue: queue.into(),
            url: Lookup::default(),
        }
    }

    async fn look_up(&self) -> Result<String, LookupError> {
        let call = self.client.get_queue_url().queue_name(&self.queue).customize();
        let output = call.config_override(self.once.clone()).send().await.map_err(classify)?;
        let url = output.queue_url.ok_or_else(|| Fault::new("no URL in the answer"));
        url.map_err(LookupError::NotNow)
    }
}

impl BatchTarget for Deletions {
    type Entry = String;

    /// Limits of `DeleteMessageBatch`: 10 entries, and 1 MiB as for any request to SQS.
    fn limits(&self) -> Limits {
        Limits::new(10, 1 << 20)
    }

    fn check(&self, handle: &String) -> Result<usize, InvalidEntry> {
        if handle.is_empty() {
            return Err(InvalidEntry::Missing { part: "receipt handle" });
        }
        Ok(handle.len())
    }

    async fn send(&self, handles: &[String]) -> Answer {
        let Some(url) = self.url.get() else {
            return Answer::Stop(Fault::new("the queue is not known"));
        };
        let entries = handles.iter().enumerate().map(|(place, handle)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(place.to_string());
            entry.receipt_handle(handle).build()
        });
        let Ok(entries) = entries.collect() else {
            return Answer::Stop(Fault::new("request not built"));
        };
        let call = self
            .client
            .delete_message_batch()
            .queue_url(&*url)
            .set_entries(Some(entries));
        match call.customize().config_override(self.once.clone()).send().await {
            Ok(output) => Answer::Each((0..handles.len()).map(|place| verdict(&output, place)).collect()),
            Err(error) => classify(error),
        }
    }

    // These two are optional: they look up the URL, and report why that takes long.

    async fn prepare(&self) {
        // A failure shows in the answer to the first call.
        let _ = self.url.ask(|| self.look_up()).await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.url.missing()
    }
}

/// The verdict on the entry at a place of the chunk.
fn verdict(output: &DeleteMessageBatchOutput, place: usize) -> Verdict {
    let id = place.to_string();
    if output.successful().iter().any(|successful| successful.id() == id) {
        return Verdict::Accepted;
    }
    match output.failed().iter().find(|failed| failed.id() == id) {
        Some(failed) => classify_entry(failed.code(), failed.sender_fault(), failed.message()),
        None => Verdict::Rejected(Rejection::Unanswered, Fault::new("no answer")),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let mut handles = send_and_receive(&simulator.sqs_client(), &queue.url()).await?;
    handles.push("no such handle".into());

    let deletions = Delivery::new(Deletions::new(simulator.sqs_client(), "orders"));
    if let Err(error) = deletions.deliver(handles).await {
        println!("{}", error.report);
        for undelivered in error.undelivered() {
            println!("handle {}: {}", undelivered.position, undelivered.cause);
        }
    }
    println!("{} messages in the queue", queue.len());
    Ok(())
}

async fn send_and_receive(client: &Client, url: &str) -> Result<Vec<String>> {
    let messages = (0..1_000).map(|number| format!("order {number}"));
    Delivery::to_sqs(client.clone(), url).texts().deliver(messages).await?;

    let mut handles = Vec::new();
    while handles.len() < 1_000 {
        let call = client.receive_message().queue_url(url).max_number_of_messages(10);
        let received = call.send().await?.messages.unwrap_or_default();
        handles.extend(received.into_iter().filter_map(|message| message.receipt_handle));
    }
    Ok(handles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn received_messages_are_deleted_and_what_is_no_handle_is_handed_back() {
        let simulator = Simulator::new(1);
        let queue = simulator.queue("orders", QueueOptions::default());
        let mut handles = send_and_receive(&simulator.sqs_client(), &queue.url()).await.unwrap();
        handles.insert(500, "no such handle".into());

        let deletions = Delivery::new(Deletions::new(simulator.sqs_client(), "orders"));
        let error = deletions.deliver(handles).await.unwrap_err();
        assert_eq!((error.report.delivered, error.undelivered()[0].position), (1_000, 500));
        assert!(queue.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_queue_every_handle_is_handed_back() {
        let deletions = Deletions::new(Simulator::new(1).sqs_client(), "orders");
        let error = Delivery::new(deletions)
            .deliver(vec!["handle".to_owned(); 100])
            .await
            .unwrap_err();
        assert_eq!(error.undelivered().len(), 100);
        assert_eq!(error.stopped().unwrap().code(), "the queue is not known");
    }
}
