//! Deletes objects from a bucket.

use std::sync::Arc;

use aws_sdk_s3::types::ObjectIdentifier;
use futures::FutureExt;

use super::delete::begin;
use crate::arguments::DeleteObjectsArguments;
use crate::console::{Console, counted};
use crate::format::{Keys, LineFormat, TextFormat};
use crate::job::FirstEntriesCheck;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{self, ObjectLookup};
use crate::source::Order;

/// Deletes the objects whose keys the inputs have.
pub(super) async fn run(arguments: DeleteObjectsArguments) -> Result<CommandOutcome, Failure> {
    let DeleteObjectsArguments {
        bucket,
        format,
        yes,
        no_check,
        common,
    } = arguments;
    let (destination, lookup) = sink::bucket(bucket.bucket.clone(), &common.access()).await?;
    let settings = vec![
        ("--format", format.name().to_owned()),
        ("prefix", bucket.prefix.clone()),
    ];
    let keys = LineFormat {
        parse: Keys {
            is_json: format == TextFormat::Json,
            bucket: bucket.bucket.clone(),
            prefix: bucket.prefix,
        },
        keeps_text: common.keeps_text(),
    };
    let console = common.output.console();
    let look = lookup
        .filter(|_| !no_check)
        .map(|lookup| look(bucket.bucket, lookup, console.clone()));
    let mut job = common.input_job("delete-objects", Arc::new(keys), destination, settings, console);
    // They have the same result in any order.
    job.reads.order.get_or_insert(Order::Turns);
    job.reads.look = look;
    Box::pin(begin(job, &common, yes)).await
}

/// Refuses to delete anything if none of the first objects exists: then the lines are probably no keys.
fn look(bucket: String, lookup: ObjectLookup, console: Console) -> FirstEntriesCheck<ObjectIdentifier> {
    Arc::new(move |first: &[&ObjectIdentifier]| {
        let (bucket, lookup, console) = (bucket.clone(), lookup.clone(), console.clone());
        let first: Vec<ObjectIdentifier> = first.iter().copied().cloned().collect();
        async move {
            let found = lookup.of(&first).await?;
            let words = absent(&bucket, found.absent, first.len());
            match (found.present, found.absent, found.unknown) {
                (_, 0, None) => {}
                (0, _, None) => {
                    return Err(Failure::WrongUse(format!(
                        "{words}, so nothing was deleted{}: if an earlier run has deleted them, or to continue anyway, give --no-check",
                        hint(&bucket, &first)
                    )));
                }
                (0, _, Some(because)) => console.info(&format!(
                    "whether the keys exist is not known: {because}. S3 answers the deletion of a key that does not exist as it answers any other"
                )),
                (_, 0, Some(_)) => {}
                (_, _, _) => console.info(&words),
            }
            Ok(())
        }
        .boxed()
    })
}

/// How many of the first keys do not exist.
fn absent(bucket: &str, absent: usize, first: usize) -> String {
    let keys = counted(first as u64, "key");
    match (absent, first) {
        (_, 1) => format!("the first key does not exist in {bucket}"),
        (absent, first) if absent == first => format!("none of the first {keys} exists in {bucket}"),
        (1, _) => format!("1 of the first {keys} does not exist in {bucket}"),
        (absent, _) => format!("{absent} of the first {keys} do not exist in {bucket}"),
    }
}

/// What all of these keys have in front that keys usually do not have.
fn hint(bucket: &str, objects: &[ObjectIdentifier]) -> &'static str {
    let all_begin_with = |begin: &str| objects.iter().all(|object| object.key().starts_with(begin));
    if all_begin_with(&format!("{bucket}/")) {
        return " (they begin with the name of the bucket, which is not part of a key)";
    }
    if all_begin_with("/") {
        return " (they begin with a slash, which is part of a key)";
    }
    ""
}
