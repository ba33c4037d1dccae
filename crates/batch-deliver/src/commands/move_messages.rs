//! Moves messages from one queue to another.

use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use super::hidden_messages::HiddenBaseline;
use super::simulation::{Simulation, queue};
use super::site;
use crate::arguments::{MoveArguments, OtherSide, Output};
use crate::blocking::run_blocking;
use crate::connection::{Connection, can_be_renewed};
use crate::console::{Console, counted, grouped, rate, time};
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{ExistingQueue, MessageFilter, Move, MoveResult, PaceOptions, ReceiveProgress, existing_queue};
use crate::stop::Stop;

/// Moves the messages.
pub(super) async fn run(arguments: MoveArguments) -> Result<CommandOutcome, Failure> {
    let console = arguments.output.console();
    let simulation = Simulation::of_source(&arguments.service, &arguments.simulation, &console)?;
    let connection = Connection::from(&arguments.service).until(arguments.pace.deadline);
    let OtherSide {
        to_profile,
        to_region,
        to_endpoint_url,
        group_id,
    } = arguments.other_side;
    let region_of_to = arguments.to.region.clone();
    let other = Connection {
        profile: to_profile.or(connection.profile.clone()),
        // A region that the name says comes before that of the other queue.
        region: to_region.or(region_of_to).or(connection.region.clone()),
        endpoint_url: to_endpoint_url.or(connection.endpoint_url.clone()),
        ..connection.clone()
    };
    if simulation.is_none() {
        other.check_profile().await?;
    }
    let from = queue(&arguments.from, &connection, "--from", simulation.as_ref()).await?;
    let to = match &simulation {
        None => existing_queue(&arguments.to, &other, "--to").await?,
        Some(simulation) => simulation.target(&arguments.to),
    };
    let job = Move {
        from,
        to,
        filter: arguments.which.filter(),
        source: None,
        most: arguments.which.max,
        group: group_id,
    };
    let names = [&*arguments.from.to_string(), &arguments.to.to_string()];
    let pace = PaceOptions::from(&arguments.pace);
    Box::pin(run_job(job, names, &pace, &arguments.output)).await
}

/// Refuses a filter where it would hold up whole groups.
pub(super) fn without_held_groups(filter: &MessageFilter, from: &ExistingQueue) -> Result<(), Failure> {
    if from.is_fifo && !filter.is_empty() {
        return Err(Failure::WrongUse(
            "--attribute and --pointer are for standard queues: in a FIFO queue a message that stays keeps the later ones of its \
             group from being received"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Moves messages between two queues that exist, which the user has named so.
pub(super) async fn run_job(
    job: Move,
    [from, to]: [&str; 2],
    pace: &PaceOptions,
    output: &Output,
) -> Result<CommandOutcome, Failure> {
    check(&job, [from, to]).await?;
    let hidden = HiddenBaseline::of(&job.from).await?;
    let console = output.console();
    let places = [(from, job.from.site.as_ref()), (to, job.to.site.as_ref())];
    site::say(&console, &places, false).await;
    let stop = Stop::of_command(&console, can_be_renewed);
    let (started, is_fifo) = (Instant::now(), job.from.is_fifo);
    let options = pace.options()?;
    let (watch, watched) = oneshot::channel();
    let moving = job.run(options, &stop.token, |progress| drop(watch.send(progress)));
    let telling = tell(watched, "moved", &console, output.every());
    let (moved, told) = Box::pin(beside(moving, telling, &stop)).await;
    console.clear_bar();
    let elapsed = started.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
    let pace = moved.taken as f64 / elapsed.as_secs_f64().max(1e-3);
    console.info(&format!(
        "{} moved from {from} to {to} in {} ({}/s)",
        counted(moved.taken, "message"),
        time(elapsed),
        rate(pace)
    ));
    let hidden = hidden.tell(from, &console).await;
    let event = json!({
        "event": "report", "moved": moved.taken, "unmatched": moved.unmatched, "foreign": moved.foreign, "undelivered": moved.unsent,
        "undeleted": moved.undeleted, "not_visible": hidden, "seconds": elapsed.as_secs_f64(),
        "interrupted": stop.was_interrupted(),
    });
    let ended = end(&console, (from, is_fifo), ("sent", &moved), &event, &stop);
    told?;
    ended
}

async fn check(job: &Move, [from, to]: [&str; 2]) -> Result<(), Failure> {
    if job.from.is_same(&job.to).await? {
        return Err(Failure::WrongUse(format!(
            "{from} and {to} are the same queue: its messages would be moved forever"
        )));
    }
    if job.to.is_fifo && !job.from.is_fifo && job.group.is_none() {
        return Err(Failure::WrongUse(format!(
            "the messages of {from}, a standard queue, need a group in {to}, a FIFO queue: give --group-id"
        )));
    }
    without_held_groups(&job.filter, &job.from)
}

/// Runs a job and prints its progress, and how it ended. When the output fails, the job is stopped as by Ctrl-C: what is in other hands
/// is deleted, and the rest becomes visible.
pub(super) async fn beside<R>(
    job: impl Future<Output = R>,
    telling: impl Future<Output = Failure>,
    stop: &Stop,
) -> (R, Result<(), Failure>) {
    let mut job = pin!(job);
    tokio::select! {
        done = &mut job => (done, Ok(())),
        failure = telling => {
            stop.token.cancel();
            (job.await, Err(failure))
        }
    }
}

/// Prints how many messages are moved, or whatever is done with them, until the output fails.
pub(super) async fn tell(
    watched: oneshot::Receiver<ReceiveProgress>,
    verb: &str,
    console: &Console,
    every: Duration,
) -> Failure {
    let Ok(progress) = watched.await else {
        return std::future::pending().await;
    };
    let mut ticks = interval_at(Instant::now() + every, every);
    loop {
        ticks.tick().await;
        let figures = progress.figures();
        let words = format!("{} {verb}", counted(figures.deleted, "message"));
        let event = json!({"event": "progress", verb: figures.deleted, "held": figures.held});
        let console = console.clone();
        // When the job ends, what still waits for the reader is left out: the report is the last event.
        let ended = CancellationToken::new();
        let _ended = ended.clone().drop_guard();
        let print = move || {
            if !console.is_json() && !ended.is_cancelled() {
                console.info(&words);
            }
            console.emit_while(|| !ended.is_cancelled(), &event)
        };
        // Messages are moved meanwhile.
        if let Err(error) = run_blocking(print).await.flatten() {
            return Failure::Failed(format!("the progress cannot be written: {error}"));
        }
    }
}

/// Prints what stays, writes the report, and decides how the program ends. `done` is what was done with the messages that were taken.
pub(super) fn end(
    console: &Console,
    (from, is_fifo): (&str, bool),
    (done, moved): (&str, &MoveResult),
    event: &Value,
    stop: &Stop,
) -> Result<CommandOutcome, Failure> {
    if moved.unmatched > 0 {
        console.info(&format!(
            "kept in {from}: {} that did not match",
            counted(moved.unmatched, "message")
        ));
    }
    if moved.foreign > 0 {
        console.warn(&format!(
            "kept in {from}: {} that came from another queue: give the queue of the messages by --to",
            counted(moved.foreign, "message")
        ));
    }
    if let Some(cause) = &moved.cause {
        console.warn(&format!(
            "kept in {from}: {} that could not be sent{}, the first because: {cause}",
            counted(moved.unsent, "message"),
            // Most of them are not received, so their number is not known.
            if is_fifo {
                ", and all behind them in the same groups"
            } else {
                ""
            }
        ));
    }
    if moved.undeleted > 0 {
        // A failure ends the receiving, and so may a refused deletion.
        let because = moved.undeleted_because.as_deref().or(moved.failure.as_deref());
        console.warn(&format!(
            "{} were {done}, but may still be in {from} as well: {}",
            grouped(moved.undeleted),
            because.unwrap_or("their time to be deleted was over")
        ));
    }
    if moved.is_full() {
        console.warn(&format!(
            "{from} may have messages that were not received: SQS hides at most about 120,000 of a queue, and about that many were kept \
             hidden until the end. Take those that do not match out of it first"
        ));
    }
    console.report(event)?;
    if stop.was_interrupted() {
        console.info(&format!(
            "interrupted: the rest stays in {from}, and the same command continues"
        ));
        return Ok(CommandOutcome::Interrupted);
    }
    if let Some(failure) = moved.failure.as_deref().or(stop.failure()) {
        return Err(Failure::Failed(format!("{from}: {failure}")));
    }
    if let Some(cause) = &moved.unread {
        console.warn(&format!("{from} may have messages that were not received: {cause}"));
    }
    let is_read = moved.unread.is_none() && !moved.is_full();
    Ok(CommandOutcome::of(
        moved.unsent + moved.undeleted + moved.foreign == 0 && is_read,
    ))
}
