//! A job whose records are those of inputs. Its dry run reads all of them, and sends nothing.

use std::path::PathBuf;

use serde_json::json;

use super::Job;
use super::inputs::InputReads;
use crate::console::{counted, grouped, size};
use crate::keeping::ShownLines;
use crate::outcome::{CommandOutcome, Failure};
use crate::progress::{unindexed, vectors_json};
use crate::sink::{EntrySize, Target};
use crate::source::{Input, SettledRecords};

/// Records after which the bar is drawn again.
const STEP: u64 = 1_000;

/// A job whose records are those of inputs.
pub(crate) struct InputJob<T: Target> {
    pub(crate) job: Job<T>,
    pub(crate) reads: InputReads<T::Entry>,
    /// Where records are kept whose condition does not hold.
    pub(crate) failed: Option<PathBuf>,
}

/// The sums of all inputs.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) entries: u64,
    bytes: u64,
    units: u64,
    largest: usize,
    flaws: u64,
}

impl<T: Target> InputJob<T> {
    /// Checks every line against the key and the limits, as a delivery would. Blocks.
    pub(crate) fn dry_run(&self, inputs: Vec<Input>) -> Result<CommandOutcome, Failure> {
        let sums = self.sums(inputs)?;
        let console = &self.job.console;
        console.info(&sums.words(self.job.destination.unit));
        if sums.flaws > 0 {
            console.info(&counted(sums.flaws, "bad line"));
        }
        let vectors = self.job.destination.vector_figures();
        if let Some(vectors) = vectors {
            let bytes = size(vectors.write_bytes);
            console.info(&format!("the vector indexes would be billed for {bytes} of writes"));
            if let Some(words) = unindexed(&vectors) {
                console.warn(&words);
            }
        }
        let line_breaks = self.reads.format.take_line_breaks();
        if let Some(line_breaks) = &line_breaks {
            console.info(&line_breaks.to_string());
        }
        let event = json!({
            "values_with_line_breaks": line_breaks.map_or(0, |line_breaks| line_breaks.values),
            "event": "dry_run", "entries": sums.entries, "bytes": sums.bytes, "units": sums.units,
            "largest": sums.largest, "bad_lines": sums.flaws, "vectors": vectors.map(vectors_json),
        });
        console.report(&event)?;
        Ok(CommandOutcome::of(sums.flaws == 0))
    }

    /// Reads all inputs. Flaws are printed.
    pub(crate) fn sums(&self, inputs: Vec<Input>) -> Result<Sums, Failure> {
        let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let (destination, console) = (&self.job.destination, &self.job.console);
        let mut turns = self.reads.turns(inputs, SettledRecords::default());
        let read_bytes = turns.read_bytes().stored;
        console.show_bar(total);
        let (mut sums, mut shown) = (Sums::default(), ShownLines::default());
        while let Some(taken) = turns.next().map_err(|error| Failure::Failed(error.to_string()))? {
            let checked = taken.entry.map_err(|flaw| flaw.to_string()).and_then(|entry| {
                let checked = destination.target.check(&entry);
                checked.map(|_| entry).map_err(|invalid| invalid.to_string())
            });
            match checked {
                Ok(entry) => sums.add(&(destination.measure)(&destination.target, &entry)),
                Err(words) => {
                    sums.flaws += 1;
                    if shown.is_shown(taken.place.input, false) {
                        let (name, line) = (&names[taken.place.input], taken.place.line);
                        console.warn(&format!("{name}:{line}: {words}"));
                    }
                }
            }
            if taken.number.is_multiple_of(STEP)
                && let Some(bar) = console.bar()
            {
                bar.set_position(read_bytes.get());
                bar.set_message(format!("{} checked", grouped(taken.number)));
            }
        }
        console.clear_bar();
        shown.others(&names).iter().for_each(|words| console.warn(words));
        Ok(sums)
    }
}

impl Sums {
    fn add(&mut self, entry: &EntrySize) {
        self.entries += 1;
        self.bytes += entry.bytes as u64;
        self.units += entry.units as u64;
        self.largest = self.largest.max(entry.bytes);
    }

    fn words(&self, unit: &str) -> String {
        format!(
            "{}: {}, the largest {}, {} {unit}; nothing was sent",
            counted(self.entries, "good line"),
            size(self.bytes),
            size(self.largest as u64),
            grouped(self.units),
        )
    }
}
