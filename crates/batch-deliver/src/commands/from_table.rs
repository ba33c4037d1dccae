//! A delivery whose records are the items of a table.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task;

use crate::connection::Connection;
use crate::console::{Console, grouped, print_warnings};
use crate::format::{Item, ItemFormat};
use crate::job::{Delivering, Kept, Reading};
use crate::keeping::{Claim, DeadLetter, Identity, Journal, Places, ScanState};
use crate::outcome::{Failure, Outcome};
use crate::sink::{DeliveryOptions, Destination, Existing, Settings, Target};
use crate::source::{Ahead, Flaw, OfItem, PAGE_ITEMS, ScanPosition, TableReads, read_table};
use crate::stop::Stop;

/// Items that may be delivered or in flight without being in the journal, in addition to those of a page.
const AHEAD: u64 = 10_000;

/// What is read of a table, and what is kept of the delivery.
pub(super) struct FromTable<'a> {
    pub(super) command: &'static str,
    pub(super) reads: &'a TableReads,
    pub(super) table: &'a Existing,
    pub(super) places: Places,
    pub(super) options: DeliveryOptions,
    /// What identifies the delivery, in addition to both tables and what is read.
    pub(super) settings: Settings,
    /// The connection to the dead letters.
    pub(super) connection: Connection,
    pub(super) every: Duration,
    pub(super) console: &'a Console,
}

/// A journal that was opened.
pub(super) struct Opened {
    state: ScanState,
    position: Option<ScanPosition>,
}

impl Opened {
    /// Whether an earlier run has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.position.is_some()
    }
}

impl FromTable<'_> {
    /// The journal, if one is requested.
    pub(super) fn journal<T: Target>(&self, destination: &Destination<T>) -> Result<Option<Opened>, Failure> {
        let Some(location) = &self.places.resume else {
            return Ok(None);
        };
        let settings = self.settings.iter().chain(&destination.settings).cloned();
        let settings = settings.chain(self.reads.settings()).chain([
            ("command", self.command.to_owned()),
            ("source", self.reads.table.clone()),
            ("service of the source", format!("{:?}", self.table.settings)),
            ("destination", destination.name.clone()),
        ]);
        let identity = Identity::new(settings, &[], AHEAD + u64::from(PAGE_ITEMS))?;
        let open = || ScanState::open(location, identity, Claim::Named, &self.connection, self.console);
        let (state, found) = task::block_in_place(open)?;
        let position = found.position.map(serde_json::from_value).transpose();
        let position = position.map_err(|_| {
            Failure::WrongUse(format!(
                "{location} has no position of this program: name another journal"
            ))
        })?;
        if found.items > 0 {
            self.console
                .info(&format!("{} items are settled by earlier runs", grouped(found.items)));
        }
        if found.doubtful > 0 {
            let most = grouped(found.doubtful);
            self.console.info(&format!(
                "the last run was killed: up to {most} items may be written twice"
            ));
        }
        Ok(Some(Opened { state, position }))
    }

    /// Delivers the items.
    pub(super) async fn deliver<T: Target>(
        self,
        destination: &Destination<T>,
        journal: Option<Opened>,
        entry: impl Fn(Item) -> Result<T::Entry, Flaw> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        self.console.info(&format!("reading {}", self.reads.table));
        print_warnings(self.console.clone());
        let dead_letter = match &self.places.dead_letter {
            Some(location) => Some(DeadLetter::open(location, &self.connection).await?),
            None => None,
        };
        let stop = Stop::default();
        stop.on_interrupt(self.console.clone());
        let client = self.table.client.clone();
        let (items, journal, ahead) = match journal {
            None => (self.reads.scan(client, stop.token.clone()).items(), None, None),
            Some(Opened { state, position }) => {
                let scan = self.reads.scan_from(client, stop.token.clone(), position);
                let items = scan.items();
                let progress = items.progress();
                let (sender, settled) = watch::channel(0);
                let position = move |items| serde_json::to_value(progress.position_after(items));
                let journal = Journal::of_scan(state, position, sender, stop.token.clone());
                let ahead = Ahead { most: AHEAD, settled };
                (items, Some(journal), Some(ahead))
            }
        };
        let keeps_text = dead_letter.is_some();
        let entry = move |item: Item| -> OfItem<T::Entry> {
            let text = keeps_text.then(|| {
                let mut line = Vec::new();
                ItemFormat::Dynamodb.append(&item, &mut line);
                line.pop();
                line.into_boxed_slice()
            });
            (text, entry(item))
        };
        let (receiver, read) = read_table(&self.reads.table, items, entry, ahead);
        let reading = Reading {
            receiver,
            read,
            names: [self.reads.table.clone()].into(),
            total: None,
        };
        let delivering = Delivering {
            destination,
            keep_going: 0,
            every: self.every,
            console: self.console,
        };
        let kept = Kept {
            options: self.options,
            journal,
            dead_letter,
            failed: None,
            stop,
            resumes: self.places.resume,
            is_repeated: false,
        };
        delivering.deliver(reading, kept).await.print(self.console)
    }
}
