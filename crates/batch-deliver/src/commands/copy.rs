//! Copies a table into another one.

use std::collections::HashMap;

use super::estimate::{Estimate, write_units};
use super::mismatch::mismatch;
use super::simulation::{Simulation, table};
use super::site;
use super::table::known_key;
use super::table_delivery::TableDelivery;
use crate::arguments::{CopyArguments, SimulatedTable};
use crate::connection::{Connection, LookupTime, words};
use crate::console::Console;
use crate::format::Writes;
use crate::job::Job;
use crate::keeping::Places;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{self, Access, Change, Destination, ExistingTable, Expressions, PaceOptions, Target};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;

/// The placeholder for the partition key, which every item has.
const KEY: &str = "#key";

/// Copies the items.
pub(super) async fn run(arguments: CopyArguments) -> Result<CommandOutcome, Failure> {
    let console = arguments.output.console();
    let reads = arguments
        .reads
        .of(&arguments.from, arguments.projection.project.as_deref())
        .checked()?;
    let (from, to) = arguments.sides.connections(&arguments.service);
    let [from, to] = [from, to].map(|side| side.until(arguments.pace.deadline));
    let SimulatedTable { simulated, key } = &arguments.simulation;
    let simulation = Simulation::if_filled(&arguments.service, simulated, &console);
    if simulation.is_none() {
        to.check_profile().await?;
    }
    let has_journal = arguments.recovery.resume.is_some();
    let source = table(&reads, &from, "--from", simulation.as_ref(), key.as_ref()).await?;
    let key = known_key(&arguments.from, &source, key.as_ref())?;
    let reads = reads.including(key.attributes().map(|attribute| attribute.name.as_str()));
    if arguments.dry_run {
        let read = Estimate::by(&source, &reads).await?;
        let size = (read.items, read.bytes.unwrap_or_default());
        let estimate = Estimate {
            write_units: Some(write_units(read.items, size)),
            read_price: arguments.read_price.read_price,
            write_price: arguments.write_price.write_price,
            ..read
        };
        return estimate.print(&console, "nothing was copied");
    }
    let source = source.with_account(has_journal).await;
    // A simulated table is another one, and empty.
    let target = if arguments.service.simulate.is_some() {
        None
    } else {
        let target = sink::existing(&arguments.to, &to, "--to").await?;
        Some(target.with_account(has_journal).await)
    };
    if let Some(target) = &target {
        check(&arguments, &source, target)?;
    }
    let destination = if let Some(target) = &target {
        target.destination(&arguments.to, &key)
    } else {
        let access = Access {
            connection: to.clone(),
            simulate: arguments.service.simulate,
            is_dry_run: false,
            has_journal,
            refuses_unindexed: false,
        };
        sink::table(&arguments.to, Some(key.clone()), &access).await?.0
    };
    let from_table = TableDelivery {
        reads: &reads,
        table: &source,
        places: Places::from(&arguments.recovery),
        claim: arguments.recovery.claim(),
        options: PaceOptions::from(&arguments.pace).options()?,
        when_nothing_matches: mismatch(&reads, &key),
    };
    from_table.places.check(&[], &[])?;
    let writes = Writes::puts(Some(key.clone()));
    let (target, time) = (target.as_ref(), to.lookup_time);
    if !arguments.if_absent {
        let job = job(&arguments, destination, console);
        let opened = from_table.open(&job, move |item| writes.of(item)).await?;
        begin(&arguments, &job, &source, target, opened.has_begun, time).await?;
        return from_table.deliver(&job, opened).await;
    }
    let expressions = Expressions {
        change: Change::Put,
        condition: Some(format!("attribute_not_exists({KEY})")),
        names: HashMap::from([(KEY.to_owned(), key.partition.name)]),
        values: HashMap::new(),
    };
    let job = job(&arguments, sink::item_writes(destination)?, console);
    let opened = from_table.open(&job, move |item| expressions.write(writes.of(item)?));
    let opened = opened.await?;
    begin(&arguments, &job, &source, target, opened.has_begun, time).await?;
    from_table.deliver(&job, opened).await
}

fn job<T: Target>(arguments: &CopyArguments, destination: Destination<T>, console: Console) -> Job<T> {
    Job {
        command: "copy",
        destination,
        settings: vec![("--if-absent", arguments.if_absent.to_string())],
        keep_going: 0,
        concurrency: arguments.pace.concurrency,
        every: arguments.output.every(),
        connection: Connection::from(&arguments.service).until(arguments.pace.deadline),
        console,
    }
}

/// Says where both tables are. A copy that begins is refused if its target has items that it would replace.
async fn begin<T: Target>(
    arguments: &CopyArguments,
    job: &Job<T>,
    source: &ExistingTable,
    target: Option<&ExistingTable>,
    has_begun: bool,
    time: LookupTime,
) -> Result<(), Failure> {
    if let Some(target) = target.filter(|_| !has_begun && !arguments.if_absent && !arguments.overwrite) {
        check_empty(&arguments.to, target, time).await?;
    }
    let places = [
        (&*arguments.from, source.site.as_ref()),
        (&*arguments.to, job.destination.site.as_ref()),
    ];
    site::say(&job.console, &places, false).await;
    Ok(())
}

/// Refuses tables that are the same, or whose keys differ.
fn check(arguments: &CopyArguments, source: &ExistingTable, target: &ExistingTable) -> Result<(), Failure> {
    let (from, to) = (&arguments.from, &arguments.to);
    if source.is_same(from, target, to) {
        return Err(Failure::WrongUse(format!(
            "{from} and {to} are the same table: a copy needs two, such as with --to-region or --to-profile"
        )));
    }
    let keys = (source.key(), target.key());
    if let (Some(source), Some(target)) = &keys
        && source != target
    {
        return Err(Failure::WrongUse(format!(
            "the key of {from} is {source}, but that of {to} is {target}: an item of one cannot be an item of the other"
        )));
    }
    Ok(())
}

/// Refuses a table that has items.
async fn check_empty(name: &str, table: &ExistingTable, time: LookupTime) -> Result<(), Failure> {
    let first = table.client.scan().table_name(name).limit(1).consistent_read(true);
    match time.wait(&format!("the table {name}"), first.send()).await? {
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
