//! A queue of a test's own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};
use tokio::task::JoinSet;

use crate::emulators::{Emulators, unique};

/// Seconds until a message that was received and not deleted appears again: longer than any of these tests.
const VISIBILITY: u32 = 600;

/// Seconds without a message after which a queue counts as empty.
const SILENCE: i32 = 2;

/// Receivers at work together.
const RECEIVERS: usize = 4;

pub(crate) struct Queue {
    pub(crate) client: Client,
    pub(crate) url: String,
}

/// What a queue delivers of a message.
pub(crate) struct Received {
    /// None in a standard queue.
    pub(crate) group: Option<String>,
    pub(crate) body: String,
}

impl Queue {
    /// A new one. It is FIFO when the name ends in `.fifo`.
    pub(crate) async fn create(emulators: &Emulators, name: &str) -> Self {
        let client = emulators.sqs();
        let create = client
            .create_queue()
            .attributes(QueueAttributeName::VisibilityTimeout, VISIBILITY.to_string());
        let create = match name.strip_suffix(".fifo") {
            Some(name) => create
                .queue_name(unique(name) + ".fifo")
                .attributes(QueueAttributeName::FifoQueue, "true"),
            None => create.queue_name(unique(name)),
        };
        let url = create.send().await.unwrap().queue_url.unwrap();
        Self { client, url }
    }

    /// Waits for at most a minute until the queue holds this many messages, because a topic or a bus forwards them asynchronously.
    pub(crate) async fn wait_for(&self, messages: usize) {
        let arrived = async || {
            let count = QueueAttributeName::ApproximateNumberOfMessages;
            let call = self.client.get_queue_attributes().queue_url(&self.url);
            let output = call.attribute_names(count.clone()).send().await.unwrap();
            output.attributes.unwrap()[&count].parse::<usize>().unwrap()
        };
        for _ in 0..600 {
            if arrived().await >= messages {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Receives and deletes, until nothing comes any more. Messages of a group are in the order in which they came: the next
    /// ones appear only when these are deleted.
    pub(crate) async fn drain(&self) -> Vec<Received> {
        let received = Arc::new(Mutex::new(Vec::new()));
        let mut receivers = JoinSet::new();
        for _ in 0..RECEIVERS {
            let (client, url) = (self.client.clone(), self.url.clone());
            let received = Arc::clone(&received);
            receivers.spawn(async move {
                loop {
                    let messages = receive(&client, &url).await;
                    if messages.is_empty() {
                        break;
                    }
                    received.lock().unwrap().extend(messages.iter().map(read));
                    delete(&client, &url, &messages).await;
                }
            });
        }
        receivers.join_all().await;
        std::mem::take(&mut *received.lock().unwrap())
    }

    /// The bodies of everything that it holds, in order of their letters.
    pub(crate) async fn bodies(&self) -> Vec<String> {
        let mut bodies: Vec<String> = self.drain().await.into_iter().map(|message| message.body).collect();
        bodies.sort_unstable();
        bodies
    }

    pub(crate) async fn remove(self) {
        self.client.delete_queue().queue_url(self.url).send().await.unwrap();
    }
}

async fn receive(client: &Client, url: &str) -> Vec<Message> {
    let call = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(10)
        .wait_time_seconds(SILENCE)
        .message_system_attribute_names(MessageSystemAttributeName::MessageGroupId);
    call.send().await.unwrap().messages.unwrap_or_default()
}

fn read(message: &Message) -> Received {
    let attributes = message.attributes();
    Received {
        group: attributes.and_then(|all| all.get(&MessageSystemAttributeName::MessageGroupId).cloned()),
        body: message.body().unwrap().to_owned(),
    }
}

async fn delete(client: &Client, url: &str, messages: &[Message]) {
    let entry = |(place, message): (usize, &Message)| {
        let entry = DeleteMessageBatchRequestEntry::builder().id(place.to_string());
        entry
            .set_receipt_handle(message.receipt_handle.clone())
            .build()
            .unwrap()
    };
    let entries = messages.iter().enumerate().map(entry).collect();
    let call = client.delete_message_batch().queue_url(url).set_entries(Some(entries));
    assert!(call.send().await.unwrap().failed().is_empty());
}

pub(crate) fn message(body: impl Into<String>) -> SendMessageBatchRequestEntry {
    // The ids may repeat.
    let entry = SendMessageBatchRequestEntry::builder().id("message");
    entry.message_body(body).build().unwrap()
}

/// The body of the message with this number. In the order of the numbers.
pub(crate) fn numbered(number: usize) -> String {
    format!("message {number:06}, größer als „nichts“ 🚚")
}

pub(crate) fn messages(count: usize) -> Vec<SendMessageBatchRequestEntry> {
    (0..count).map(|number| message(numbered(number))).collect()
}
