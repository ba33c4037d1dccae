//! Writes to a table.

use std::sync::Arc;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::dynamo::{DynamoTable, MAX_REQUESTS};
use aws_sdk_dynamodb::Client;

use super::simulated::Simulated;
use super::{Job, Outcome};
use crate::arguments::{TableFormat, ToTable};
use crate::connect;
use crate::console::Console;
use crate::failure::Failure;
use crate::format::csv::CsvItems;
use crate::format::items::{JsonItems, Typing};
use crate::format::table::TableItems;
use crate::key::Key;
use crate::write::Writes;

/// Puts the items of the inputs, or deletes them.
pub(super) async fn run(arguments: ToTable, deletes: bool) -> Result<Outcome, Failure> {
    let (client, key, simulated) = service(&arguments).await?;
    let console = arguments.common.telling.console();
    let writes = match (&key, deletes) {
        (Some(key), true) => Writes::deletes(key.clone()),
        (None, true) => {
            let words =
                "the key of the table may not be asked (dynamodb:DescribeTable): give it as --key year:N,title:S";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        (_, false) => Writes::puts(key.clone()),
    };
    let format = Box::new(format(&arguments, writes, console.clone()));
    let job = Job {
        command: if deletes { "delete" } else { "load" },
        largest_call: MAX_REQUESTS,
        delivery: delivery(client, &arguments.table, key.as_ref()),
        format,
        destination: arguments.table,
        simulated,
        console,
    };
    job.run(&arguments.common).await
}

/// How the inputs are read.
fn format(arguments: &ToTable, writes: Writes, console: Console) -> TableItems {
    let keeps_text = arguments.common.keeping.dead_letter.is_some();
    TableItems {
        format: arguments.format,
        json: JsonItems {
            typing: match arguments.format {
                TableFormat::Json => Typing::Plain,
                TableFormat::Dynamodb => Typing::Typed,
                _ => Typing::ByContent,
            },
            writes: writes.clone(),
            keeps_text,
        },
        csv: CsvItems {
            types: arguments.types.clone().unwrap_or_default(),
            writes,
            keeps_text,
            console,
            told: Arc::default(),
        },
    }
}

/// The client of the table, and its key if it is known.
async fn service(arguments: &ToTable) -> Result<(Client, Option<Key>, Option<Simulated>), Failure> {
    if let Some(rate) = arguments.common.service.simulate {
        let Some(key) = arguments.key.clone() else {
            let words = "a simulated table needs its key: --key year:N,title:S";
            return Err(Failure::WrongUse(words.to_owned()));
        };
        let simulated = Simulated::table(&arguments.table, &key, rate);
        return Ok((simulated.simulator.dynamo_client(), Some(key), Some(simulated)));
    }
    let config = connect::config(&arguments.common.service).await?;
    let client = Client::new(&config);
    let key = match &arguments.key {
        Some(key) => Some(key.clone()),
        None => connect::key(&client, &arguments.table).await?,
    };
    Ok((client, key, None))
}

fn delivery(client: Client, table: &str, key: Option<&Key>) -> Delivery<DynamoTable> {
    let delivery = Delivery::to_dynamo(client, table);
    match key {
        None => delivery,
        Some(Key { partition, sort: None }) => delivery.key(&partition.name),
        Some(Key {
            partition,
            sort: Some(sort),
        }) => delivery.key_with_sort(&partition.name, &sort.name),
    }
}
