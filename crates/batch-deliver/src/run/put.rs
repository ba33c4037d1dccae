//! Records to streams, messages to topics, events to buses.

use std::sync::Arc;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::targets::eventbridge::{EventBus, event_size};
use aws_batch_delivery::targets::firehose::FirehoseStream;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_batch_delivery::targets::sns::{SnsTopic, message_size};
use aws_batch_simulator::Simulator;
use aws_config::SdkConfig;

use super::dry_run::Measured;
use super::simulated::Simulated;
use super::{Job, Settings, name};
use crate::arguments::{Common, Destination, Events, QueueFormat, ToPut, region};
use crate::connect;
use crate::format::{DeliveryRecords, EachLine, EventLines, Groups, Notifications, Parse, StreamRecords};
use crate::outcome::{Failure, Outcome};

/// Bytes that a record is counted in: the `PUT` payload units of Kinesis. From its pricing.
const PAYLOAD_UNIT: usize = 25 << 10;

/// Bytes that a record of Firehose is rounded up to. From its pricing.
const INGESTED: usize = 5 << 10;

/// Bytes that are billed as one message or event. From the pricing of SNS and EventBridge.
const REQUEST: usize = 64 << 10;

/// Puts the entries of the inputs.
pub(super) async fn run(arguments: ToPut) -> Result<Outcome, Failure> {
    let ToPut {
        destination,
        format,
        partition_key,
        group_id,
        events,
        common,
    } = arguments;
    match destination {
        Destination {
            stream: Some(stream), ..
        } => Box::pin(to_stream(stream, format, partition_key).put(format, &common)).await,
        Destination {
            delivery_stream: Some(stream),
            ..
        } => Box::pin(to_delivery_stream(stream, format).put(format, &common)).await,
        Destination { topic: Some(arn), .. } => Box::pin(to_topic(arn, format, group_id)?.put(format, &common)).await,
        Destination { bus: Some(bus), .. } => Box::pin(to_bus(bus, format, events)?.put(format, &common)).await,
        _ => {
            let words = "name where to put it: --stream, --delivery-stream, --topic or --bus";
            Err(Failure::WrongUse(words.to_owned()))
        }
    }
}

fn to_stream(
    stream: String,
    format: QueueFormat,
    partition_key: Option<String>,
) -> Service<aws_sdk_kinesis::Client, KinesisStream, StreamRecords> {
    Service {
        command: "put --stream",
        simulate: Simulated::stream,
        of_simulator: Simulator::kinesis_client,
        of_config: aws_sdk_kinesis::Client::new,
        target: |client, stream| KinesisStream::new(client, stream),
        measure: |record| {
            let bytes = record.data().as_ref().len() + record.partition_key().map_or(0, str::len);
            measured(bytes, PAYLOAD_UNIT)
        },
        unit: "payload units of 25 KiB",
        settings: partition_key
            .clone()
            .map(|key| ("--partition-key", key))
            .into_iter()
            .collect(),
        parse: StreamRecords {
            is_json: format == QueueFormat::Json,
            partition_key,
        },
        destination: stream,
    }
}

fn to_delivery_stream(
    stream: String,
    format: QueueFormat,
) -> Service<aws_sdk_firehose::Client, FirehoseStream, DeliveryRecords> {
    Service {
        command: "put --delivery-stream",
        simulate: Simulated::delivery_stream,
        of_simulator: Simulator::firehose_client,
        of_config: aws_sdk_firehose::Client::new,
        target: |client, stream| FirehoseStream::new(client, stream),
        measure: |record| measured(record.data().as_ref().len(), INGESTED),
        unit: "times 5 KiB",
        settings: Vec::new(),
        parse: DeliveryRecords {
            is_json: format == QueueFormat::Json,
        },
        destination: stream,
    }
}

fn to_topic(
    arn: String,
    format: QueueFormat,
    group_id: Option<String>,
) -> Result<Service<aws_sdk_sns::Client, SnsTopic, Notifications>, Failure> {
    let fifo = arn.strip_suffix(".fifo").map(|_| "topic");
    let groups = Groups::new(group_id.as_ref(), fifo, format)?;
    Ok(Service {
        command: "put --topic",
        simulate: Simulated::topic,
        of_simulator: Simulator::sns_client,
        of_config: aws_sdk_sns::Client::new,
        target: |client, arn| SnsTopic::new(client, arn),
        measure: |message| measured(message_size(message), REQUEST),
        unit: "requests' worth of 64 KiB",
        settings: group_id.map(|group| ("--group-id", group)).into_iter().collect(),
        parse: Notifications {
            is_json: format == QueueFormat::Json,
            groups,
        },
        destination: arn,
    })
}

fn to_bus(
    bus: String,
    format: QueueFormat,
    events: Events,
) -> Result<Service<aws_sdk_eventbridge::Client, EventBus, EventLines>, Failure> {
    let is_json = format == QueueFormat::Json;
    if !is_json && (events.source.is_none() || events.detail_type.is_none()) {
        let words = "a line is the detail of an event: give the rest by --source and --detail-type, or all of it by --format json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let Events { source, detail_type } = events.clone();
    let source = source.map(|source| ("--source", source));
    let detail_type = detail_type.map(|detail_type| ("--detail-type", detail_type));
    Ok(Service {
        command: "put --bus",
        simulate: Simulated::event_bus,
        of_simulator: Simulator::eventbridge_client,
        of_config: aws_sdk_eventbridge::Client::new,
        target: |client, bus| EventBus::new(client, bus),
        measure: |event| measured(event_size(event), REQUEST),
        unit: "events' worth of 64 KiB",
        settings: source.into_iter().chain(detail_type).collect(),
        parse: EventLines {
            is_json,
            otherwise: events,
        },
        destination: bus,
    })
}

/// A service that entries are put into, and how.
struct Service<C, T: BatchTarget, P> {
    command: &'static str,
    destination: String,
    simulate: fn(&str, f64) -> Simulated,
    of_simulator: fn(&Simulator) -> C,
    of_config: fn(&SdkConfig) -> C,
    target: fn(C, &str) -> T,
    measure: fn(&T::Entry) -> Measured,
    unit: &'static str,
    /// What is asked for of this service alone.
    settings: Settings,
    parse: P,
}

impl<C, T, P> Service<C, T, P>
where
    T: BatchTarget + Clone,
    P: Parse<T::Entry> + Clone + Sync + 'static,
{
    async fn put(self, format: QueueFormat, common: &Common) -> Result<Outcome, Failure> {
        let service = common
            .service
            .within(region::of_arn(&self.destination), &self.destination)?;
        let (client, mut settings, simulated) = if let Some(rate) = service.simulate {
            let simulated = (self.simulate)(&self.destination, rate);
            let client = (self.of_simulator)(&simulated.simulator);
            (
                client,
                vec![("--simulate", rate.to_string())],
                Some(Arc::new(simulated)),
            )
        } else if common.dry_run {
            // Nothing is asked, so that neither an account nor a region is needed.
            ((self.of_simulator)(&Simulator::new(1)), Vec::new(), None)
        } else {
            let config = connect::config(&service).await?;
            ((self.of_config)(&config), connect::settings(&config), None)
        };
        settings.push(("--format", name(&format)));
        settings.extend(self.settings);
        let job = Job {
            command: self.command,
            target: (self.target)(client, &self.destination),
            measure: self.measure,
            unit: self.unit,
            format: Arc::new(EachLine {
                parse: self.parse,
                keeps_text: common.keeping.dead_letter.is_some(),
            }),
            destination: self.destination,
            settings,
            simulated,
            order: common.order,
            asks: false,
            console: common.telling.console(),
        };
        job.run(common).await
    }
}

fn measured(bytes: usize, unit: usize) -> Measured {
    let units = bytes.div_ceil(unit).max(1);
    Measured { bytes, units }
}
