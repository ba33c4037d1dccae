//! Delivers shards, as an activity of Step Functions or the invocations of a Lambda function name them.

use super::send;
use crate::arguments::{Common, Recovery, ShardFormat, ToQueue, ToTable, ToWork};
use crate::format::{TableFormat, TextFormat};
use crate::outcome::{Failure, Outcome};
use crate::sink::PaceOptions;
use crate::worker::{Worker, work};

/// Delivers shards until the program is stopped.
pub(super) async fn run(arguments: ToWork) -> Result<Outcome, Failure> {
    let pace = PaceOptions::from(&arguments.pace);
    let (activity, heartbeat) = (arguments.activity, arguments.heartbeat);
    let (dead_letters, checkpoints) = (arguments.dead_letters, arguments.checkpoints);
    let format = arguments.format;
    let unfit = |what: &str| Failure::WrongUse(format!("--format {what}"));
    let common = Common {
        inputs: Vec::new(),
        order: None,
        encoding: None,
        shard: None,
        keep_going: arguments.keep_going,
        dry_run: false,
        recovery: Recovery {
            dead_letter: dead_letters.clone(),
            resume: None,
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
        let arguments = ToQueue {
            queue,
            format,
            group_id: arguments.group_id,
            common,
        };
        let job = send::job(&arguments).await?;
        let worker = Worker::new(job, &pace, dead_letters, checkpoints)?;
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
    let deletes = arguments.delete;
    let arguments = ToTable {
        table,
        items: arguments.items,
        format,
        common,
    };
    let job = super::table::whole(&arguments, deletes).await?;
    let worker = Worker::new(job, &pace, dead_letters, checkpoints)?;
    work(&worker, activity, heartbeat).await
}
