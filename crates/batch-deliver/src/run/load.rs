//! Writes to a table.

use std::sync::Arc;

use aws_batch_delivery::targets::dynamo::{DynamoTable, item_size};
use aws_batch_simulator::Simulator;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::WriteRequest;

use super::dry_run::Measured;
use super::simulated::Simulated;
use super::{Job, Settings, name};
use crate::arguments::{Order, TableFormat, ToDelete, ToTable, region};
use crate::connect;
use crate::console::Console;
use crate::format::{CsvItems, JsonItems, Key, TableItems, Typing, Writes};
use crate::keeping::Identity;
use crate::outcome::{Failure, Outcome};

/// Bytes of an item that one write unit writes.
const WRITE_UNIT: usize = 1_024;

/// Puts the items of the inputs.
pub(super) async fn run(arguments: ToTable) -> Result<Outcome, Failure> {
    job(&arguments, false).await?.run(&arguments.common).await
}

/// Deletes the items of the inputs.
pub(super) async fn run_delete(arguments: ToDelete) -> Result<Outcome, Failure> {
    let ToDelete { from, yes } = arguments;
    let mut job = job(&from, true).await?;
    job.asks = !yes;
    job.run(&from.common).await
}

/// The job of a delivery to a table.
pub(crate) async fn job(arguments: &ToTable, deletes: bool) -> Result<Job<DynamoTable>, Failure> {
    let (client, key, mut settings, simulated) = service(arguments).await?;
    settings.push(("--format", name(&arguments.format)));
    settings.extend(arguments.items.rows.settings());
    if let (TableFormat::Json | TableFormat::Dynamodb, Some((option, _))) =
        (arguments.format, arguments.items.rows.settings().next())
    {
        let words = format!(
            "{option} is for CSV and TSV, but --format is {}",
            name(&arguments.format)
        );
        return Err(Failure::WrongUse(words));
    }
    let console = arguments.common.telling.console();
    let writes = match (&key, deletes) {
        (Some(key), true) => Writes::deletes(key.clone()),
        (None, false) if !arguments.common.dry_run => Writes::puts(None),
        (None, _) => {
            let words = "dynamodb:DescribeTable is not permitted: give the key of the table as --key year:N,title:S";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        (Some(key), false) => Writes::puts(Some(key.clone())),
    };
    let format = Arc::new(format(arguments, writes, console.clone()));
    Ok(Job {
        command: if deletes { "delete" } else { "load" },
        target: target(client, &arguments.table, key.as_ref()),
        measure,
        unit: "write units",
        format,
        destination: arguments.table.clone(),
        settings,
        simulated,
        // Deletes have the same result in any order.
        order: arguments.common.order.or(deletes.then_some(Order::Turns)),
        asks: false,
        console,
    })
}

/// How the inputs are read.
fn format(arguments: &ToTable, writes: Writes, console: Console) -> TableItems {
    let keeps_text = arguments.common.keeping.dead_letter.is_some();
    TableItems {
        format: arguments.format,
        json: JsonItems {
            table: arguments.table.rsplit('/').next().map(ToOwned::to_owned),
            typing: match arguments.format {
                TableFormat::Json => Typing::Plain,
                TableFormat::Dynamodb => Typing::Typed,
                _ => Typing::ByContent,
            },
            writes: writes.clone(),
            keeps_text,
        },
        csv: CsvItems {
            options: arguments.items.rows.clone(),
            writes,
            keeps_text,
            console,
            told: Arc::default(),
        },
    }
}

/// The client, the table's key if it is known, and the settings that identify the service and the table.
async fn service(arguments: &ToTable) -> Result<(Client, Option<Key>, Settings, Option<Arc<Simulated>>), Failure> {
    let service = arguments
        .common
        .service
        .within(region::of_arn(&arguments.table), "the table")?;
    if let Some(rate) = service.simulate {
        let Some(key) = arguments.items.key.clone() else {
            let words = "a simulated table needs its key: --key year:N,title:S";
            return Err(Failure::WrongUse(words.to_owned()));
        };
        let simulated = Simulated::table(&arguments.table, &key, rate);
        return Ok((
            simulated.simulator.dynamo_client(),
            Some(key),
            vec![("--simulate", rate.to_string())],
            Some(Arc::new(simulated)),
        ));
    }
    if let (true, Some(key)) = (arguments.common.dry_run, &arguments.items.key) {
        // A dry run makes no call, so it needs neither an account nor a region.
        return Ok((Simulator::new(1).dynamo_client(), Some(key.clone()), Vec::new(), None));
    }
    let config = connect::config(&service).await?;
    let client = Client::new(&config);
    let mut settings = connect::settings(&config);
    let key = if let Some(key) = &arguments.items.key {
        Some(key.clone())
    } else {
        let (key, arn) = connect::key(&client, &arguments.table).await?;
        settings.extend(arn.map(|arn| (Identity::TABLE_ARN, arn)));
        key
    };
    Ok((client, key, settings, None))
}

fn target(client: Client, table: &str, key: Option<&Key>) -> DynamoTable {
    let target = DynamoTable::new(client, table);
    match key {
        None => target,
        Some(Key { partition, sort: None }) => target.key(&partition.name),
        Some(Key {
            partition,
            sort: Some(sort),
        }) => target.key_with_sort(&partition.name, &sort.name),
    }
}

/// The size of an item, and a write unit for each started KiB. The units of a delete depend on the item in the table.
fn measure(write: &WriteRequest) -> Measured {
    let bytes = match (write.put_request(), write.delete_request()) {
        (Some(put), _) => item_size(put.item()),
        (_, Some(delete)) => item_size(delete.key()),
        _ => 0,
    };
    let units = bytes.div_ceil(WRITE_UNIT).max(1);
    Measured { bytes, units }
}
