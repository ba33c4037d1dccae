//! A delivery whose records are the items of a table.

use std::time::Duration;

use crate::connection::{Connection, can_be_renewed};
use crate::console::Console;
use crate::format::Item;
use crate::job::{DELIVERED_AGAIN, Delivering, Kept, Opened, Scanning};
use crate::keeping::{Claim, DeadLetter, Places};
use crate::outcome::{Failure, Outcome};
use crate::sink::{DeliveryOptions, Destination, Existing, Settings, Target};
use crate::source::{Flaw, TableReads};
use crate::stop::Stop;

/// What is read of a table, and what is kept of the delivery.
pub(super) struct FromTable<'a> {
    pub(super) command: &'static str,
    pub(super) reads: &'a TableReads,
    pub(super) table: &'a Existing,
    pub(super) places: Places,
    /// How a journal of another delivery is treated.
    pub(super) claim: Claim,
    pub(super) options: DeliveryOptions,
    /// What identifies the delivery, in addition to both tables and what is read.
    pub(super) settings: Settings,
    /// What to say if nothing is read, because an expression holds for nothing.
    pub(super) when_nothing_matches: Option<String>,
    /// The connection to the journal and the dead letters.
    pub(super) connection: Connection,
    pub(super) every: Duration,
    pub(super) console: &'a Console,
}

impl FromTable<'_> {
    /// The journal, if one is requested.
    pub(super) fn journal<T: Target>(&self, destination: &Destination<T>) -> Result<Option<Opened>, Failure> {
        let Some(location) = &self.places.resume else {
            return Ok(None);
        };
        let settings = self.settings.iter().chain(&destination.settings).cloned().chain([
            ("command", self.command.to_owned()),
            ("destination", destination.name.clone()),
        ]);
        let opened = self
            .scanning()
            .journal(location, settings.collect(), self.claim, &self.connection, self.console);
        opened.map(Some)
    }

    /// Delivers the items.
    pub(super) async fn deliver<T: Target>(
        self,
        destination: &Destination<T>,
        journal: Option<Opened>,
        entry: impl Fn(Item) -> Result<T::Entry, Flaw> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        self.console.info(&format!("reading {}", self.reads.table));
        let dead_letter = match &self.places.dead_letter {
            Some(location) => Some(DeadLetter::open(location, &self.connection, &[]).await?),
            None => None,
        };
        let stop = Stop::default();
        stop.print_warnings(self.console.clone(), can_be_renewed);
        stop.on_interrupt(self.console.clone());
        let earlier = journal.as_ref().map(|opened| opened.failures.clone());
        let has_begun = journal.as_ref().is_some_and(Opened::has_begun);
        let read = self.scanning().read(journal, dead_letter.is_some(), &stop, entry);
        let (reading, journal) = read.map_err(|error| Failure::WrongUse(error.to_string()))?;
        let delivering = Delivering {
            destination,
            keep_going: 0,
            every: self.every,
            console: self.console,
        };
        let kept = Kept {
            options: self.options,
            journal,
            earlier: earlier.unwrap_or_default(),
            dead_letter,
            failed: None,
            stop,
            resumes: self.places.resume,
            is_repeated: false,
        };
        let summary = delivering.deliver(reading, kept).await;
        let ended = summary.print(self.console)?;
        let words = self.when_nothing_matches.filter(|_| !has_begun && summary.is_empty());
        if let Some(words) = words.filter(|_| ended == Outcome::Delivered) {
            self.console.warn(&words);
        }
        Ok(ended)
    }

    fn scanning(&self) -> Scanning<'_> {
        Scanning {
            reads: self.reads,
            table: self.table,
            segments: None,
            unsure: DELIVERED_AGAIN,
        }
    }
}
