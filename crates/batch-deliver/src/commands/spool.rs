//! Looks into the folder of a spool, or moves its entries to a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::task::block_in_place;

use crate::arguments::ToSpool;
use crate::console::{Console, escaped, grouped, size, time};
use crate::keeping::MovedLines;
use crate::outcome::{Failure, Outcome};
use crate::sink::SafeLines;
use crate::source::Spool;
use crate::stop::Stop;

/// How many causes are named; others are counted.
const CAUSES_SHOWN: usize = 5;

/// Runs the command.
pub(super) fn run(arguments: &ToSpool) -> Result<Outcome, Failure> {
    let console = arguments.output.console();
    let Some(to) = &arguments.to else {
        return block_in_place(|| shown(&arguments.folder, &console));
    };
    if to == "-" && console.is_json() {
        let words = "the entries and --json cannot both be written to the standard output: leave out --json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let stop = Stop::default();
    stop.on_interrupt(console.clone());
    block_in_place(|| moved(arguments, to, &console, &stop))
}

/// Prints what is in the folder, which may be in use.
fn shown(folder: &Path, console: &Console) -> Result<Outcome, Failure> {
    let figures = Spool::figures(folder)?;
    let oldest = figures.oldest.map(|age| format!(", the oldest of {} ago", time(age)));
    console.info(&format!(
        "{} to deliver{}; {} refused; {} in all",
        counted(figures.entries),
        oldest.unwrap_or_default(),
        grouped(figures.refused),
        size(figures.bytes)
    ));
    console.report(&json!({
        "event": "report", "entries": figures.entries, "refused": figures.refused, "bytes": figures.bytes,
        "oldest_seconds": figures.oldest.as_ref().map(Duration::as_secs_f64),
    }))?;
    Ok(Outcome::Delivered)
}

/// Moves entries, each of which is removed from the spool when its line is on the disk.
fn moved(arguments: &ToSpool, to: &str, console: &Console, stop: &Stop) -> Result<Outcome, Failure> {
    let mut spool = Spool::open(&arguments.folder, arguments.refused)?;
    let unopened = |error| Failure::WrongUse(format!("{to} cannot be written: {error}"));
    let mut lines = MovedLines::open(to).map_err(unopened)?;
    let (mut written, mut causes) = (0, BTreeMap::<String, u64>::new());
    while !stop.token.is_cancelled() {
        let entries = spool.first()?;
        let Some(last) = entries.last().map(|entry| entry.number) else {
            break;
        };
        let joined: Vec<u8> = entries
            .iter()
            .flat_map(|entry| [&*entry.json, b"\n"])
            .flatten()
            .copied()
            .collect();
        let unwritten = |error| Failure::Failed(format!("{to} cannot be written: {error}"));
        lines.write_all(&joined).map_err(unwritten)?;
        lines.make_safe().map_err(unwritten)?;
        spool.remove(last)?;
        written += entries.len() as u64;
        for cause in entries.into_iter().filter_map(|entry| entry.cause) {
            *causes.entry(cause).or_default() += 1;
        }
    }
    spool.close()?;
    report(arguments, to, console, stop, written, causes)
}

fn report(
    arguments: &ToSpool,
    to: &str,
    console: &Console,
    stop: &Stop,
    written: u64,
    causes: BTreeMap<String, u64>,
) -> Result<Outcome, Failure> {
    let (from, place) = (
        arguments.folder.display(),
        if to == "-" { "the standard output" } else { to },
    );
    console.info(&format!("{} moved from {from} to {place}", counted(written)));
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, entries)| std::cmp::Reverse(*entries));
    for (cause, entries) in causes.iter().take(CAUSES_SHOWN) {
        console.info(&format!("{} × {}", grouped(*entries), escaped(cause)));
    }
    if causes.len() > CAUSES_SHOWN {
        let others = causes[CAUSES_SHOWN..].iter().map(|(_, entries)| entries).sum();
        console.info(&format!("{} × other causes", grouped(others)));
    }
    console.report(&json!({ "event": "report", "written": written, "interrupted": stop.was_interrupted() }))?;
    if stop.was_interrupted() {
        console.info(&format!(
            "interrupted: the rest stays in {from}, and the same command goes on"
        ));
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Delivered)
}

fn counted(entries: u64) -> String {
    let noun = if entries == 1 { "entry" } else { "entries" };
    format!("{} {noun}", grouped(entries))
}
