//! Handles the messages of a queue, ten at a time, and what becomes of those whose handler fails: they come again after a delay that grows,
//! and become dead letters after five receives.
//!
//! The queue is simulated and has 1,000 messages. One in ten fails at its first attempt, and one in a hundred always. Press Ctrl-C to see that
//! the handlers in progress end, and that everything else is visible again.
//!
//! ```text
//! cargo run --example consume_queue
//! ```

use std::time::Duration;

use anyhow::{Result, ensure};
use aws_batch_delivery::sources::{Receive, Received, SourceError};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{QueueOptions, Simulator};
use futures::TryStreamExt;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Handlers at once.
const AT_ONCE: usize = 10;

#[tokio::main]
async fn main() -> Result<()> {
    let cancellation = CancellationToken::new();
    let on_ctrl_c = cancellation.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            on_ctrl_c.cancel();
        }
    });
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let simulator = Simulator::new(1);
    let dead_letters = simulator.queue("dead-orders", QueueOptions::default());
    let options = QueueOptions::default()
        .dead_letter_queue("dead-orders")
        .maximum_receives(5);
    let queue = simulator.queue("orders", options);
    let orders = (0..1_000).map(|number| format!("{number}"));
    Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .texts()
        .deliver(orders)
        .await?;

    let messages = Receive::new(simulator.sqs_client(), queue.url())
        .options(DeliveryOptions::default().cancellation(cancellation))
        // A service that runs for ever needs no end.
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let progress = messages.progress();
    let consumed = messages.try_for_each_concurrent(AT_ONCE, consume).await;
    // Until then a message that was settled may not be deleted.
    let figures = progress.finished().await;
    println!("{figures:?}; {} dead letters", dead_letters.len());
    Ok(consumed?)
}

/// An error of the stream ends the program, one of the handler does not.
async fn consume(received: Received) -> Result<(), SourceError> {
    match handle(&received).await {
        Ok(()) => received.ticket.settle(),
        Err(error) => {
            // 2 s, 4 s, 8 s, 16 s. A ticket that is dropped makes its message visible at once, and five receives are soon used up.
            let delay = Duration::from_secs(1 << received.receive_count().min(9));
            eprintln!("{error}; again in {delay:?}");
            received.ticket.release_after(delay);
        }
    }
    Ok(())
}

async fn handle(received: &Received) -> Result<()> {
    sleep(Duration::from_millis(10)).await;
    let number: u32 = received.message.body().unwrap_or_default().parse()?;
    let fails = number % 100 == 50 || number.is_multiple_of(10) && received.receive_count() == 1;
    ensure!(!fails, "order {number} cannot be handled");
    Ok(())
}
