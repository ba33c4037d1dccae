//! Jobs that write to a table: whole items by batches, or single ones with expressions.

use std::sync::Arc;

use aws_sdk_dynamodb::types::WriteRequest;

use crate::arguments::{CommonArguments, Condition, TableArguments};
use crate::console::Console;
use crate::format::{CsvItems, CsvOptions, JsonItems, Key, TableFormat, TableItems, Typing, Writes};
use crate::job::InputJob;
use crate::outcome::Failure;
use crate::sink::{self, Access, ExistingTable, Expressions, ItemWrite, ItemWrites, Settings, Target};
use crate::source::Order;

/// Puts items, or deletes them.
pub(super) async fn whole(
    arguments: &TableArguments,
    deletes: bool,
) -> Result<InputJob<impl Target<Entry = WriteRequest> + use<>>, Failure> {
    Ok(whole_with_writes(arguments, deletes).await?.0)
}

/// The same, and the writes that it makes of items.
pub(super) async fn whole_with_writes(
    arguments: &TableArguments,
    deletes: bool,
) -> Result<(InputJob<impl Target<Entry = WriteRequest> + use<>>, Writes), Failure> {
    let common = &arguments.common;
    let (table, key) = sink::table(&arguments.table, arguments.items.key.clone(), &access(arguments)).await?;
    let writes = if deletes {
        Writes::deletes(needed(key)?)
    } else {
        Writes::puts(as_needed(key, common)?)
    };
    let (command, console) = (if deletes { "delete" } else { "load" }, common.output.console());
    let (items, settings) = items(arguments, writes.clone(), common.keeps_text(), &console)?;
    let mut job = common.input_job(command, Arc::new(items), table, settings, console);
    // Deletes have the same result in any order.
    job.reads.order = job.reads.order.or(deletes.then_some(Order::Turns));
    Ok((job, writes))
}

/// Writes single items with the expressions that a table with this key needs.
pub(super) async fn single<X>(
    command: &'static str,
    arguments: &TableArguments,
    condition: &Condition,
    more: Settings,
    expressions: X,
) -> Result<InputJob<impl Target<Entry = ItemWrite> + use<X>>, Failure>
where
    X: FnOnce(Option<Key>) -> Result<Expressions, Failure>,
{
    Ok(single_with_key(command, arguments, condition, more, expressions)
        .await?
        .0)
}

/// The same, and the key of the table, if it is known.
pub(super) async fn single_with_key<X>(
    command: &'static str,
    arguments: &TableArguments,
    condition: &Condition,
    more: Settings,
    expressions: X,
) -> Result<(InputJob<impl Target<Entry = ItemWrite> + use<X>>, Option<Key>), Failure>
where
    X: FnOnce(Option<Key>) -> Result<Expressions, Failure>,
{
    let common = &arguments.common;
    let (table, key) = sink::table(&arguments.table, arguments.items.key.clone(), &access(arguments)).await?;
    let table = sink::item_writes(table)?;
    let expressions = Arc::new(expressions(key.clone())?);
    let console = common.output.console();
    let keeps_text = common.keeps_text() || condition.failed.is_some();
    let writes = Writes::whole(as_needed(key.clone(), common)?, expressions.change.purpose());
    let (items, mut settings) = items(arguments, writes, keeps_text, &console)?;
    settings.extend(condition.settings());
    settings.extend(more);
    let items = Arc::new(items);
    let format = Arc::new(ItemWrites { items, expressions });
    let job = InputJob {
        failed: condition.failed.clone(),
        ..common.input_job(command, format, table, settings, console)
    };
    Ok((job, key))
}

/// How the table is reached.
fn access(arguments: &TableArguments) -> Access {
    Access {
        refuses_unindexed: arguments.refuses_unindexed,
        ..arguments.common.access()
    }
}

/// The key of the table, without which a command cannot continue.
pub(super) fn needed(key: Option<Key>) -> Result<Key, Failure> {
    key.ok_or_else(|| {
        let words = "dynamodb:DescribeTable is not permitted: give the key of the table as --key year:N,title:S";
        Failure::WrongUse(words.to_owned())
    })
}

/// The key of a table that exists: as the table reports it, or as it is given if the table may not be asked.
pub(super) fn known_key(name: &str, table: &ExistingTable, given: Option<&Key>) -> Result<Key, Failure> {
    match (table.key(), given) {
        (Some(key), Some(given)) if key != *given => Err(Failure::WrongUse(format!(
            "the key of {name} is {key}, but --key is {given}: leave out --key"
        ))),
        (key, given) => needed(key.or_else(|| given.cloned())),
    }
}

/// Only a delivery can do without the key, which the service knows.
fn as_needed(key: Option<Key>, common: &CommonArguments) -> Result<Option<Key>, Failure> {
    if common.dry_run { needed(key).map(Some) } else { Ok(key) }
}

/// How the inputs are read, and the settings that identify that.
fn items(
    arguments: &TableArguments,
    writes: Writes,
    keeps_text: bool,
    console: &Console,
) -> Result<(TableItems, Settings), Failure> {
    let rows = CsvOptions::from(&arguments.items.rows);
    let format = arguments.format;
    if let (TableFormat::Json | TableFormat::Dynamodb, Some((option, _))) = (format, rows.settings().next()) {
        let words = format!("{option} is for CSV and TSV, but --format is {}", format.name());
        return Err(Failure::WrongUse(words));
    }
    let mut settings = vec![("--format", format.name().to_owned())];
    settings.extend(rows.settings());
    let items = TableItems {
        format,
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
            console: console.clone(),
            printed: Arc::default(),
            line_breaks: Arc::default(),
        },
    };
    Ok((items, settings))
}
