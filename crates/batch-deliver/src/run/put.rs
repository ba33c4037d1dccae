//! Records to streams, messages to topics, events to buses.

use std::sync::Arc;

use aws_batch_delivery::targets::eventbridge::{EventBus, event_size};
use aws_batch_delivery::targets::firehose::FirehoseStream;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_batch_delivery::targets::sns::{SnsTopic, message_size};
use aws_batch_simulator::Simulator;
use aws_config::SdkConfig;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_firehose::types::Record;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use aws_sdk_sns::types::PublishBatchRequestEntry;

use super::dry_run::Measured;
use super::simulated::Simulated;
use super::{Job, Outcome, Settings, name};
use crate::arguments::{Common, Destination, Events, QueueFormat, ToPut};
use crate::connect;
use crate::failure::Failure;
use crate::format::put::EachLine;
use crate::format::put::events::EventLines;
use crate::format::put::notifications::Notifications;
use crate::format::put::records::{DeliveryRecords, StreamRecords};

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
        events,
        common,
    } = arguments;
    match destination {
        Destination {
            stream: Some(stream), ..
        } => Box::pin(to_stream(stream, format, partition_key, &common)).await,
        Destination {
            delivery_stream: Some(stream),
            ..
        } => Box::pin(to_delivery_stream(stream, format, &common)).await,
        Destination { topic: Some(arn), .. } => Box::pin(to_topic(arn, format, &common)).await,
        Destination { bus: Some(bus), .. } => Box::pin(to_bus(bus, format, events, &common)).await,
        _ => {
            let words = "name where to put it: --stream, --delivery-stream, --topic or --bus";
            Err(Failure::WrongUse(words.to_owned()))
        }
    }
}

async fn to_stream(
    stream: String,
    format: QueueFormat,
    partition_key: Option<String>,
    common: &Common,
) -> Result<Outcome, Failure> {
    let simulate = |rate| Simulated::stream(&stream, rate);
    let mut service = Connected::to(
        common,
        format,
        simulate,
        Simulator::kinesis_client,
        aws_sdk_kinesis::Client::new,
    )
    .await?;
    service
        .settings
        .extend(partition_key.clone().map(|key| ("--partition-key", key)));
    let parse = StreamRecords {
        is_json: format == QueueFormat::Json,
        partition_key,
    };
    let job = Job {
        command: "put --stream",
        target: KinesisStream::new(service.client, &stream),
        measure: measure_record,
        unit: "payload units of 25 KiB",
        format: lines(parse, common),
        destination: stream,
        settings: service.settings,
        simulated: service.simulated,
        console: common.telling.console(),
    };
    job.run(common).await
}

async fn to_delivery_stream(stream: String, format: QueueFormat, common: &Common) -> Result<Outcome, Failure> {
    let simulate = |rate| Simulated::delivery_stream(&stream, rate);
    let service = Connected::to(
        common,
        format,
        simulate,
        Simulator::firehose_client,
        aws_sdk_firehose::Client::new,
    )
    .await?;
    let parse = DeliveryRecords {
        is_json: format == QueueFormat::Json,
    };
    let job = Job {
        command: "put --delivery-stream",
        target: FirehoseStream::new(service.client, &stream),
        measure: measure_delivery,
        unit: "times 5 KiB",
        format: lines(parse, common),
        destination: stream,
        settings: service.settings,
        simulated: service.simulated,
        console: common.telling.console(),
    };
    job.run(common).await
}

async fn to_topic(arn: String, format: QueueFormat, common: &Common) -> Result<Outcome, Failure> {
    let is_json = format == QueueFormat::Json;
    if arn.strip_suffix(".fifo").is_some() && !is_json {
        let words = "messages of a FIFO topic have a group_id: give them by --format json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let simulate = |rate| Simulated::topic(&arn, rate);
    let service = Connected::to(
        common,
        format,
        simulate,
        Simulator::sns_client,
        aws_sdk_sns::Client::new,
    )
    .await?;
    let job = Job {
        command: "put --topic",
        target: SnsTopic::new(service.client, &arn),
        measure: measure_message,
        unit: "requests' worth of 64 KiB",
        format: lines(Notifications { is_json }, common),
        destination: arn,
        settings: service.settings,
        simulated: service.simulated,
        console: common.telling.console(),
    };
    job.run(common).await
}

async fn to_bus(bus: String, format: QueueFormat, events: Events, common: &Common) -> Result<Outcome, Failure> {
    let is_json = format == QueueFormat::Json;
    if !is_json && (events.source.is_none() || events.detail_type.is_none()) {
        let words = "a line is the detail of an event: give the rest by --source and --detail-type, or all of it by --format json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let simulate = |rate| Simulated::event_bus(&bus, rate);
    let mut service = Connected::to(
        common,
        format,
        simulate,
        Simulator::eventbridge_client,
        aws_sdk_eventbridge::Client::new,
    )
    .await?;
    let Events { source, detail_type } = events.clone();
    service.settings.extend(source.map(|source| ("--source", source)));
    service
        .settings
        .extend(detail_type.map(|detail_type| ("--detail-type", detail_type)));
    let parse = EventLines {
        is_json,
        otherwise: events,
    };
    let job = Job {
        command: "put --bus",
        target: EventBus::new(service.client, &bus),
        measure: measure_event,
        unit: "events' worth of 64 KiB",
        format: lines(parse, common),
        destination: bus,
        settings: service.settings,
        simulated: service.simulated,
        console: common.telling.console(),
    };
    job.run(common).await
}

/// A client, and what says which service it is of.
struct Connected<C> {
    client: C,
    settings: Settings,
    simulated: Option<Arc<Simulated>>,
}

impl<C> Connected<C> {
    async fn to(
        common: &Common,
        format: QueueFormat,
        simulate: impl FnOnce(f64) -> Simulated,
        of_simulator: impl FnOnce(&Simulator) -> C,
        of_config: impl FnOnce(&SdkConfig) -> C,
    ) -> Result<Self, Failure> {
        let (client, mut settings, simulated) = if let Some(rate) = common.service.simulate {
            let simulated = simulate(rate);
            let client = of_simulator(&simulated.simulator);
            (
                client,
                vec![("--simulate", rate.to_string())],
                Some(Arc::new(simulated)),
            )
        } else if common.dry_run {
            // Nothing is asked, so that neither an account nor a region is needed.
            (of_simulator(&Simulator::new(1)), Vec::new(), None)
        } else {
            let config = connect::config(&common.service).await?;
            (of_config(&config), connect::settings(&config), None)
        };
        settings.push(("--format", name(&format)));
        Ok(Self {
            client,
            settings,
            simulated,
        })
    }
}

fn lines<P>(parse: P, common: &Common) -> Arc<EachLine<P>> {
    Arc::new(EachLine {
        parse,
        keeps_text: common.keeping.dead_letter.is_some(),
    })
}

fn measure_record(record: &PutRecordsRequestEntry) -> Measured {
    let bytes = record.data().as_ref().len() + record.partition_key().map_or(0, str::len);
    measured(bytes, PAYLOAD_UNIT)
}

fn measure_delivery(record: &Record) -> Measured {
    measured(record.data().as_ref().len(), INGESTED)
}

fn measure_message(message: &PublishBatchRequestEntry) -> Measured {
    measured(message_size(message), REQUEST)
}

fn measure_event(event: &PutEventsRequestEntry) -> Measured {
    measured(event_size(event), REQUEST)
}

fn measured(bytes: usize, unit: usize) -> Measured {
    let units = bytes.div_ceil(unit).max(1);
    Measured { bytes, units }
}
