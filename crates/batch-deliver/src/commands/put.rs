//! Puts records into streams, messages into topics, and events on buses.

use std::sync::Arc;

use super::deliver::deliver;
use crate::arguments::{CommonArguments, PutArguments, PutDestination};
use crate::format::{
    DeliveryRecords, EventDefaults, EventLines, Groups, LineFormat, LineParser, Notifications, StreamRecords,
    TextFormat,
};
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{self, Settings, Target};

/// Aggregated records are paced in units of 64 bytes, others in KiB.
const AGGREGATED_UNITS_OF_KIB: f64 = 16.0;

/// Puts the entries of the inputs.
pub(super) async fn run(arguments: PutArguments) -> Result<CommandOutcome, Failure> {
    let PutArguments {
        destination,
        format,
        partition_key,
        aggregate,
        ordered,
        group_id,
        loose_order,
        events,
        mut common,
    } = arguments;
    let access = common.access();
    let is_json = format == TextFormat::Json;
    match destination {
        PutDestination {
            stream: Some(stream), ..
        } => {
            let stream = sink::stream(stream, aggregate, ordered, &access).await?;
            if aggregate {
                common.pace.max_rate = common.pace.max_rate.map(|rate| rate * AGGREGATED_UNITS_OF_KIB);
            }
            let settings = settings(format, [("--partition-key", partition_key.clone())]);
            let records = StreamRecords { is_json, partition_key };
            Box::pin(put("put --stream", records, stream, settings, &common)).await
        }
        PutDestination {
            delivery_stream: Some(stream),
            ..
        } => {
            let stream = sink::delivery_stream(stream, &access).await?;
            let records = DeliveryRecords { is_json };
            Box::pin(put(
                "put --delivery-stream",
                records,
                stream,
                settings(format, []),
                &common,
            ))
            .await
        }
        PutDestination { topic: Some(arn), .. } => {
            let fifo = arn.strip_suffix(".fifo").map(|_| "topic");
            let groups = Groups::new(group_id.as_ref(), fifo, format)?;
            let topic = sink::topic(arn, loose_order, &access).await?;
            let settings = settings(format, [("--group-id", group_id)]);
            let messages = Notifications { is_json, groups };
            Box::pin(put("put --topic", messages, topic, settings, &common)).await
        }
        PutDestination { bus: Some(bus), .. } => {
            if !is_json && (events.source.is_none() || events.detail_type.is_none()) {
                let words = "a line is the detail of an event: give the rest by --source and --detail-type, or all of it by --format json";
                return Err(Failure::WrongUse(words.to_owned()));
            }
            let bus = sink::event_bus(bus, &access).await?;
            let otherwise = EventDefaults {
                source: events.source.clone(),
                detail_type: events.detail_type.clone(),
            };
            let given = [("--source", events.source), ("--detail-type", events.detail_type)];
            let settings = settings(format, given);
            let events = EventLines { is_json, otherwise };
            Box::pin(put("put --bus", events, bus, settings, &common)).await
        }
        _ => {
            let words = "name where to put it: --stream, --delivery-stream, --topic or --bus";
            Err(Failure::WrongUse(words.to_owned()))
        }
    }
}

/// The format, and the options of a service that are given.
fn settings<const N: usize>(format: TextFormat, given: [(&'static str, Option<String>); N]) -> Settings {
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    std::iter::once(("--format", format.name().to_owned()))
        .chain(given)
        .collect()
}

async fn put<T, P>(
    command: &'static str,
    parse: P,
    destination: sink::Destination<T>,
    settings: Settings,
    common: &CommonArguments,
) -> Result<CommandOutcome, Failure>
where
    T: Target,
    P: LineParser<T::Entry> + Clone + Sync + 'static,
{
    let lines = LineFormat {
        parse,
        keeps_text: common.keeps_text(),
    };
    let console = common.output.console();
    let job = common.input_job(command, Arc::new(lines), destination, settings, console);
    deliver(job, common).await
}
