//! Moves the messages of a dead-letter queue back.

use super::move_messages::Moving;
use crate::arguments::ToRedrive;
use crate::connection::Connection;
use crate::outcome::{Failure, Outcome};
use crate::sink::{ExistingQueue, PaceOptions, existing_queue};

/// Moves the messages.
pub(super) async fn run(arguments: ToRedrive) -> Result<Outcome, Failure> {
    if arguments.service.simulate.is_some() {
        let words =
            "a simulated queue has no dead letters of another one: leave out --simulate, or try move --simulate";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let connection = Connection::from(&arguments.service);
    let from = existing_queue(&arguments.queue, &connection, "--queue").await?;
    let (to, name) = match &arguments.to {
        Some(name) => (existing_queue(name, &connection, "--to").await?, name.to_string()),
        None => source(&from, &arguments.queue.to_string()).await?,
    };
    let moving = Moving {
        from,
        to,
        names: (arguments.queue.to_string(), name),
        which: &arguments.which,
        group: None,
        pace: PaceOptions::from(&arguments.pace),
        output: &arguments.output,
    };
    moving.run().await
}

/// The only queue whose dead letters this one has.
async fn source(dead_letters: &ExistingQueue, name: &str) -> Result<(ExistingQueue, String), Failure> {
    let urls = dead_letters.dead_letter_sources().await?;
    match urls.as_slice() {
        [url] => Ok((dead_letters.beside(url)?, url.clone())),
        [] => Err(Failure::WrongUse(format!(
            "{name} is the dead-letter queue of no queue: say with --to where its messages belong"
        ))),
        urls => Err(Failure::WrongUse(format!(
            "{name} is the dead-letter queue of {} queues, and a message does not tell from which it comes: say with --to where the \
             messages belong, one of {}",
            urls.len(),
            urls.join(", ")
        ))),
    }
}
