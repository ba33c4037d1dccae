//! Streams of Kinesis and Firehose, topics of SNS, and buses of EventBridge.

mod simulated;

use std::hash::Hash;
use std::sync::Arc;

use aws_batch_delivery::targets::eventbridge::{EventBus, event_size};
use aws_batch_delivery::targets::firehose::FirehoseStream;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_batch_delivery::targets::sns::{SnsTopic, message_size};
use aws_batch_simulator::Simulator;
use aws_config::SdkConfig;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use aws_sdk_sns::types::PublishBatchRequestEntry;

use super::destination::{Access, Destination, EntrySize, Target, simulated_settings};
use super::duplicates::{hash, sorted_attributes};
use super::recognized::ACCOUNT;
use super::simulated::SimulatedService;
use crate::connection::{self, account_of_arn, region_of_arn, settings};
use crate::outcome::Failure;

/// Bytes that a record is counted in: the `PUT` payload units of Kinesis. From its pricing.
const PAYLOAD_UNIT: usize = 25 << 10;

/// Bytes that a record of Firehose is rounded up to. From its pricing.
const INGESTED: usize = 5 << 10;

/// Bytes that are billed as one message or event. From the pricing of SNS and EventBridge.
const REQUEST: usize = 64 << 10;

/// The data stream of Kinesis with this name or ARN, into which records are put by themselves or many in one.
pub(crate) async fn stream(
    name: String,
    aggregate: bool,
    is_ordered: bool,
    access: &Access,
) -> Result<Destination<KinesisStream>, Failure> {
    let mut service = PutService {
        name: "Kinesis",
        simulate: SimulatedService::stream,
        of_simulator: Simulator::kinesis_client,
        of_config: aws_sdk_kinesis::Client::new,
        target: if is_ordered {
            |client, stream| KinesisStream::new(client, stream).ordered()
        } else {
            |client, stream| KinesisStream::new(client, stream)
        },
        measure: |_, record| EntrySize::in_units(record_size(record), PAYLOAD_UNIT),
        content: None,
        unit: "payload units of 25 KiB",
    };
    if aggregate {
        service.simulate = SimulatedService::aggregated_stream;
        service.target = if is_ordered {
            |client, stream| KinesisStream::new(client, stream).aggregated().ordered()
        } else {
            |client, stream| KinesisStream::new(client, stream).aggregated()
        };
        // The payload units are those of all together.
        service.measure = |_, record| EntrySize::in_units(record_size(record), 1);
        service.unit = "bytes in payload units of 25 KiB";
    }
    service.destination(name, access).await
}

fn record_size(record: &PutRecordsRequestEntry) -> usize {
    record.data().as_ref().len() + record.partition_key().map_or(0, str::len)
}

/// The delivery stream of Firehose with this name.
pub(crate) async fn delivery_stream(name: String, access: &Access) -> Result<Destination<FirehoseStream>, Failure> {
    let service = PutService {
        name: "Firehose",
        simulate: SimulatedService::delivery_stream,
        of_simulator: Simulator::firehose_client,
        of_config: aws_sdk_firehose::Client::new,
        target: |client, stream| FirehoseStream::new(client, stream),
        measure: |_, record| EntrySize::in_units(record.data().as_ref().len(), INGESTED),
        content: None,
        unit: "times 5 KiB",
    };
    service.destination(name, access).await
}

/// The topic of SNS with this ARN. A call to a FIFO topic carries one message of a group at most, unless the order may be loose.
pub(crate) async fn topic(arn: String, is_loose: bool, access: &Access) -> Result<Destination<SnsTopic>, Failure> {
    let service = PutService {
        name: "SNS",
        simulate: SimulatedService::topic,
        of_simulator: Simulator::sns_client,
        of_config: aws_sdk_sns::Client::new,
        target: if is_loose {
            |client, arn| SnsTopic::new(client, arn)
        } else {
            |client, arn| SnsTopic::new(client, arn).strict_order()
        },
        measure: |_, message| EntrySize::in_units(message_size(message), REQUEST),
        content: Some(|message| hash(&content(message))),
        unit: "requests' worth of 64 KiB",
    };
    service.destination(arn, access).await
}

/// What the subscribers of a topic get of a message, without its ids.
fn content(message: &PublishBatchRequestEntry) -> impl Hash {
    let (structure, group) = (message.message_structure(), message.message_group_id());
    let attributes = sorted_attributes!(message);
    (message.message(), message.subject(), structure, group, attributes)
}

/// The event bus of EventBridge with this name or ARN.
pub(crate) async fn event_bus(name: String, access: &Access) -> Result<Destination<EventBus>, Failure> {
    let service = PutService {
        name: "EventBridge",
        simulate: SimulatedService::event_bus,
        of_simulator: Simulator::eventbridge_client,
        of_config: aws_sdk_eventbridge::Client::new,
        target: |client, bus| EventBus::new(client, bus),
        measure: |_, event| EntrySize::in_units(event_size(event), REQUEST),
        content: None,
        unit: "events' worth of 64 KiB",
    };
    service.destination(name, access).await
}

/// A service that entries are put into, and how.
struct PutService<C, T: Target> {
    /// Its name in AWS's configuration.
    name: &'static str,
    simulate: fn(&str, f64) -> SimulatedService,
    of_simulator: fn(&Simulator) -> C,
    of_config: fn(&SdkConfig) -> C,
    target: fn(C, &str) -> T,
    measure: fn(&T, &T::Entry) -> EntrySize,
    /// A hash of the content of an entry, if a FIFO destination may drop it.
    content: Option<fn(&T::Entry) -> u64>,
    unit: &'static str,
}

impl<C, T: Target> PutService<C, T> {
    async fn destination(self, name: String, access: &Access) -> Result<Destination<T>, Failure> {
        let connection = access.connection.within(region_of_arn(&name), &name)?;
        let (client, settings, simulated) = if let Some(rate) = access.simulate {
            let simulated = (self.simulate)(&name, rate);
            let client = (self.of_simulator)(&simulated.simulator);
            (client, simulated_settings(rate), Some(Arc::new(simulated)))
        } else if access.is_dry_run {
            ((self.of_simulator)(&Simulator::new(1)), Vec::new(), None)
        } else {
            let config = connection.config().await?;
            let mut settings = settings(&config, self.name);
            if access.has_journal {
                let account = match account_of_arn(&name) {
                    Some(account) => Some(account.to_owned()),
                    None => connection::account(&config, self.name).await,
                };
                settings.extend(account.map(|account| (ACCOUNT, account)));
            }
            ((self.of_config)(&config), settings, None)
        };
        #[expect(clippy::case_sensitive_file_extension_comparisons, reason = "SNS names them so")]
        let is_fifo = name.ends_with(".fifo");
        Ok(Destination {
            content: self.content.filter(|_| is_fifo),
            target: (self.target)(client, &name),
            name,
            measure: self.measure,
            unit: self.unit,
            settings,
            // Nothing that is there is changed.
            site: None,
            simulated,
            vectors: None,
        })
    }
}
