//! Checks all lines and sends nothing.

use serde_json::json;

use super::Job;
use crate::console::{counted, grouped, size};
use crate::outcome::{Failure, Outcome};
use crate::sink::{Measured, Target};
use crate::source::{Input, Settled};

/// The most bad lines that are printed; the others are counted.
const TOLD: u64 = 100;

/// Records after which the bar is drawn again.
const STEP: u64 = 1_000;

/// The sums of all inputs.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) entries: u64,
    bytes: u64,
    units: u64,
    largest: usize,
    flaws: u64,
}

impl<T: Target> Job<T> {
    /// Checks every line against the key and the limits, as a delivery would. Blocks.
    pub(crate) fn dry_run(&self, inputs: Vec<Input>) -> Result<Outcome, Failure> {
        let sums = self.sums(inputs)?;
        self.console.tell(&sums.words(self.destination.unit));
        if sums.flaws > 0 {
            self.console.tell(&counted(sums.flaws, "bad line"));
        }
        let event = json!({
            "event": "dry_run", "entries": sums.entries, "bytes": sums.bytes, "units": sums.units,
            "largest": sums.largest, "bad_lines": sums.flaws,
        });
        self.console
            .emit(&event)
            .map_err(|error| Failure::Failed(format!("the report cannot be written: {error}")))?;
        Ok(if sums.flaws == 0 {
            Outcome::Delivered
        } else {
            Outcome::Undelivered
        })
    }

    /// Reads all inputs. Flaws are printed.
    pub(crate) fn sums(&self, inputs: Vec<Input>) -> Result<Sums, Failure> {
        let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let mut turns = self.turns(inputs, Settled::default());
        let read_bytes = turns.read_bytes().stored;
        self.console.show_bar(total);
        let mut sums = Sums::default();
        while let Some(taken) = turns.next().map_err(|error| Failure::Failed(error.to_string()))? {
            let checked = taken.entry.map_err(|flaw| flaw.to_string()).and_then(|entry| {
                let checked = self.destination.target.check(&entry);
                checked.map(|_| entry).map_err(|invalid| invalid.to_string())
            });
            match checked {
                Ok(entry) => sums.add(&(self.destination.measure)(&entry)),
                Err(words) => {
                    sums.flaws += 1;
                    if sums.flaws <= TOLD {
                        let (name, line) = (&names[taken.place.input], taken.place.line);
                        self.console.warn(&format!("{name}:{line}: {words}"));
                    }
                }
            }
            if taken.number.is_multiple_of(STEP)
                && let Some(bar) = self.console.bar()
            {
                bar.set_position(read_bytes.get());
                bar.set_message(format!("{} checked", grouped(taken.number)));
            }
        }
        self.console.clear_bar();
        Ok(sums)
    }
}

impl Sums {
    fn add(&mut self, entry: &Measured) {
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
