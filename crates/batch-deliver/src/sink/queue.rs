//! A queue of SQS.

use std::sync::Arc;

use aws_batch_delivery::targets::sqs::{SqsQueue, message_size};
use aws_batch_simulator::Simulator;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;

use super::destination::{Access, Destination, Measured, NOT_PERMITTED, not_looked_up, simulated_settings};
use super::queue_name::{Given, QueueName};
use super::simulated::Simulated;
use crate::connection::settings;
use crate::outcome::Failure;

/// Bytes that SQS bills as one request. From its pricing page.
const REQUEST: usize = 64 << 10;

/// The queue with this name.
pub(crate) async fn queue(queue: &QueueName, access: &Access) -> Result<Destination<SqsQueue>, Failure> {
    let connection = access.connection.within(queue.region.as_deref(), "the queue")?;
    let (client, url, settings, simulated) = if let Some(rate) = access.simulate {
        let (simulated, url) = Simulated::queue(&queue.name, rate);
        let client = simulated.simulator.sqs_client();
        (client, url, simulated_settings(rate), Some(Arc::new(simulated)))
    } else if access.is_dry_run {
        (Simulator::new(1).sqs_client(), queue.name.clone(), Vec::new(), None)
    } else {
        let config = connection.config().await?;
        let client = Client::new(&config);
        let url = url(&client, queue).await?;
        (client, url, settings(&config), None)
    };
    Ok(Destination {
        name: queue.to_string(),
        target: SqsQueue::new(client, url),
        measure: |message| Measured::in_units(message_size(message), REQUEST),
        unit: "requests' worth of 64 KiB",
        settings,
        simulated,
    })
}

/// The URL of a queue.
async fn url(client: &Client, queue: &QueueName) -> Result<String, Failure> {
    let ask = client.get_queue_url().queue_name(&queue.name);
    let ask = match &queue.given {
        Given::Url => return Ok(queue.to_string()),
        Given::Arn { account } => ask.queue_owner_aws_account_id(account),
        Given::Name => ask,
    };
    let error = match ask.send().await {
        Ok(answer) => return Ok(answer.queue_url().unwrap_or_default().to_owned()),
        Err(error) => error,
    };
    let code = error.code().unwrap_or_default();
    if code.ends_with("QueueDoesNotExist") || code.ends_with("NonExistentQueue") {
        return Err(Failure::WrongUse(format!(
            "there is no queue {queue} in this account and region: check --queue, --region and --profile"
        )));
    }
    if NOT_PERMITTED.contains(&code) {
        return Err(Failure::WrongUse(format!(
            "sqs:GetQueueUrl is not permitted for the queue {queue}: give --queue its URL"
        )));
    }
    Err(not_looked_up("the queue", &queue.to_string(), &error))
}
