//! Messages, a queue and a bucket that the tests share.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::sqs::{Offload, SqsQueue};
use aws_batch_simulator::{Bucket, Latency, Message, Queue, QueueOptions, Simulator};
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde_json::Value;

pub(crate) use crate::support::options::one_at_a_time;

/// The round trip of every call.
const ROUND_TRIP: Duration = Duration::from_millis(8);

/// Larger messages are offloaded in most of the tests.
pub(crate) const THRESHOLD: usize = 1_000;

pub(crate) struct Services {
    pub(crate) simulator: Simulator,
    pub(crate) queue: Queue,
    pub(crate) bucket: Bucket,
}

impl Services {
    pub(crate) fn new(queue: &str) -> Self {
        Self::with_options(queue, QueueOptions::default())
    }

    pub(crate) fn with_options(queue: &str, options: QueueOptions) -> Self {
        Self::seeded(42, queue, options)
    }

    pub(crate) fn seeded(seed: u64, queue: &str, options: QueueOptions) -> Self {
        let simulator = Simulator::new(seed);
        simulator.set_latency(Latency::fixed(ROUND_TRIP));
        let queue = simulator.queue(queue, options);
        let bucket = simulator.bucket("large");
        Self {
            simulator,
            queue,
            bucket,
        }
    }

    /// To the bucket, with a client without retries, so that every upload can be predicted.
    pub(crate) fn offload(&self) -> Offload {
        self.offload_to("large")
    }

    pub(crate) fn offload_to(&self, bucket: &str) -> Offload {
        let config = self.simulator.s3_client().config().to_builder();
        let config = config.retry_config(RetryConfig::disabled()).build();
        Offload::to_s3(aws_sdk_s3::Client::from_conf(config), bucket).threshold(THRESHOLD)
    }

    pub(crate) fn delivery(&self, offload: Offload) -> Delivery<SqsQueue> {
        Delivery::to_sqs(self.simulator.sqs_client(), self.queue.url())
            .map_target(|queue| queue.oversize(offload))
            .options(one_at_a_time())
    }

    /// The messages in the queue as a consumer reads them, with pointers resolved.
    pub(crate) fn received(&self) -> Vec<String> {
        let messages = self.queue.messages();
        messages.iter().map(|message| self.resolved(message)).collect()
    }

    fn resolved(&self, message: &Message) -> String {
        let Some(key) = key(message) else {
            return message.body.clone();
        };
        let object = self.bucket.objects().remove(&key).expect("the object is missing");
        let body = String::from_utf8(object).unwrap();
        let size = &message.attributes.as_ref().unwrap()["ExtendedPayloadSize"];
        assert_eq!(size["StringValue"], body.len().to_string());
        assert_eq!(size["DataType"], "Number");
        body
    }
}

/// The key of the object that a message points to.
pub(crate) fn key(message: &Message) -> Option<String> {
    message.attributes.as_ref()?.get("ExtendedPayloadSize")?;
    let pointer: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!(pointer[0], "software.amazon.payloadoffloading.PayloadS3Pointer");
    assert_eq!(pointer[1]["s3BucketName"], "large");
    Some(pointer[1]["s3Key"].as_str().unwrap().to_owned())
}

pub(crate) fn message(body: impl Into<String>) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder().id("the caller's own");
    entry.message_body(body).build().unwrap()
}

/// A distinct body that stays in the message.
pub(crate) fn small(number: usize) -> String {
    format!("{number:04}")
}

/// A distinct body that is offloaded.
pub(crate) fn large(number: usize) -> String {
    format!("{number:04} {}", "ü".repeat(THRESHOLD))
}

/// Messages of which every third one is large.
pub(crate) fn mixed(count: usize) -> Vec<SendMessageBatchRequestEntry> {
    (0..count).map(|number| message(mixed_body(number))).collect()
}

pub(crate) fn mixed_body(number: usize) -> String {
    if number.is_multiple_of(3) {
        large(number)
    } else {
        small(number)
    }
}
