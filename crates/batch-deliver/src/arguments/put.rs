//! The options of `put`.

use clap::Args;

use super::common::CommonArguments;
use super::destinations::{GROUP, LOOSE_ORDER, group};
use crate::format::TextFormat;

const FORMAT: &str = "Lines of text, or JSON with data, partition_key (streams); message, subject, attributes, group_id, dedup_id \
                      (topics); detail, detail_type, source, resources, time (buses)";

#[derive(Debug, Args)]
pub(crate) struct PutArguments {
    #[command(flatten)]
    pub(crate) destination: PutDestination,
    #[arg(long, help = FORMAT, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
    // `requires` is not enough for these: clap drops it where the other destination excludes the one that is required.
    /// The partition key of records that have none [default: a hash of the data]
    #[arg(long, value_name = "KEY", requires = "stream", conflicts_with_all = ["delivery_stream", "topic", "bus"])]
    pub(crate) partition_key: Option<String>,
    /// Put many records into one, in the format of the Kinesis Producer Library, which readers have to take apart
    #[arg(long, requires = "stream", conflicts_with_all = ["delivery_stream", "topic", "bus"])]
    pub(crate) aggregate: bool,
    /// Keep the order of the records of each partition key: without --aggregate, a key has one record in flight
    #[arg(long, requires = "stream", conflicts_with_all = ["delivery_stream", "topic", "bus"])]
    pub(crate) ordered: bool,
    #[arg(long, value_name = "ID", help = GROUP, value_parser = group, requires = "topic",
        conflicts_with_all = ["stream", "delivery_stream", "bus"])]
    pub(crate) group_id: Option<String>,
    #[arg(long, help = LOOSE_ORDER, requires = "topic", conflicts_with_all = ["stream", "delivery_stream", "bus"])]
    pub(crate) loose_order: bool,
    #[command(flatten)]
    pub(crate) events: EventArguments,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// The destination: exactly one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PutDestination {
    /// The data stream of Kinesis, by its name or ARN
    #[arg(long, value_name = "NAME")]
    pub(crate) stream: Option<String>,
    /// The delivery stream of Firehose, by its name
    #[arg(long, value_name = "NAME")]
    pub(crate) delivery_stream: Option<String>,
    /// The topic of SNS, by its ARN
    #[arg(long, value_name = "ARN", value_parser = topic)]
    pub(crate) topic: Option<String>,
    /// The event bus of EventBridge, by its name or ARN
    #[arg(long, value_name = "NAME")]
    pub(crate) bus: Option<String>,
}

/// The parts of events that do not have them.
#[derive(Debug, Clone, Args)]
pub(crate) struct EventArguments {
    /// The source of events that have none
    #[arg(long, value_name = "NAME", requires = "bus", conflicts_with_all = ["stream", "delivery_stream", "topic"])]
    pub(crate) source: Option<String>,
    /// The detail type of events that have none
    #[arg(long, value_name = "NAME", requires = "bus", conflicts_with_all = ["stream", "delivery_stream", "topic"])]
    pub(crate) detail_type: Option<String>,
}

fn topic(text: &str) -> Result<String, String> {
    if text.starts_with("arn:") {
        Ok(text.to_owned())
    } else {
        Err("an ARN is needed, such as arn:aws:sns:eu-central-1:123456789012:orders".to_owned())
    }
}
