//! Inspects the folder of a spool, or moves its entries to a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::arguments::SpoolArguments;
use crate::blocking::block_in_place;
use crate::console::{Console, escaped, grouped, size, time};
use crate::keeping::MovedLines;
use crate::outcome::{CommandOutcome, Failure};
use crate::output::is_standard;
use crate::sink::SafeLines;
use crate::source::{Spool, SpooledEntry};
use crate::stop::Stop;

/// How many causes are named; others are counted.
const CAUSES_SHOWN: usize = 5;

/// Runs the command.
pub(super) fn run(arguments: &SpoolArguments) -> Result<CommandOutcome, Failure> {
    let console = arguments.output.console();
    let Some(to) = &arguments.to else {
        return block_in_place(|| shown(&arguments.folder, &console));
    };
    if is_standard(Path::new(to)) && console.is_json() {
        let words = "the entries and --json cannot both be written to the standard output: leave out --json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    if arguments.salvage {
        return block_in_place(|| salvaged(&arguments.folder, to, &console));
    }
    let stop = Stop::default();
    stop.on_interrupt(console.clone());
    block_in_place(|| moved(arguments, to, &console, &stop))
}

/// Prints what is in the folder, which may be in use.
fn shown(folder: &Path, console: &Console) -> Result<CommandOutcome, Failure> {
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
    Ok(CommandOutcome::Delivered)
}

/// Moves entries, each of which is removed from the spool when its line is on the disk.
fn moved(arguments: &SpoolArguments, to: &str, console: &Console, stop: &Stop) -> Result<CommandOutcome, Failure> {
    let mut spool = Spool::open(&arguments.folder, arguments.refused)?;
    let mut lines = MovedLines::open(to)?;
    let mut moved = MovedEntries::default();
    let ended = moved.all(&mut spool, &mut lines, to, stop);
    let ended = ended.and_then(|()| lines.check().map_err(|error| Failure::Failed(format!("{to}: {error}"))));
    // The causes are nowhere else.
    let outcome = report(arguments, to, console, stop, moved);
    ended?;
    // Whoever interrupts it does not wait until a large file is small.
    if !stop.was_interrupted() {
        spool.close()?;
    }
    outcome
}

/// Moves what can be read of a damaged spool: refused entries to a file of their own.
fn salvaged(folder: &Path, to: &str, console: &Console) -> Result<CommandOutcome, Failure> {
    if to == "-" {
        let words = "--salvage writes two files, and not the standard output: name a file with --to";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let of_refused = format!("{to}.refused");
    let mut lines = MovedLines::open(to)?;
    let mut refused_lines = None;
    let salvaged = Spool::salvage(folder, |entries| {
        let (waiting, refused): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.cause.is_none());
        keep(&mut lines, to, &waiting)?;
        if refused.is_empty() {
            return Ok(());
        }
        let lines = match &mut refused_lines {
            Some(lines) => lines,
            None => refused_lines.insert(MovedLines::open(&of_refused)?),
        };
        keep(lines, &of_refused, &refused)
    })?;
    let from = folder.display();
    console.info(&format!("{} moved from {from} to {to}", counted(salvaged.entries)));
    if salvaged.refused > 0 {
        console.info(&format!("{} refused moved to {of_refused}", counted(salvaged.refused)));
    }
    if salvaged.may_have_been_delivered {
        console.info("some of them may have been delivered: which ones cannot be read");
    }
    console.info(&format!(
        "{} could not be read; the damaged file is {}",
        counted(salvaged.lost),
        salvaged.aside.display()
    ));
    console.report(&json!({
        "event": "report", "written": salvaged.entries, "refused": salvaged.refused, "lost": salvaged.lost,
        "may_have_been_delivered": salvaged.may_have_been_delivered,
    }))?;
    let is_whole = salvaged.lost == 0 && !salvaged.may_have_been_delivered;
    Ok(CommandOutcome::of(is_whole))
}

fn keep(lines: &mut MovedLines, to: &str, entries: &[&SpooledEntry]) -> Result<(), Failure> {
    let written = lines
        .write_all(&joined(entries.iter().copied()))
        .and_then(|()| lines.make_safe());
    written.map_err(|error| Failure::Failed(format!("{to} cannot be written: {error}")))
}

/// Each entry as a line.
fn joined<'a>(entries: impl IntoIterator<Item = &'a SpooledEntry>) -> Vec<u8> {
    let lines = entries.into_iter().flat_map(|entry| [&*entry.json, b"\n"]);
    lines.flatten().copied().collect()
}

/// What was moved.
#[derive(Default)]
struct MovedEntries {
    entries: u64,
    /// Why entries were refused, and how many.
    causes: BTreeMap<String, u64>,
}

impl MovedEntries {
    fn all(&mut self, spool: &mut Spool, lines: &mut MovedLines, to: &str, stop: &Stop) -> Result<(), Failure> {
        while !stop.token.is_cancelled() {
            let entries = spool.first()?;
            let Some(last) = entries.last() else {
                break;
            };
            keep(lines, to, &entries.iter().collect::<Vec<_>>())?;
            spool.remove_until(last)?;
            self.entries += entries.len() as u64;
            for cause in entries.into_iter().filter_map(|entry| entry.cause) {
                *self.causes.entry(cause).or_default() += 1;
            }
        }
        Ok(())
    }
}

fn report(
    arguments: &SpoolArguments,
    to: &str,
    console: &Console,
    stop: &Stop,
    MovedEntries { entries, causes }: MovedEntries,
) -> Result<CommandOutcome, Failure> {
    let (from, place) = (
        arguments.folder.display(),
        if is_standard(Path::new(to)) {
            "the standard output"
        } else {
            to
        },
    );
    console.info(&format!("{} moved from {from} to {place}", counted(entries)));
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, refused)| std::cmp::Reverse(*refused));
    for (cause, refused) in causes.iter().take(CAUSES_SHOWN) {
        console.info(&format!("{} × {}", grouped(*refused), escaped(cause)));
    }
    if causes.len() > CAUSES_SHOWN {
        let others = causes[CAUSES_SHOWN..].iter().map(|(_, refused)| refused).sum();
        console.info(&format!("{} × other causes", grouped(others)));
    }
    console.report(&json!({ "event": "report", "written": entries, "interrupted": stop.was_interrupted() }))?;
    if stop.was_interrupted() {
        console.info(&format!(
            "interrupted: the rest stays in {from}, and the same command continues"
        ));
        return Ok(CommandOutcome::Interrupted);
    }
    Ok(CommandOutcome::Delivered)
}

fn counted(entries: u64) -> String {
    let noun = if entries == 1 { "entry" } else { "entries" };
    format!("{} {noun}", grouped(entries))
}
