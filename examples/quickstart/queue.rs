//! The second part: messages into a queue that rejects some.

use aws_batch_delivery::deliver_batch_to_sqs;
use aws_batch_delivery::targets::sqs::MAX_MESSAGES;
use aws_batch_simulator::{Faults, InjectedFault, QueueOptions, Simulator};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::load::{Plan, share};
use crate::{Failure, report};

/// Sends messages to a queue that rejects some of them, for the reasons that SQS has.
pub(crate) async fn fill(simulator: &Simulator, count: usize, workers: usize) -> Result<(), Failure> {
    let queue = simulator.queue("orders", QueueOptions::default());
    queue.set_faults(
        Faults::none()
            .failed(0.02, "InternalError", false)
            .calls(0.01, InjectedFault::Throttle)
            .calls(0.005, InjectedFault::internal_error(false)),
    );
    let client = simulator.sqs_client();
    let plan = Plan {
        total: count,
        chunk: MAX_MESSAGES,
        workers,
    };
    report::title("messages into a queue that rejects some now and then", &plan)?;
    let loaded = share(messages(count)?, plan, |batch, options| {
        let (client, url) = (client.clone(), queue.url().clone());
        async move { deliver_batch_to_sqs(&client, url, batch, &options).await }
    })
    .await?;
    report::figures(&loaded, &plan, None)?;
    report::failure(&loaded, &plan, "messages", |number| format!("message {number}"))?;

    let mut found: Vec<String> = queue.messages().into_iter().map(|message| message.body).collect();
    found.sort();
    let mut expected: Vec<String> = (0..count).map(body).collect();
    expected.sort();
    if found != expected {
        return Err("what is in the queue is not what was sent".into());
    }
    report::line("in the queue", &format!("{} messages, each once", found.len()))?;
    Ok(())
}

fn messages(count: usize) -> Result<Vec<SendMessageBatchRequestEntry>, Failure> {
    let message = |number: usize| {
        let message = SendMessageBatchRequestEntry::builder().id(number.to_string());
        Ok(message.message_body(body(number)).build()?)
    };
    (0..count).map(message).collect()
}

fn body(number: usize) -> String {
    format!("order {number}")
}
