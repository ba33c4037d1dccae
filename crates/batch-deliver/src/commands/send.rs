//! Sends messages to a queue.

use std::sync::Arc;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::deliver::deliver;
use crate::arguments::QueueArguments;
use crate::format::{Groups, Messages, TextFormat};
use crate::job::InputJob;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{self, Target};

/// Sends the messages of the inputs.
pub(super) async fn run(arguments: QueueArguments) -> Result<CommandOutcome, Failure> {
    Box::pin(deliver(job(&arguments).await?, &arguments.common)).await
}

/// The job of a delivery to a queue.
pub(super) async fn job(
    arguments: &QueueArguments,
) -> Result<InputJob<impl Target<Entry = SendMessageBatchRequestEntry> + use<>>, Failure> {
    let QueueArguments {
        queue,
        format,
        group_id,
        loose_order,
        common,
    } = arguments;
    let fifo = queue.is_fifo().then_some("queue");
    let groups = Groups::new(group_id.as_ref(), fifo, *format)?;
    let messages = Messages {
        is_json: *format == TextFormat::Json,
        keeps_text: common.keeps_text(),
        groups,
    };
    let queue = sink::queue(queue, *loose_order, &common.access()).await?;
    let mut settings = vec![("--format", format.name().to_owned())];
    settings.extend(group_id.clone().map(|group| ("--group-id", group)));
    Ok(common.input_job("send", Arc::new(messages), queue, settings, common.output.console()))
}
