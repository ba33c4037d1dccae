//! Messages to a queue.

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::sqs::MAX_MESSAGES;
use aws_sdk_sqs::Client;

use super::simulated::Simulated;
use super::{Job, Outcome};
use crate::arguments::{QueueFormat, ToQueue};
use crate::connect;
use crate::failure::Failure;
use crate::format::messages::Messages;

/// Sends the messages of the inputs.
pub(super) async fn run(arguments: ToQueue) -> Result<Outcome, Failure> {
    let (client, url, simulated) = if let Some(rate) = arguments.common.service.simulate {
        let (simulated, url) = Simulated::queue(&arguments.queue, rate);
        (simulated.simulator.sqs_client(), url, Some(simulated))
    } else {
        let config = connect::config(&arguments.common.service).await?;
        let client = Client::new(&config);
        let url = connect::queue_url(&client, &arguments.queue).await?;
        (client, url, None)
    };
    let job = Job {
        command: "send",
        largest_call: MAX_MESSAGES,
        delivery: Delivery::to_sqs(client, url),
        format: Box::new(Messages {
            is_json: arguments.format == QueueFormat::Json,
            keeps_text: arguments.common.keeping.dead_letter.is_some(),
        }),
        destination: arguments.queue,
        simulated,
        console: arguments.common.telling.console(),
    };
    job.run(&arguments.common).await
}
