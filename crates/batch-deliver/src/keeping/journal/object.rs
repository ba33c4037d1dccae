//! A journal in S3: one object with all of it, which is replaced by each put.

use std::io;

use super::super::failures::{FailedRecord, Failures};
use super::super::location::Location;
use super::checked_line;
use super::content::{self, EarlierRun, JournalContent, JournalLine, WriterStamp};
use super::owned::{ObjectContent, OwnObject};
use super::{Claim, Identity, StopLine};
use crate::connection::Connection;
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::Beginning;

/// An object with the whole journal.
#[derive(Debug)]
pub(super) struct JournalObject {
    object: OwnObject,
    identity: Identity,
    kept: JournalContent,
    /// The bad line at which the run has stopped, and that it has ended.
    last: Vec<JournalLine>,
}

impl ObjectContent for Identity {
    type Found = EarlierRun;

    fn read(&self, name: &str, text: &str, claim: Claim, console: &Console) -> Result<EarlierRun, Failure> {
        EarlierRun::read(name, text, self, claim, console)
    }

    fn doubtful(found: &EarlierRun) -> u64 {
        found.doubtful
    }

    fn text(&self, found: &EarlierRun, written: WriterStamp) -> serde_json::Result<Vec<u8>> {
        text(self, &found.kept, written, &[])
    }
}

impl JournalObject {
    /// Opens the journal of a load, or creates one.
    pub(super) async fn open(
        location: &Location,
        identity: Identity,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<(Self, EarlierRun), Failure> {
        let (object, found) = OwnObject::open(location, &identity, claim, connection, console).await?;
        let journal = Self {
            object,
            identity,
            kept: found.kept.clone(),
            last: Vec::new(),
        };
        Ok((journal, found))
    }

    /// Puts that entries may be sent from now on.
    pub(super) async fn begin(&mut self) -> io::Result<()> {
        if self.kept.has_begun {
            return Ok(());
        }
        self.kept.has_begun = true;
        self.put().await
    }

    pub(super) fn settle(&mut self, number: u64) {
        self.kept.settled.add(number, number);
    }

    pub(super) fn fail(&mut self, failed: &FailedRecord) {
        self.kept.fail(failed);
    }

    /// How far inputs were read.
    pub(super) fn note(&mut self, read: Vec<(usize, Beginning)>) {
        self.kept.note(read);
    }

    /// Puts the settled records.
    pub(super) async fn put(&mut self) -> io::Result<()> {
        let (identity, kept, last) = (&self.identity, &self.kept, &self.last);
        self.object.put(|written| text(identity, kept, written, last)).await
    }

    /// Puts that the run has ended and nothing is in flight, and the bad line at which it has stopped.
    pub(super) async fn end(&mut self, stopped: Option<StopLine>) -> io::Result<()> {
        let stopped = stopped.map(JournalLine::Stopped);
        self.last = stopped.into_iter().chain([JournalLine::Ended]).collect();
        self.put().await
    }

    /// Puts that all failures were reported to the user.
    pub(super) async fn reported(&mut self) -> io::Result<()> {
        if self.kept.failures.is_empty() {
            return Ok(());
        }
        self.kept.failures = Failures::default();
        self.put().await
    }
}

fn text(
    identity: &Identity,
    kept: &JournalContent,
    written: WriterStamp,
    last: &[JournalLine],
) -> serde_json::Result<Vec<u8>> {
    let mut text = content::text(identity, kept)?;
    checked_line::add(&mut text, &JournalLine::Written(written))?;
    for line in last {
        checked_line::add(&mut text, line)?;
    }
    Ok(text)
}
