//! A delivery: the records of a source become entries of a format, which go to a destination, kept by a journal and dead letters.
//! Or a dry run, which sends nothing.

mod first_entries;
mod records;
mod scanning;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task;

pub(crate) use self::first_entries::Look;
pub(crate) use self::records::{Delivering, Kept, Reading};
#[cfg(feature = "distributed")]
pub(crate) use self::scanning::Continued;
pub(crate) use self::scanning::{DELIVERED_AGAIN, Opened, Scanning};

use crate::connection::Connection;
use crate::console::{Console, counted, grouped, size};
use crate::keeping::{Claim, Failures, Identity, Journal, Location, ORDER, ShownLines, State};
use crate::outcome::{Failure, Outcome};
use crate::progress::Summary;
use crate::sink::{Destination, Measured, Settings, Target};
use crate::source::{self, Format, Input, Order, ReadSoFar, SettledRecords, Turns};
use crate::stop::Stop;

/// Records after which the bar is drawn again.
const STEP: u64 = 1_000;

/// What is delivered, and to which destination.
pub(crate) struct Job<T: Target> {
    pub(crate) command: &'static str,
    pub(crate) format: Arc<dyn Format<T::Entry>>,
    pub(crate) destination: Destination<T>,
    /// The settings that identify the delivery, in addition to the command, the inputs and the destination.
    pub(crate) settings: Settings,
    /// The order of the inputs; `None` if it depends on them.
    pub(crate) order: Option<Order>,
    /// Bad lines that are skipped.
    pub(crate) keep_going: u64,
    /// The most calls in flight.
    pub(crate) concurrency: u32,
    /// The interval of progress if there is no bar.
    pub(crate) every: Duration,
    /// Where records are kept whose condition does not hold.
    pub(crate) failed: Option<PathBuf>,
    /// Looks at the first entries, unless an earlier run has begun with them.
    pub(crate) look: Option<Look<T::Entry>>,
    /// The connection to the journal.
    pub(crate) connection: Connection,
    pub(crate) console: Console,
}

impl<T: Target> Job<T> {
    /// Reads the records that are not settled, with checksums if it is kept how far they are read.
    pub(crate) fn read(
        &self,
        inputs: Vec<Input>,
        settled: SettledRecords,
        read_so_far: Option<&ReadSoFar>,
    ) -> Reading<T::Entry> {
        let names = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let turns = self.turns(inputs, settled);
        let turns = match read_so_far {
            Some(read_so_far) => turns.with_checksums(read_so_far.clone()),
            None => turns,
        };
        let (receiver, read) = source::read(turns);
        Reading {
            receiver,
            read,
            names,
            total,
        }
    }

    /// Delivers the records.
    pub(crate) async fn deliver(&self, reading: Reading<T::Entry>, kept: Kept) -> Summary {
        let delivering = Delivering {
            destination: &self.destination,
            keep_going: self.keep_going,
            every: self.every,
            console: &self.console,
        };
        delivering.deliver(reading, kept).await
    }

    /// The records of the inputs that are not settled, in the order of this job.
    fn turns(&self, inputs: Vec<Input>, settled: SettledRecords) -> Turns<T::Entry> {
        let turns = Turns::new(inputs, Arc::clone(&self.format), settled);
        match self.order() {
            Order::Turns => turns,
            Order::File => turns.one_by_one(),
        }
    }

    /// The order of the inputs, one after the other unless something else is known of them.
    fn order(&self) -> Order {
        self.order.unwrap_or(Order::File)
    }

    /// Whether the input can be read in parts. Blocks.
    pub(crate) fn can_be_cut(&self, input: &Input) -> io::Result<bool> {
        let start = input.start()?;
        Ok(start.is_some_and(|start| self.format.can_be_cut(&start, &input.name)))
    }

    /// The journal of this load at this place, if there is one, the records that earlier runs have settled, and which of these they have
    /// not delivered.
    pub(crate) fn journal(
        &self,
        location: Option<&Location>,
        claim: Claim,
        inputs: &[Input],
    ) -> Result<(Option<State>, SettledRecords, Failures), Failure> {
        let Some(location) = location else {
            return Ok((None, SettledRecords::default(), Failures::default()));
        };
        let in_flight = u64::from(self.concurrency) * self.destination.target.limits().entries as u64;
        let settings = self.settings.iter().chain(&self.destination.settings).cloned().chain([
            ("command", self.command.to_owned()),
            ("destination", self.destination.name.clone()),
            (ORDER, self.order().name().to_owned()),
        ]);
        let identity = Identity::new(settings, inputs, in_flight + Journal::unwritten(location))?;
        let unknown = identity.unknown();
        let open = || State::open(location, identity, claim, &self.connection, &self.console);
        let state = task::block_in_place(open)?;
        let (settled, failures) = (state.settled.clone(), state.failures.clone());
        if settled.len() > 0 {
            if let Some(unknown) = unknown {
                self.console.info(&not_compared(&unknown));
            }
            self.console
                .info(&format!("{} lines are settled by earlier runs", grouped(settled.len())));
        }
        if state.doubtful > 0 {
            let most = grouped(state.doubtful);
            self.console.info(&format!(
                "the last run did not end cleanly: up to {most} entries may be sent twice"
            ));
        }
        Ok((Some(state), settled, failures))
    }
}

/// What is kept of how far inputs are read, by which the next run recognizes them; `None` without a journal.
pub(crate) fn read_so_far(state: Option<&State>) -> Option<ReadSoFar> {
    state.map(|_| ReadSoFar::default())
}

/// Begins with a journal, if there is one: what is sent from now on is in doubt until it is in the journal.
pub(crate) fn begin(state: Option<State>, read: Option<ReadSoFar>, stop: &Stop) -> io::Result<Option<Journal>> {
    let start = |state| Journal::start(state, read.unwrap_or_default(), stop.token.clone());
    state.map(start).transpose()
}

/// What cannot be known of the place of a delivery that earlier runs have begun.
fn not_compared(unknown: &str) -> String {
    format!(
        "the {unknown} cannot be looked up without the permission, and so is not compared with that of earlier runs"
    )
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

impl<T: Target> Job<T> {
    /// Checks every line against the key and the limits, as a delivery would. Blocks.
    pub(crate) fn dry_run(&self, inputs: Vec<Input>) -> Result<Outcome, Failure> {
        let sums = self.sums(inputs)?;
        self.console.info(&sums.words(self.destination.unit));
        if sums.flaws > 0 {
            self.console.info(&counted(sums.flaws, "bad line"));
        }
        let line_breaks = self.format.take_line_breaks();
        if let Some(line_breaks) = &line_breaks {
            self.console.info(&line_breaks.to_string());
        }
        let event = json!({
            "values_with_line_breaks": line_breaks.map_or(0, |line_breaks| line_breaks.values),
            "event": "dry_run", "entries": sums.entries, "bytes": sums.bytes, "units": sums.units,
            "largest": sums.largest, "bad_lines": sums.flaws,
        });
        self.console.report(&event)?;
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
        let mut turns = self.turns(inputs, SettledRecords::default());
        let read_bytes = turns.read_bytes().stored;
        self.console.show_bar(total);
        let (mut sums, mut shown) = (Sums::default(), ShownLines::default());
        while let Some(taken) = turns.next().map_err(|error| Failure::Failed(error.to_string()))? {
            let checked = taken.entry.map_err(|flaw| flaw.to_string()).and_then(|entry| {
                let checked = self.destination.target.check(&entry);
                checked.map(|_| entry).map_err(|invalid| invalid.to_string())
            });
            match checked {
                Ok(entry) => sums.add(&(self.destination.measure)(&entry)),
                Err(words) => {
                    sums.flaws += 1;
                    if shown.is_shown(taken.place.input, false) {
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
        shown.others(&names).iter().for_each(|words| self.console.warn(words));
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
