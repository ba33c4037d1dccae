//! Writes the items of a table to a file.

use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::estimate::Estimate;
use super::mismatch::mismatch;
use super::simulation::{Simulation, table};
use crate::arguments::{ExportArguments, SimulatedTable};
use crate::connection::{Connection, can_be_renewed};
use crate::console::{Console, counted, grouped, lossy_words, rate, size, time};
use crate::format::{ItemFormat, named_as_rows};
use crate::keeping::Location;
use crate::outcome::{CommandOutcome, Failure};
use crate::output::is_standard;
use crate::sink::LineWriter;
use crate::source::{ScannedItems, unread};
use crate::stop::Stop;

/// Writes the items.
pub(super) async fn run(arguments: ExportArguments) -> Result<CommandOutcome, Failure> {
    let console = arguments.output.console();
    let is_standard = matches!(&arguments.file, Location::File(path) if is_standard(path));
    if is_standard && console.is_json() {
        let words = "the items and --json cannot both be written to the standard output: leave out --json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let file = arguments.file.to_string();
    if let Some(rows) = named_as_rows(&file) {
        let words = format!("{file} would be read as {rows}, but an export has lines of JSON: name it .jsonl instead");
        return Err(Failure::WrongUse(words));
    }
    let SimulatedTable { simulated, key } = &arguments.simulation;
    let simulation = Simulation::of_source(&arguments.service, simulated, &console)?;
    let connection = Connection::from(&arguments.service);
    let reads = arguments
        .reads
        .of(&arguments.table, arguments.projection.project.as_deref());
    let reads = reads.checked()?;
    if key.is_some() && simulation.is_none() {
        let words = "an export needs no key: --key is for the table of --simulate-with";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let table = table(&reads, &connection, "--table", simulation.as_ref(), key.as_ref()).await?;
    if arguments.dry_run {
        let estimate = Estimate {
            read_price: arguments.price.read_price,
            ..Estimate::by(&table, &reads).await?
        };
        return estimate.print(&console, "nothing was exported");
    }
    let lines = match &arguments.file {
        Location::File(_) if is_standard => LineWriter::standard()?,
        Location::File(path) => LineWriter::file(path)?,
        Location::Object { bucket, key } => LineWriter::object(bucket, key, &connection).await?,
    };
    let stop = Stop::of_command(&console, can_be_renewed);
    let when_nothing_matches = table.key().and_then(|key| mismatch(&reads, &key));
    let scan = reads.scan_from(table.client, stop.token.clone(), None);
    let export = Export {
        table: &arguments.table,
        format: arguments.format,
        every: arguments.output.every(),
        console: &console,
        stop: &stop,
        when_nothing_matches,
    };
    export.write(scan.items(), lines).await
}

struct Export<'a> {
    table: &'a str,
    format: ItemFormat,
    every: Duration,
    console: &'a Console,
    stop: &'a Stop,
    when_nothing_matches: Option<String>,
}

impl Export<'_> {
    async fn write(&self, mut items: ScannedItems, mut lines: LineWriter) -> Result<CommandOutcome, Failure> {
        let started = Instant::now();
        let progress = items.progress();
        self.console.show_bar(None);
        let (mut written, mut lossy) = (0_u64, 0_u64);
        let mut line = Vec::new();
        let mut next_words = started + self.every;
        let ended = loop {
            // The clock continues while no page comes.
            match timeout_at(next_words, items.next()).await {
                Err(_) => {}
                Ok(Some(Ok(item))) => {
                    line.clear();
                    lossy += u64::from(!self.format.append(&item, &mut line));
                    written += 1;
                    if let Err(failure) = lines.write(&line).await {
                        break Err(failure);
                    }
                }
                Ok(Some(Err(error))) => {
                    break Err(Failure::Failed(format!(
                        "{} cannot be read to the end: {}",
                        self.table,
                        unread(&error)
                    )));
                }
                Ok(None) => break Ok(()),
            }
            if Instant::now() >= next_words {
                next_words = Instant::now() + self.every;
                let units = progress.figures().units;
                let words = format!("{} written, {} read units", grouped(written), rate(units));
                let event = json!({"event": "progress", "items": written, "read_units": units});
                if let Err(failure) = self.console.show(words, &event) {
                    break Err(failure);
                }
            }
        };
        self.console.clear_bar();
        let name = lines.name().to_owned();
        let bytes = match ended {
            Ok(()) => lines.finish().await?,
            Err(_) if self.stop.was_interrupted() => {
                lines.abandon().await;
                self.console.warn(&format!(
                    "interrupted: the items of {} are not complete in {name}",
                    self.table
                ));
                return Ok(CommandOutcome::Interrupted);
            }
            Err(failure) => {
                lines.abandon().await;
                return Err(failure);
            }
        };
        let (figures, elapsed) = (progress.figures(), started.elapsed());
        #[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
        let pace = written as f64 / elapsed.as_secs_f64().max(1e-3);
        self.console.info(&format!(
            "{} of {} written to {name} in {} ({}/s), {}: {} read, {} read units",
            counted(written, "item"),
            self.table,
            time(elapsed),
            rate(pace),
            size(bytes),
            grouped(figures.scanned),
            rate(figures.units),
        ));
        if let Some(words) = self.when_nothing_matches.as_ref().filter(|_| written == 0) {
            self.console.warn(words);
        }
        if lossy > 0 {
            self.console.warn(&lossy_words(lossy));
        }
        let event = json!({
            "event": "report", "items": written, "scanned": figures.scanned, "read_units": figures.units, "bytes": bytes,
            "seconds": elapsed.as_secs_f64(), "lossy": lossy,
        });
        self.console.report(&event)?;
        Ok(CommandOutcome::Delivered)
    }
}
