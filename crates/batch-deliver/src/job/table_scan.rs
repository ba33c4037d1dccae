//! The items of a table as the records of a delivery, and the journal of that.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::reading::ReaderHandle;
use crate::connection::Connection;
use crate::console::{Console, grouped};
use crate::format::{Item, ItemFormat};
use crate::keeping::{Claim, EarlierScan, Failures, Identity, Journal, Location, ScanState};
use crate::outcome::Failure;
use crate::sink::{ExistingTable, Settings};
use crate::source::{
    Flaw, ItemEntry, PAGE_ITEMS, ReadAhead, ScanPosition, ScanProgress, ScannedItems, Segments, TableReads, read_table,
};
use crate::stop::Stop;

/// Items that may be delivered or in flight without being in the journal, in addition to those of a page.
const AHEAD: u64 = 10_000;

/// Items that a delivery may repeat after a kill.
pub(crate) const DELIVERED_AGAIN: u64 = AHEAD + PAGE_ITEMS as u64;

/// Makes the entry of an item.
pub(crate) type EntryMaker<E> = Arc<dyn Fn(Item) -> Result<E, Flaw> + Send + Sync>;

/// What is read of a table.
#[derive(Clone, Copy)]
pub(crate) struct TableScan<'a> {
    pub(crate) reads: &'a TableReads,
    pub(crate) table: &'a ExistingTable,
    /// The segments that are read, if not all of them are.
    pub(crate) segments: Option<&'a Segments>,
    /// Items that may be delivered a second time if the process is killed.
    pub(crate) unsure: u64,
}

/// A journal that was opened.
pub(crate) struct OpenedScan {
    state: ScanState,
    pub(super) position: Option<ScanPosition>,
    /// What earlier runs have not delivered, and no run of the whole has reported.
    pub(super) failures: Failures,
    /// Items that earlier runs have settled.
    pub(crate) settled: u64,
    /// How many more the last run may have delivered.
    pub(crate) doubtful: u64,
}

/// The journal of items that one task takes and keeps.
pub(crate) struct ItemJournal {
    state: ScanState,
    progress: ScanProgress,
    segments: Option<Segments>,
    /// Items before the place that is kept.
    kept: u64,
    place: Value,
}

impl ItemJournal {
    /// Writes the journal as it is, which fails if another run has taken it over.
    pub(crate) async fn confirm(&mut self) -> io::Result<()> {
        self.state.write(self.place.clone(), 0).await
    }

    /// This many items from the first one on are kept elsewhere; the last of them has this key. Without its key, the items of a page that is not
    /// kept completely are read again.
    pub(crate) async fn keep(&mut self, items: u64, last: Option<Value>, has_ended: bool) -> io::Result<()> {
        let position = self.progress.position_after(items);
        let mut before = self.progress.items_before(items);
        let of_item = last.filter(|_| before < items);
        let of_item = of_item.and_then(|key| self.segments.as_ref()?.places_after(&key));
        self.place = if let Some(place) = of_item {
            before = items;
            place
        } else {
            places(self.segments.as_ref(), &position)?
        };
        self.state.write(self.place.clone(), before - self.kept).await?;
        self.kept = before;
        if has_ended {
            self.state.end(items - before).await
        } else {
            Ok(())
        }
    }
}

/// What is kept of a position.
fn places(segments: Option<&Segments>, position: &ScanPosition) -> serde_json::Result<Value> {
    match segments {
        None => serde_json::to_value(position),
        Some(segments) => segments.places(position),
    }
}

impl TableScan<'_> {
    /// The journal at this place, of a delivery that the settings identify in addition to what is read.
    pub(crate) async fn journal(
        &self,
        location: &Location,
        settings: Settings,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<OpenedScan, Failure> {
        let segments = self
            .segments
            .map(|own| ("segments", format!("{}-{}", own.begin, own.end)));
        let settings = settings
            .into_iter()
            .chain(segments)
            .chain(self.reads.settings())
            .chain(self.table.as_source())
            .chain([("source", self.reads.table.clone())]);
        let identity = Identity::new(settings, &[], self.unsure)?;
        let unknown = identity.unknown();
        let (state, found) = ScanState::open(location, identity, claim, connection, console).await?;
        let EarlierScan {
            position,
            items,
            failures,
            doubtful,
        } = found;
        let position = position.map(|position| self.position(position)).transpose();
        let position = position.map_err(|_| {
            Failure::WrongUse(format!(
                "{location} has no position of this program: name another journal"
            ))
        })?;
        if let Some(unknown) = unknown.filter(|_| position.is_some()) {
            console.info(&not_compared(&unknown));
        }
        if items > 0 {
            console.info(&format!("{} items are settled by earlier runs", grouped(items)));
        }
        if position.as_ref().is_some_and(ScanPosition::is_finished) {
            console.info(&format!(
                "{location} says that nothing is left to do: to begin again, remove it"
            ));
        }
        if doubtful > 0 {
            let most = grouped(doubtful);
            console.info(&format!(
                "the last run was stopped or killed: up to {most} items may be written twice"
            ));
        }
        Ok(OpenedScan {
            state,
            position,
            failures,
            settled: items,
            doubtful,
        })
    }

    fn position(&self, kept: Value) -> serde_json::Result<ScanPosition> {
        match self.segments {
            None => serde_json::from_value(kept),
            Some(segments) => segments.position(Some(kept)),
        }
    }

    /// The items from the position of the journal on, and the journal.
    pub(crate) fn continued(&self, opened: OpenedScan, stop: &Stop) -> Result<(ScannedItems, ItemJournal), Failure> {
        let OpenedScan { state, position, .. } = opened;
        let (client, token) = (self.table.client.clone(), stop.token.clone());
        let start = position.or(self.start()?);
        let items = self.reads.scan_from(client, token, start).items();
        let progress = items.progress();
        let place = places(self.segments, &progress.position_after(0))
            .map_err(|error| Failure::Failed(format!("the position cannot be written: {error}")))?;
        let journal = ItemJournal {
            state,
            progress,
            segments: self.segments.cloned(),
            kept: 0,
            place,
        };
        Ok((items, journal))
    }

    /// Records that the run begins: what it writes before the next position is kept is its own for the next one.
    async fn note_start(&self, state: &mut ScanState, start: &ScanPosition) -> io::Result<()> {
        let start = places(self.segments, start)?;
        let begun = state.write(start, 0).await;
        // By its kind, a worker recognizes that another one continues the journal.
        begun.map_err(|error| io::Error::new(error.kind(), format!("the journal cannot be written: {error}")))
    }

    /// The start of the segments, if not all of them are read.
    fn start(&self) -> Result<Option<ScanPosition>, Failure> {
        let start = self.segments.map(|segments| segments.position(None)).transpose();
        start.map_err(|error| Failure::Failed(format!("there is no such position: {error}")))
    }

    /// Reads the items as entries, with their text if dead letters are to repeat it. The error is that of the journal.
    pub(super) async fn begin<E: Send + 'static>(
        &self,
        opened: Option<OpenedScan>,
        keeps_text: bool,
        stop: &Stop,
        entry: EntryMaker<E>,
    ) -> io::Result<(ReaderHandle<E>, Option<Journal>)> {
        let (client, token) = (self.table.client.clone(), stop.token.clone());
        let start = self.start().map_err(|failure| io::Error::other(failure.to_string()))?;
        let (items, journal, ahead) = match opened {
            None => {
                let scan = self.reads.scan_from(client, token, start);
                (scan.items(), None, None)
            }
            Some(OpenedScan {
                mut state, position, ..
            }) => {
                let is_begun = position.is_some();
                let scan = self.reads.scan_from(client, token, position.or(start));
                let items = scan.items();
                let progress = items.progress();
                if !is_begun {
                    self.note_start(&mut state, &progress.position_after(0)).await?;
                }
                let (sender, settled) = watch::channel(0);
                let segments = self.segments.cloned();
                let position = move |items| {
                    let place = places(segments.as_ref(), &progress.position_after(items))?;
                    Ok((place, progress.items_before(items)))
                };
                let journal = Journal::of_scan(state, position, sender, stop.token.clone())?;
                let ahead = ReadAhead { most: AHEAD, settled };
                (items, Some(journal), Some(ahead))
            }
        };
        let entry = move |item: Item| -> ItemEntry<E> {
            let text = keeps_text.then(|| {
                let mut line = Vec::new();
                ItemFormat::Dynamodb.append(&item, &mut line);
                line.pop();
                line.into_boxed_slice()
            });
            (text, entry(item))
        };
        let (receiver, read) = read_table(&self.reads.table, items, entry, ahead);
        let reading = ReaderHandle {
            receiver,
            read,
            names: [self.reads.table.clone()].into(),
            total: None,
        };
        Ok((reading, journal))
    }
}

/// What cannot be known of the place of a delivery that earlier runs have begun.
pub(super) fn not_compared(unknown: &str) -> String {
    format!(
        "the {unknown} cannot be looked up without the permission, and so is not compared with that of earlier runs"
    )
}
