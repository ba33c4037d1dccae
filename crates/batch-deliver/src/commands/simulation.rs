//! Simulated tables and queues as inputs, which are filled first.

use std::path::Path;
use std::sync::Arc;

use aws_sdk_dynamodb::types::WriteRequest;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::arguments::{Content, Service, SimulatedContent};
use crate::blocking::block_in_place;
use crate::connection::Connection;
use crate::console::{Console, counted};
use crate::format::{
    CsvItems, CsvOptions, Groups, JsonItems, Key, Messages, TableFormat, TableItems, TextFormat, Typing, Writes,
};
use crate::outcome::Failure;
use crate::sink::{
    self, ExistingQueue, ExistingTable, QueueName, SimulatedService, existing_in, existing_queue, existing_queue_in,
    made_up_item, made_up_message,
};
use crate::source::{Format, Input, SettledRecords, TableReads, Turns};

/// The key of a simulated table, if none is given.
const KEY: &str = "id:N";

/// What is simulated instead of a service.
pub(super) struct Simulation<'a> {
    rate: f64,
    content: &'a Content,
    console: &'a Console,
}

impl<'a> Simulation<'a> {
    /// The simulation of what is read, if one is requested. A command that takes entries needs to know what there is to take.
    pub(super) fn of_source(
        service: &Service,
        arguments: &'a SimulatedContent,
        console: &'a Console,
    ) -> Result<Option<Self>, Failure> {
        match (service.simulate, &arguments.simulate_with) {
            (Some(_), None) => Err(Failure::WrongUse(
                "a simulated table or queue has nothing to read: say with --simulate-with how many items or messages, or give a file \
                 of them; or leave out --simulate"
                    .to_owned(),
            )),
            _ => Ok(Self::if_filled(service, arguments, console)),
        }
    }

    /// The simulation of what is read, if it is requested.
    pub(super) fn if_filled(service: &Service, arguments: &'a SimulatedContent, console: &'a Console) -> Option<Self> {
        Some(Self {
            rate: service.simulate?,
            content: arguments.simulate_with.as_ref()?,
            console,
        })
    }

    /// A queue that accepts as much as is simulated.
    pub(super) fn target(&self, queue: &QueueName) -> ExistingQueue {
        let (simulated, url) = SimulatedService::queue(&queue.name, self.rate);
        existing_queue_in(&simulated, url, queue)
    }

    /// A queue with the messages.
    pub(super) async fn queue(&self, queue: &QueueName) -> Result<ExistingQueue, Failure> {
        let (simulated, url) = match self.content {
            Content::Number(number) => {
                let message = |number| made_up_message(queue.is_fifo(), number);
                // If one can be made up, all can: they differ in their numbers alone.
                message(0).map_err(|error| unmade(&error))?;
                self.tell(&queue.to_string(), *number, "message");
                let messages = (0..*number).filter_map(|number| message(number).ok());
                SimulatedService::filled_queue(&queue.name, messages).await?
            }
            Content::File(name) => {
                let messages = Messages {
                    is_json: true,
                    keeps_text: false,
                    groups: Groups::new(None, queue.is_fifo().then_some("queue"), TextFormat::Json)?,
                };
                let messages: Vec<SendMessageBatchRequestEntry> = entries(name, messages)?;
                self.tell(&queue.to_string(), messages.len() as u64, "message");
                SimulatedService::filled_queue(&queue.name, messages.into_iter()).await?
            }
        };
        Ok(existing_queue_in(&simulated, url, queue))
    }

    async fn table(&self, name: &str, key: Option<&Key>) -> Result<ExistingTable, Failure> {
        let key = match (key, self.content) {
            (Some(key), _) => key.clone(),
            (None, Content::Number(_)) => KEY.parse().map_err(Failure::Failed)?,
            (None, Content::File(_)) => {
                let words = "a simulated table needs its key: --key year:N,title:S";
                return Err(Failure::WrongUse(words.to_owned()));
            }
        };
        let simulated = match self.content {
            Content::Number(number) => {
                // If one can be made up, all can: they differ in their numbers alone.
                made_up_item(&key, 0).map_err(|error| unmade(&error))?;
                self.tell(name, *number, "item");
                let items = (0..*number).filter_map(|number| made_up_item(&key, number).ok());
                SimulatedService::filled_table(name, &key, self.rate, items).await?
            }
            Content::File(file) => {
                let items: Vec<WriteRequest> = entries(file, self.format(&key))?;
                self.tell(name, items.len() as u64, "item");
                SimulatedService::filled_table(name, &key, self.rate, items.into_iter()).await?
            }
        };
        let settings = vec![
            ("--simulate", self.rate.to_string()),
            ("--simulate-with", self.content.to_string()),
            ("--key", key.to_string()),
        ];
        existing_in(simulated, name, settings).await
    }

    fn tell(&self, name: &str, number: u64, what: &str) {
        self.console
            .info(&format!("{name} is simulated, with {}", counted(number, what)));
    }

    /// The items of a file, as `load` reads them.
    fn format(&self, key: &Key) -> TableItems {
        let writes = Writes::puts(Some(key.clone()));
        TableItems {
            format: TableFormat::Auto,
            json: JsonItems {
                table: None,
                typing: Typing::ByContent,
                writes: writes.clone(),
                keeps_text: false,
            },
            csv: CsvItems {
                options: CsvOptions::default(),
                writes,
                keeps_text: false,
                console: self.console.clone(),
                printed: Arc::default(),
                line_breaks: Arc::default(),
            },
        }
    }
}

/// The table that is read: as it is simulated, or the one with this name, which the option gives.
pub(super) async fn table(
    reads: &TableReads,
    connection: &Connection,
    option: &str,
    simulation: Option<&Simulation<'_>>,
    key: Option<&Key>,
) -> Result<ExistingTable, Failure> {
    match simulation {
        None => sink::existing(&reads.table, connection, option).await,
        Some(_) if reads.expression().is_some() => Err(Failure::WrongUse(
            "a simulated table evaluates no expressions: leave out --filter, --where and --key-condition".to_owned(),
        )),
        Some(simulation) => simulation.table(&reads.table, key).await,
    }
}

/// The queue that messages are taken from: as it is simulated, or the one with this name, which the option gives.
pub(super) async fn queue(
    queue: &QueueName,
    connection: &Connection,
    option: &str,
    simulation: Option<&Simulation<'_>>,
) -> Result<ExistingQueue, Failure> {
    match simulation {
        None => existing_queue(queue, connection, option).await,
        Some(simulation) => simulation.queue(queue).await,
    }
}

/// The entries of a file.
fn entries<E>(name: &str, format: impl Format<E> + 'static) -> Result<Vec<E>, Failure> {
    let wrong = |words: String| Failure::WrongUse(format!("the simulator cannot be filled: {words}"));
    let input = Input::file(Path::new(name)).map_err(|failure| wrong(failure.to_string()))?;
    let mut turns = Turns::new(vec![input], Arc::new(format), SettledRecords::default());
    let mut next = || turns.next().map_err(|error| wrong(error.to_string()));
    let mut read = || -> Result<Vec<E>, Failure> {
        let mut entries = Vec::new();
        while let Some(taken) = next()? {
            let line = taken.place.line;
            entries.push(taken.entry.map_err(|flaw| wrong(format!("{name}:{line}: {flaw}")))?);
        }
        Ok(entries)
    };
    block_in_place(&mut read)
}

fn unmade(error: &impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("an entry cannot be made up: {error}"))
}
