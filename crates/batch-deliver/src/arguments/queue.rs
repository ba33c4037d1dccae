//! The arguments of the command for queues.

use clap::Args;

use super::common::Common;
use crate::format::TextFormat;
use crate::sink::QueueName;

#[derive(Debug, Args)]
pub(crate) struct ToQueue {
    /// The queue, by its URL, ARN or name
    #[arg(long, value_name = "URL")]
    pub(crate) queue: QueueName,
    #[arg(long, help = "Lines of text, or JSON with body, attributes, group_id, dedup_id, delay", value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
    #[arg(long, value_name = "ID", help = GROUP, value_parser = group)]
    pub(crate) group_id: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The most characters of a group. From the API reference of `SendMessage`.
const LONGEST_GROUP: usize = 128;

pub(super) const GROUP: &str = "The group of messages that have none, for FIFO queues and topics";

/// A group, as SQS and SNS accept it.
pub(super) fn group(text: &str) -> Result<String, String> {
    if (1..=LONGEST_GROUP).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "a group has 1 to {LONGEST_GROUP} letters, digits and punctuation characters of ASCII"
        ))
    }
}
