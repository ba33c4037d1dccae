//! Moves the messages of a dead-letter queue back.

use super::move_messages::run_job;
use crate::arguments::RedriveArguments;
use crate::connection::Connection;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{ExistingQueue, Move, PaceOptions, QueueName, existing_queue};

/// Moves the messages.
pub(super) async fn run(arguments: RedriveArguments) -> Result<CommandOutcome, Failure> {
    if arguments.service.simulate.is_some() {
        let words =
            "a simulated queue has no dead letters of another one: leave out --simulate, or try move --simulate";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let connection = Connection::from(&arguments.service).until(arguments.pace.deadline);
    let beside = match &arguments.to {
        Some(to) => beside(&connection, &arguments.queue, to)?,
        None => connection.clone(),
    };
    let from = existing_queue(&arguments.queue, &connection, "--queue").await?;
    let (to, name) = match &arguments.to {
        Some(name) => (existing_queue(name, &beside, "--to").await?, name.to_string()),
        None => source(&from, &arguments.queue.to_string()).await?,
    };
    let job = Move {
        from,
        to,
        filter: arguments.which.filter(),
        // It has dead letters of others as well if their policies have changed since, or they are gone.
        source: arguments.to.is_none().then(|| name.clone()),
        most: arguments.which.max,
        group: None,
    };
    let names = [&*arguments.queue.to_string(), &name];
    let pace = PaceOptions::from(&arguments.pace);
    Box::pin(run_job(job, names, &pace, &arguments.output)).await
}

/// How the queue is reached that the messages of the dead-letter queue belong to: in its region, where SQS has both.
fn beside(connection: &Connection, dead_letters: &QueueName, to: &QueueName) -> Result<Connection, Failure> {
    if let (Some(region), Some(other)) = (&dead_letters.region, &to.region)
        && region != other
    {
        return Err(Failure::WrongUse(format!(
            "{dead_letters} is in {region}, but {to} is in {other}, and a queue and its dead letters are in one region: to move \
             messages to another one, use move"
        )));
    }
    Ok(Connection {
        region: connection.region.clone().or_else(|| dead_letters.region.clone()),
        ..connection.clone()
    })
}

/// The only queue whose dead letters this one has.
async fn source(dead_letters: &ExistingQueue, name: &str) -> Result<(ExistingQueue, String), Failure> {
    let urls = dead_letters.dead_letter_sources().await?;
    match urls.as_slice() {
        [url] => Ok((dead_letters.beside(url)?, name_in(url))),
        [] => Err(Failure::WrongUse(format!(
            "{name} is not the dead-letter queue of any queue: give the queue of its messages by --to"
        ))),
        urls => Err(Failure::WrongUse(format!(
            "{name} is the dead-letter queue of {} queues: give the queue to which all of its messages go by --to, one of {}",
            urls.len(),
            urls.iter().map(|url| name_in(url)).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// The name in a URL, which has the account as well.
fn name_in(url: &str) -> String {
    url.parse::<QueueName>()
        .map_or_else(|_| url.to_owned(), |queue| queue.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_looked_up_in_the_region_of_the_dead_letters() {
        let connection = Connection::default();
        let region = |dead_letters: &str, to: &str| {
            let found = beside(&connection, &dead_letters.parse().unwrap(), &to.parse().unwrap());
            found.map(|found| found.region).map_err(|failure| failure.to_string())
        };
        let of = |region: &str| format!("https://sqs.{region}.amazonaws.com/1/a");
        assert_eq!(region(&of("eu-west-1"), "b").unwrap().as_deref(), Some("eu-west-1"));
        assert_eq!(region("a", "b").unwrap(), None);
        let refused = region(&of("eu-west-1"), &of("us-east-2")).unwrap_err();
        assert!(refused.contains("is in eu-west-1, but"), "{refused}");
    }
}
