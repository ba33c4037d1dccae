//! The options of `move`, `redrive` and `drain`, which take messages out of a queue.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::common::{Output, Service};
use super::destinations::{GROUP, group};
use super::pace::PaceArguments;
use super::simulation::SimulatedContent;
use crate::connection::url;
use crate::sink::{MessageFilter, QueueName};

#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    /// The queue to take messages from, by its URL, ARN or name
    #[arg(long, value_name = "URL")]
    pub(crate) from: QueueName,
    /// The queue to send them to
    #[arg(long, value_name = "URL")]
    pub(crate) to: QueueName,
    #[command(flatten)]
    pub(crate) which: MessageArguments,
    #[command(flatten)]
    pub(crate) other_side: OtherSide,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) simulation: SimulatedContent,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct RedriveArguments {
    /// The dead-letter queue, by its URL, ARN or name
    #[arg(long, value_name = "URL")]
    pub(crate) queue: QueueName,
    /// The queue to send the messages to [default: the only queue whose dead letters it has]
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<QueueName>,
    #[command(flatten)]
    pub(crate) which: MessageArguments,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The file to append the messages to, or - for the standard output; what the reader of a pipe does not read is lost
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// The queue, by its URL, ARN or name
    #[arg(long, value_name = "URL")]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) which: MessageArguments,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) simulation: SimulatedContent,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which messages are taken.
#[derive(Debug, Args)]
pub(crate) struct MessageArguments {
    /// Take at most this many messages
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
    /// Take only messages whose attribute has this value
    #[arg(long, value_name = "NAME=VALUE", value_parser = equality)]
    pub(crate) attribute: Vec<(String, String)>,
    /// Take only messages whose body is JSON with this value at a JSON pointer, such as /order/state=failed
    #[arg(long, value_name = "/PATH=VALUE", value_parser = pointer)]
    pub(crate) pointer: Vec<(String, String)>,
}

impl MessageArguments {
    pub(crate) fn filter(&self) -> MessageFilter {
        MessageFilter::new(self.attribute.clone(), self.pointer.clone())
    }
}

/// How the other queue is reached, where that differs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Other queue")]
pub(crate) struct OtherSide {
    /// The profile for the queue of --to [default: --profile]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) to_profile: Option<String>,
    /// The region of the queue of --to [default: that of its URL or ARN, or --region]
    #[arg(long, value_name = "REGION")]
    pub(crate) to_region: Option<String>,
    /// The endpoint of the queue of --to [default: --endpoint-url]
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) to_endpoint_url: Option<String>,
    #[arg(long, value_name = "ID", help = GROUP, value_parser = group)]
    pub(crate) group_id: Option<String>,
}

fn equality(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give a name and a value, such as state=failed".to_owned()),
    }
}

fn pointer(text: &str) -> Result<(String, String), String> {
    match equality(text) {
        Ok((path, value)) if path.starts_with('/') => Ok((path, value)),
        _ => Err("give a JSON pointer and a value, such as /order/state=failed".to_owned()),
    }
}
