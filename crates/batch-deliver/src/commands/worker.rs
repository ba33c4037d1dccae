//! Delivers shards, as an activity of Step Functions or the invocations of a Lambda function name them.

use std::sync::Arc;

use super::matching::written;
use super::{send, site, table};
use crate::arguments::{
    CommonArguments, QueueArguments, RecoveryArguments, SegmentArguments, ShardFormat, TableArguments, WorkerArguments,
};
use crate::connection::Connection;
use crate::format::{ItemFormat, TableFormat, TextFormat};
use crate::job::InputJob;
use crate::keeping::Location;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{Change, ItemWrite, PaceOptions, Target};
use crate::worker::{Exporter, SegmentSource, SourceTables, Worker, work};

/// Refuses what would be lost or delivered twice without a place to keep it.
fn check_places(arguments: &WorkerArguments) -> Result<(), Failure> {
    if arguments.checkpoints.is_some() && arguments.dead_letters.is_none() && arguments.of_segments.export.is_none() {
        // Without dead letters, an entry that was given up would count as delivered.
        let words = "--checkpoints needs --dead-letters <DIR>: without them, an entry that was given up would be lost";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    if arguments.checkpoints.is_none() && arguments.of_segments.counts_twice() {
        // Whatever ends the worker, a clean stop as well, the next one begins the segment from scratch.
        let words = "--add, and a --set or --remove that depends on the item, need --checkpoints <DIR>: without them, a segment that is handed out again \
                     is updated twice";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    Ok(())
}

/// Delivers shards until the program is stopped.
pub(super) async fn run(arguments: WorkerArguments) -> Result<CommandOutcome, Failure> {
    check_places(&arguments)?;
    if arguments.of_segments.export.is_some() {
        return Box::pin(export(arguments)).await;
    }
    let pace = PaceOptions::from(&arguments.pace);
    let (activity, heartbeat) = (arguments.activity, arguments.heartbeat);
    let (dead_letters, checkpoints) = (arguments.dead_letters, arguments.checkpoints);
    let format = arguments.format;
    let is_copy = arguments.queue.is_none() && !arguments.delete && arguments.of_segments.update().is_none();
    if arguments.of_segments.from.is_given() && !is_copy {
        let words = "--from-region, --from-profile and --from-endpoint-url are for copies: what is deleted or updated is where the table is";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let unfit = |what: &str| Failure::WrongUse(format!("--format {what}"));
    let common = CommonArguments {
        inputs: Vec::new(),
        order: None,
        encoding: None,
        shard: None,
        keep_going: arguments.keep_going,
        dry_run: false,
        recovery: RecoveryArguments {
            dead_letter: dead_letters.clone(),
            // Each shard has a journal of its own there.
            resume: checkpoints.clone(),
            trust_journal: false,
        },
        pace: arguments.pace,
        service: arguments.service,
        output: arguments.output,
    };
    if let Some(queue) = arguments.queue {
        let format = match format {
            None | Some(ShardFormat::Text) => TextFormat::Text,
            Some(ShardFormat::Json) => TextFormat::Json,
            Some(_) => return Err(unfit("must be text or json for messages")),
        };
        let arguments = QueueArguments {
            queue,
            format,
            group_id: arguments.group_id,
            loose_order: arguments.loose_order,
            common,
        };
        let job = send::job(&arguments).await?;
        let worker = Worker::new(job, &pace, dead_letters, checkpoints, None)?;
        return work(&worker, activity, heartbeat).await;
    }
    let Some(table) = arguments.table else {
        let words = "name where the entries go: --table or --queue";
        return Err(Failure::WrongUse(words.to_owned()));
    };
    let format = match format {
        None => TableFormat::Auto,
        Some(ShardFormat::Json) => TableFormat::Json,
        Some(ShardFormat::Dynamodb) => TableFormat::Dynamodb,
        Some(ShardFormat::Csv) => TableFormat::Csv,
        Some(ShardFormat::Tsv) => TableFormat::Tsv,
        Some(ShardFormat::Text) => return Err(unfit("must be json, dynamodb, csv or tsv for items")),
    };
    let (deletes, of_segments) = (arguments.delete, arguments.of_segments);
    let arguments = TableArguments {
        table,
        items: arguments.items,
        format,
        refuses_unindexed: false,
        common,
    };
    let places = (dead_letters, checkpoints);
    if let Some(filter) = &of_segments.filter
        && (deletes || of_segments.update().is_some())
    {
        let worker = single(&arguments, &of_segments, filter.clone(), &pace, places).await?;
        return work(&worker, activity, heartbeat).await;
    }
    let (job, writes) = table::whole_with_writes(&arguments, deletes).await?;
    if deletes {
        say_site(&job).await;
    }
    let reads = of_segments.reads().checked()?;
    let (reads, which) = match writes.key() {
        Some(key) if deletes => {
            let names = key.attributes().map(|attribute| attribute.name.as_str());
            (reads.keys(names), SourceTables::Destination)
        }
        _ => (reads, SourceTables::Others),
    };
    let tables = SegmentSource {
        is_only: reads.filter.is_some(),
        reads,
        connection: of_segments.from.connection(&arguments.common.service),
        entry: Arc::new(move |item| writes.of(item)),
        which,
    };
    let (dead_letters, checkpoints) = places;
    let worker = Worker::new(job, &pace, dead_letters, checkpoints, Some(tables))?;
    work(&worker, activity, heartbeat).await
}

/// Says where it is what the worker deletes or updates.
async fn say_site<T: Target>(InputJob { job, .. }: &InputJob<T>) {
    let place = (&*job.destination.name, job.destination.site.as_ref());
    site::say(&job.console, &[place], false).await;
}

/// Exports segments until the program is stopped.
async fn export(arguments: WorkerArguments) -> Result<CommandOutcome, Failure> {
    let of_segments = arguments.of_segments;
    let format = match arguments.format {
        None | Some(ShardFormat::Dynamodb) => ItemFormat::Dynamodb,
        Some(ShardFormat::Json) => ItemFormat::Json,
        Some(_) => {
            return Err(Failure::WrongUse(
                "--format must be json or dynamodb for an export".to_owned(),
            ));
        }
    };
    let Some(checkpoints) = arguments.checkpoints else {
        // The parts of an earlier attempt have other names and some of the same items.
        let words = "--export needs --checkpoints <DIR>: without them, a segment that is handed out again would be exported twice";
        return Err(Failure::WrongUse(words.to_owned()));
    };
    let reads = of_segments.reads().checked()?;
    let Some(folder) = of_segments.export else {
        return Err(Failure::WrongUse("an export needs a place: --export <DIR>".to_owned()));
    };
    let exporter = Exporter {
        reads,
        tables: of_segments.from.connection(&arguments.service),
        folder,
        connection: Connection::from(&arguments.service),
        format,
        part_bytes: of_segments.part_bytes,
        checkpoints,
        console: arguments.output.console().of_worker(),
    };
    Box::pin(work(&exporter.checked()?, arguments.activity, arguments.heartbeat)).await
}

/// A worker that deletes or updates the items of segments for which an expression holds.
async fn single(
    arguments: &TableArguments,
    of_segments: &SegmentArguments,
    filter: String,
    pace: &PaceOptions,
    (dead_letters, checkpoints): (Option<Location>, Option<Location>),
) -> Result<Worker<impl Target<Entry = ItemWrite> + use<>>, Failure> {
    let (condition, update) = (of_segments.condition(), of_segments.update());
    let reads = match &update {
        Some(update) => of_segments.reads().beside(&[update])?.checked()?,
        None => of_segments.reads().checked()?,
    };
    let more = vec![("update", update.clone().unwrap_or_default())];
    let change = move |key| match update {
        Some(update) => Change::Update(key, update),
        None => Change::Delete(key),
    };
    let (of_records, of_items) = (condition.clone(), change.clone());
    let job = table::single_with_key("worker", arguments, &condition, more, move |key| {
        Ok(of_records.expressions(change(table::needed(key)?)))
    });
    let (job, key) = job.await?;
    say_site(&job).await;
    let key = table::needed(key)?;
    let reads = reads.keys(key.attributes().map(|attribute| attribute.name.as_str()));
    let tables = SegmentSource {
        reads,
        connection: Connection::from(&arguments.common.service),
        entry: Arc::new(written(&condition, of_items(key), filter)),
        which: SourceTables::Destination,
        is_only: true,
    };
    Worker::new(job, pace, dead_letters, checkpoints, Some(tables))
}
