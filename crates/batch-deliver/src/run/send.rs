//! Messages to a queue.

use std::sync::Arc;

use aws_batch_delivery::targets::sqs::{SqsQueue, message_size};
use aws_batch_simulator::Simulator;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::dry_run::Measured;
use super::simulated::Simulated;
use super::{Job, name};
use crate::arguments::{QueueFormat, ToQueue};
use crate::connect;
use crate::format::{Groups, InGroups, Messages};
use crate::outcome::{Failure, Outcome};

/// Bytes that SQS bills as one request. From its pricing page.
const REQUEST: usize = 64 << 10;

/// Sends the messages of the inputs.
pub(super) async fn run(arguments: ToQueue) -> Result<Outcome, Failure> {
    job(&arguments).await?.run(&arguments.common).await
}

/// The job of a delivery to a queue.
pub(crate) async fn job(arguments: &ToQueue) -> Result<Job<SqsQueue>, Failure> {
    let queue = &arguments.queue;
    let fifo = queue.is_fifo().then_some("queue");
    let groups = Groups::new(arguments.group_id.as_ref(), fifo, arguments.format)?;
    let service = arguments.common.service.within(queue.region.as_deref(), "the queue")?;
    let (client, url, mut settings, simulated) = if let Some(rate) = service.simulate {
        let (simulated, url) = Simulated::queue(&queue.name, rate);
        let settings = vec![("--simulate", rate.to_string())];
        (
            simulated.simulator.sqs_client(),
            url,
            settings,
            Some(Arc::new(simulated)),
        )
    } else if arguments.common.dry_run {
        // A dry run makes no call, so it needs neither an account nor a region.
        (Simulator::new(1).sqs_client(), queue.name.clone(), Vec::new(), None)
    } else {
        let config = connect::config(&service).await?;
        let client = Client::new(&config);
        let url = connect::queue_url(&client, queue).await?;
        (client, url, connect::settings(&config), None)
    };
    settings.push(("--format", name(&arguments.format)));
    settings.extend(arguments.group_id.clone().map(|group| ("--group-id", group)));
    Ok(Job {
        command: "send",
        target: SqsQueue::new(client, url),
        measure,
        unit: "requests' worth of 64 KiB",
        format: Arc::new(InGroups {
            messages: Messages {
                is_json: arguments.format == QueueFormat::Json,
                keeps_text: arguments.common.keeping.dead_letter.is_some(),
            },
            groups,
        }),
        destination: queue.to_string(),
        settings,
        simulated,
        order: arguments.common.order,
        asks: false,
        console: arguments.common.telling.console(),
    })
}

fn measure(message: &SendMessageBatchRequestEntry) -> Measured {
    let bytes = message_size(message);
    let units = bytes.div_ceil(REQUEST).max(1);
    Measured { bytes, units }
}
