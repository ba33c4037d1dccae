//! Puts items into a table.

use std::sync::Arc;

use aws_sdk_dynamodb::types::WriteRequest;

use super::deliver::deliver;
use crate::arguments::ToTable;
use crate::console::Console;
use crate::delivery::Job;
use crate::format::{CsvItems, CsvOptions, JsonItems, TableFormat, TableItems, Typing, Writes};
use crate::outcome::{Failure, Outcome};
use crate::sink::{self, Target};
use crate::source::Order;

/// Puts the items of the inputs.
pub(super) async fn run(arguments: ToTable) -> Result<Outcome, Failure> {
    deliver(job(&arguments, false).await?, &arguments.common).await
}

/// The job of a delivery to a table.
pub(super) async fn job(
    arguments: &ToTable,
    deletes: bool,
) -> Result<Job<impl Target<Entry = WriteRequest> + use<>>, Failure> {
    let common = &arguments.common;
    let (table, key) = sink::table(&arguments.table, arguments.items.key.clone(), &common.access()).await?;
    let rows = CsvOptions::from(&arguments.items.rows);
    let format = arguments.format;
    if let (TableFormat::Json | TableFormat::Dynamodb, Some((option, _))) = (format, rows.settings().next()) {
        let words = format!("{option} is for CSV and TSV, but --format is {}", format.name());
        return Err(Failure::WrongUse(words));
    }
    let mut settings = vec![("--format", format.name().to_owned())];
    settings.extend(rows.settings());
    let writes = match (key, deletes) {
        (Some(key), true) => Writes::deletes(key),
        (None, false) if !common.dry_run => Writes::puts(None),
        (None, _) => {
            let words = "dynamodb:DescribeTable is not permitted: give the key of the table as --key year:N,title:S";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        (Some(key), false) => Writes::puts(Some(key)),
    };
    let command = if deletes { "delete" } else { "load" };
    let console = common.output.console();
    let items = Arc::new(items(arguments, rows, writes, console.clone()));
    let job = common.job(command, items, table, settings, console);
    Ok(Job {
        // Deletes have the same result in any order.
        order: job.order.or(deletes.then_some(Order::Turns)),
        ..job
    })
}

/// How the inputs are read.
fn items(arguments: &ToTable, rows: CsvOptions, writes: Writes, console: Console) -> TableItems {
    let keeps_text = arguments.common.keeps_text();
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
            options: rows,
            writes,
            keeps_text,
            console,
            printed: Arc::default(),
        },
    }
}
