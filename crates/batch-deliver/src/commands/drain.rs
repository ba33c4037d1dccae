//! Writes the messages of a queue to a file.

use std::path::Path;

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::hidden_messages::HiddenBaseline;
use super::move_messages::{beside, end, tell, without_held_groups};
use super::simulation::{Simulation, queue};
use super::site;
use crate::arguments::DrainArguments;
use crate::connection::{Connection, can_be_renewed};
use crate::console::{counted, time};
use crate::keeping::MovedLines;
use crate::outcome::{CommandOutcome, Failure};
use crate::output::is_standard;
use crate::sink::Drain;
use crate::stop::Stop;

/// Writes the messages.
pub(super) async fn run(arguments: DrainArguments) -> Result<CommandOutcome, Failure> {
    let console = arguments.output.console();
    let simulation = Simulation::of_source(&arguments.service, &arguments.simulation, &console)?;
    let is_standard = is_standard(Path::new(&arguments.file));
    if is_standard && console.is_json() {
        let words = "the messages and --json cannot both be written to the standard output: leave out --json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let connection = Connection::from(&arguments.service);
    let queue = queue(&arguments.queue, &connection, "--queue", simulation.as_ref()).await?;
    let filter = arguments.which.filter();
    without_held_groups(&filter, &queue)?;
    let hidden = HiddenBaseline::of(&queue).await?;
    let mut lines = MovedLines::open(&arguments.file)?;
    let from = arguments.queue.to_string();
    site::say(&console, &[(&*from, queue.site.as_ref())], false).await;
    let to = if is_standard {
        "the standard output"
    } else {
        &arguments.file
    };
    let stop = Stop::of_command(&console, can_be_renewed);
    let (started, is_fifo) = (Instant::now(), queue.is_fifo);
    let most = arguments.which.max;
    let drain = Drain { queue, filter, most };
    let (watch, watched) = oneshot::channel();
    let draining = drain.run(&mut lines, &stop.token, |progress| drop(watch.send(progress)));
    let telling = tell(watched, "written", &console, arguments.output.every());
    let (mut drained, told) = beside(draining, telling, &stop).await;
    if let Err(error) = lines.check() {
        drained.failure.get_or_insert(format!("{to}: {error}"));
    }
    let elapsed = started.elapsed();
    console.info(&format!(
        "{} of {from} written to {to} in {}",
        counted(drained.taken, "message"),
        time(elapsed)
    ));
    let hidden = hidden.tell(&from, &console).await;
    let event = json!({
        "event": "report", "written": drained.taken, "unmatched": drained.unmatched, "undeleted": drained.undeleted,
        "not_visible": hidden, "seconds": elapsed.as_secs_f64(), "interrupted": stop.was_interrupted(),
    });
    let ended = end(&console, (&from, is_fifo), ("written", &drained), &event, &stop);
    told?;
    ended
}
