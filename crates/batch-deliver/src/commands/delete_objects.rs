//! Deletes objects from a bucket.

use std::sync::Arc;

use super::delete::begin;
use crate::arguments::ToDeleteObjects;
use crate::format::{EachLine, Keys, TextFormat};
use crate::job::Job;
use crate::outcome::{Failure, Outcome};
use crate::sink;
use crate::source::Order;

/// Deletes the objects whose keys the inputs have.
pub(super) async fn run(arguments: ToDeleteObjects) -> Result<Outcome, Failure> {
    let ToDeleteObjects {
        bucket,
        format,
        yes,
        common,
    } = arguments;
    let destination = sink::bucket(bucket.bucket, &common.access()).await?;
    let settings = vec![
        ("--format", format.name().to_owned()),
        ("prefix", bucket.prefix.clone()),
    ];
    let keys = EachLine {
        parse: Keys {
            is_json: format == TextFormat::Json,
            prefix: bucket.prefix,
        },
        keeps_text: common.keeps_text(),
    };
    let console = common.output.console();
    let job = common.job("delete-objects", Arc::new(keys), destination, settings, console);
    let job = Job {
        // They have the same result in any order.
        order: job.order.or(Some(Order::Turns)),
        ..job
    };
    Box::pin(begin(job, &common, yes)).await
}
