//! Deliveries to a queue.

use std::time::Duration;

use anyhow::{Context, Result};
use aws_batch_delivery::Delivery;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use tokio::time::{Instant, sleep};

use super::tables::options;
use crate::figures::{Figures, Stored};
use crate::place::Place;
use crate::tell::tell;

/// Groups of the FIFO queue, in turn.
const GROUPS: u64 = 100;
/// A queue counts its messages approximately, and takes up to a minute.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) async fn run(place: &Place, is_fifo: bool, entries: u64) -> Result<Figures> {
    let name = if is_fifo { "fifo" } else { "standard" };
    let url = place.belongings.queue(name, is_fifo).await?;
    let delivery = Delivery::to_sqs(place.sqs.clone(), &url).options(options());
    let messages = (0..entries).map(|number| message(number, is_fifo));
    let report = match delivery.deliver(messages).await {
        Ok(report) => report,
        Err(error) => {
            tell!("{error}");
            anyhow::ensure!(error.report.delivered > 0, "nothing was delivered: {error}");
            error.report.clone()
        }
    };
    let counts = place.tally.take();
    let stored = count(&place.belongings.sqs, &url, entries).await?;
    Ok(Figures::of(entries, &report, counts, Stored::About(stored)))
}

fn message(number: u64, is_fifo: bool) -> SendMessageBatchRequestEntry {
    let mut message = SendMessageBatchRequestEntry::builder()
        // The library gives ids of its own.
        .id(number.to_string())
        .message_body(format!(
            "message {number} of a load, with some sixty bytes of text in all"
        ));
    if is_fifo {
        message = message
            .message_group_id((number % GROUPS).to_string())
            .message_deduplication_id(number.to_string());
    }
    #[expect(clippy::expect_used, reason = "both members are set")]
    message.build().expect("the message has an id and a body")
}

/// How many messages the queue says it has, as soon as these are all.
async fn count(client: &Client, url: &str, expected: u64) -> Result<u64> {
    let deadline = Instant::now() + PATIENCE;
    let name = QueueAttributeName::ApproximateNumberOfMessages;
    loop {
        let call = client
            .get_queue_attributes()
            .queue_url(url)
            .attribute_names(name.clone());
        let output = call.send().await.context("GetQueueAttributes")?;
        let shown = output.attributes.as_ref().and_then(|attributes| attributes.get(&name));
        let shown: u64 = shown
            .context("the queue does not say how many messages it has")?
            .parse()?;
        if shown >= expected || Instant::now() > deadline {
            return Ok(shown);
        }
        sleep(PAUSE).await;
    }
}
