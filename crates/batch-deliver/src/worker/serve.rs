//! Answers for the shards of an activity of Step Functions, or of invocations of a Lambda function.

use std::time::Duration;

use super::activity::Activity;
use super::attempts::Attempts;
use super::lambda;
use crate::connection::{can_be_renewed, region_of_arn};
use crate::outcome::{CommandOutcome, Failure};
use crate::stop::Stop;

/// Delivers shards until the program is stopped. `heartbeat` is that of the state machine.
pub(crate) async fn work<W: Attempts>(
    worker: &W,
    activity: Option<String>,
    heartbeat: Duration,
) -> Result<CommandOutcome, Failure> {
    let Some(activity) = activity else {
        if std::env::var_os(lambda::API).is_some() {
            return lambda::serve(worker).await;
        }
        let words = "a worker needs the activity to get shards from: give --activity ARN";
        return Err(Failure::WrongUse(words.to_owned()));
    };
    let console = worker.console();
    let connection = worker.connection().within(region_of_arn(&activity), "the activity")?;
    let config = connection.config().await?;
    let activity = Activity::new(&config, &activity, console.clone());
    let stop = Stop::of_command(console, can_be_renewed);
    while let Some(task) = activity.next(&stop).await? {
        if !activity.confirm(&task, heartbeat, &stop).await {
            continue;
        }
        let delivery = stop.child();
        let heartbeats = activity.start_heartbeats(&task, heartbeat, delivery.clone());
        let answer = worker.attempt(&task.input, delivery).await;
        let answer = heartbeats.answer(answer);
        // The shard belongs to this worker until its answer has arrived, so the heartbeats continue.
        activity.answer(task, &answer).await;
        drop(heartbeats);
        // It is answered for first: a standard output that is not read would keep the shard.
        worker.print(&answer);
        if let Some(fault) = answer.fault_of_worker() {
            // Otherwise it would take one shard after another and fail them all.
            return Err(Failure::Failed(format!("the worker ends: {fault}")));
        }
        if console.is_closed() {
            let words = "the worker ends: the standard output, which --json needs, can no longer be written";
            return Err(Failure::Failed(words.to_owned()));
        }
    }
    if let Some(words) = stop.failure() {
        return Err(Failure::Failed(format!("the worker ends: {words}")));
    }
    Ok(CommandOutcome::Interrupted)
}
