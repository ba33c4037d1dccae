//! A journal in S3: one object with all of it, which is replaced by each put.

use std::io;

use super::super::location::Location;
use super::content::{self, EarlierRun, Line, WriterStamp};
use super::owned::{OfObject, OwnObject};
use super::{Claim, Identity, Stopped};
use crate::connection::Connection;
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::SettledRecords;

/// An object with the whole journal.
#[derive(Debug)]
pub(super) struct JournalObject {
    object: OwnObject,
    identity: Identity,
    settled: SettledRecords,
}

impl OfObject for Identity {
    type Found = EarlierRun;

    fn read(&self, name: &str, text: &str) -> Result<EarlierRun, Failure> {
        EarlierRun::read(name, text, self)
    }

    fn doubtful(found: &EarlierRun) -> u64 {
        found.doubtful
    }

    fn text(&self, found: &EarlierRun, written: WriterStamp) -> serde_json::Result<Vec<u8>> {
        text(self, &found.settled, written, &[])
    }
}

impl JournalObject {
    /// Opens the journal of a load, or creates one. Blocks.
    pub(super) fn open(
        location: &Location,
        identity: Identity,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<(Self, EarlierRun), Failure> {
        let (object, found) = OwnObject::open(location, &identity, claim, connection, console)?;
        let journal = Self {
            object,
            identity,
            settled: found.settled.clone(),
        };
        Ok((journal, found))
    }

    pub(super) fn settle(&mut self, number: u64) {
        self.settled.add(number, number);
    }

    /// Puts the settled records.
    pub(super) fn put(&mut self) -> io::Result<()> {
        self.put_with(&[])
    }

    /// Puts that the run has ended and nothing is in flight, and the bad line at which it has stopped.
    pub(super) fn end(&mut self, stopped: Option<Stopped>) -> io::Result<()> {
        let stopped = stopped.map(Line::Stopped);
        self.put_with(&stopped.into_iter().chain([Line::Ended]).collect::<Vec<_>>())
    }

    fn put_with(&mut self, last: &[Line]) -> io::Result<()> {
        let (identity, settled) = (&self.identity, &self.settled);
        self.object.put(|written| text(identity, settled, written, last))
    }
}

fn text(
    identity: &Identity,
    settled: &SettledRecords,
    written: WriterStamp,
    last: &[Line],
) -> serde_json::Result<Vec<u8>> {
    let mut text = content::text(identity, settled)?;
    content::add(&mut text, &Line::Written(written))?;
    for line in last {
        content::add(&mut text, line)?;
    }
    Ok(text)
}
