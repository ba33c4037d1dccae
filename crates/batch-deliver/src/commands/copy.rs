//! Copies a table into another one.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use serde_json::json;

use super::from_table::{FromTable, Opened};
use super::simulation::{Simulation, table};
use super::table::needed;
use crate::arguments::{SimulatedTable, ToCopy};
use crate::connection::{Connection, words};
use crate::console::{Console, counted, grouped, size};
use crate::format::Writes;
use crate::keeping::Places;
use crate::outcome::{Failure, Outcome};
use crate::sink::{self, Access, Change, Existing, Expressions, PaceOptions};
use crate::source::TableReads;

/// The placeholder for the partition key, which every item has.
const KEY: &str = "#key";

/// Bytes that a read unit covers in an eventually consistent read, and a write unit.
const READ_UNIT: u64 = 8_192;
const WRITE_UNIT: u64 = 1_024;

/// Copies the items.
pub(super) async fn run(arguments: ToCopy) -> Result<Outcome, Failure> {
    let console = arguments.output.console();
    let reads = arguments
        .reads
        .of(&arguments.from, arguments.projection.project.as_deref())
        .checked()?;
    let (from, to) = arguments.sides.connections(&arguments.service);
    let SimulatedTable { simulated, key } = &arguments.simulation;
    let simulation = Simulation::if_filled(&arguments.service, simulated, &console);
    let filter = arguments.reads.filter.as_deref();
    let source = table(&arguments.from, &from, simulation.as_ref(), key.as_ref(), filter).await?;
    let key = needed(source.key())?;
    let reads = reads.including(key.attributes().map(|attribute| attribute.name.as_str()));
    if arguments.dry_run {
        return dry_run(&reads, &source, &console);
    }
    // A simulated table is another one, and empty.
    let target = match arguments.service.simulate {
        Some(_) => None,
        None => Some(sink::existing(&arguments.to, &to).await?),
    };
    if let Some(target) = &target {
        check(&arguments, &source, target)?;
    }
    let access = Access {
        connection: to.clone(),
        simulate: arguments.service.simulate,
        is_dry_run: false,
    };
    let (destination, _) = sink::table(&arguments.to, Some(key.clone()), &access).await?;
    let options = PaceOptions::from(&arguments.pace).options()?;
    let copy = FromTable {
        command: "copy",
        reads: &reads,
        table: &source,
        places: Places::from(&arguments.recovery),
        options,
        settings: vec![("--if-absent", arguments.if_absent.to_string())],
        connection: Connection::from(&arguments.service),
        every: arguments.output.every(),
        console: &console,
    };
    copy.places.check(&[], &[])?;
    let journal = copy.journal(&destination)?;
    let has_begun = journal.as_ref().is_some_and(Opened::has_begun);
    if let Some(target) = target.filter(|_| !has_begun && !arguments.if_absent && !arguments.overwrite) {
        check_empty(&arguments.to, &target).await?;
    }
    let writes = Writes::puts(Some(key.clone()));
    if !arguments.if_absent {
        return copy.deliver(&destination, journal, move |item| writes.of(item)).await;
    }
    let destination = sink::item_writes(destination)?;
    let expressions = Expressions {
        change: Change::Put,
        condition: Some(format!("attribute_not_exists({KEY})")),
        names: HashMap::from([(KEY.to_owned(), key.partition.name)]),
        values: HashMap::new(),
    };
    let entry = move |item| expressions.write(writes.of(item)?);
    copy.deliver(&destination, journal, entry).await
}

/// Refuses tables that are the same, or whose keys differ.
fn check(arguments: &ToCopy, source: &Existing, target: &Existing) -> Result<(), Failure> {
    let (from, to) = (&arguments.from, &arguments.to);
    let is_same = match (source.arn(), target.arn()) {
        (Some(source), Some(target)) => source == target,
        _ => from == to,
    };
    if is_same && source.settings == target.settings {
        return Err(Failure::WrongUse(format!(
            "{from} and {to} are the same table: a copy needs two, such as with --to-region or --to-profile"
        )));
    }
    let keys = (source.key(), target.key());
    if let (Some(source), Some(target)) = &keys
        && source != target
    {
        return Err(Failure::WrongUse(format!(
            "the key of {from} is {source}, but that of {to} is {target}: an item of one is none of the other"
        )));
    }
    Ok(())
}

/// Refuses a table that has items.
async fn check_empty(name: &str, table: &Existing) -> Result<(), Failure> {
    let first = table.client.scan().table_name(name).limit(1).consistent_read(true);
    match first.send().await {
        Ok(page) if page.items().is_empty() => Ok(()),
        Ok(_) => Err(Failure::WrongUse(format!(
            "{name} has items: --if-absent leaves them as they are, --overwrite replaces those with the same keys"
        ))),
        Err(error) if error.code().is_some_and(|code| code.starts_with("AccessDenied")) => {
            Err(Failure::WrongUse(format!(
                "whether {name} has items is not known, because dynamodb:Scan is not permitted there: give --if-absent or --overwrite"
            )))
        }
        Err(error) => Err(Failure::Failed(format!("{name} cannot be read: {}", words(&error)))),
    }
}

/// Says what a copy is about, by what the table tells of itself.
fn dry_run(reads: &TableReads, source: &Existing, console: &Console) -> Result<Outcome, Failure> {
    let (items, bytes) = source.size().unwrap_or_default();
    let average = bytes.checked_div(items).unwrap_or_default();
    let write_units = items * average.div_ceil(WRITE_UNIT).max(1);
    let read_units = bytes.div_ceil(READ_UNIT) * if reads.is_consistent { 2 } else { 1 };
    let before_filter = if reads.filter.is_some() {
        " before the filter"
    } else {
        ""
    };
    console.info(&format!(
        "{} has about {}{before_filter}, {}, as of up to six hours ago: {} read units, {} write units; nothing was copied",
        reads.table,
        counted(items, "item"),
        size(bytes),
        grouped(read_units),
        grouped(write_units),
    ));
    let event = json!({
        "event": "dry_run", "items": items, "bytes": bytes, "read_units": read_units, "write_units": write_units,
    });
    console.report(&event)?;
    Ok(Outcome::Delivered)
}
