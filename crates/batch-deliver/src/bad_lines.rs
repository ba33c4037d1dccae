//! Lines that cannot be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::json;

use crate::console::Console;
use crate::flaw::Flaw;
use crate::settling::Settling;
use crate::stream::Ended;
use crate::window::Origin;

/// A line that cannot be read, and why.
#[derive(Debug)]
pub(crate) struct BadLine {
    pub(crate) origin: Origin,
    /// The checksum of all that stands before it in its input, if the journal is to compare it.
    pub(crate) checksum_before: Option<u32>,
    /// The header of its input, if it is a row and dead letters are to repeat it.
    pub(crate) header: Option<Box<[u8]>>,
    pub(crate) flaw: Flaw,
}

/// Counts and keeps the lines that cannot be read, up to the tolerated number. Clones share the count.
#[derive(Debug, Clone)]
pub(crate) struct BadLines {
    settling: Arc<Settling>,
    tolerated: u64,
    count: Arc<AtomicU64>,
    console: Console,
}

impl BadLines {
    /// Skips up to `tolerated` bad lines.
    pub(crate) fn new(settling: Arc<Settling>, tolerated: u64, console: Console) -> Self {
        Self {
            settling,
            tolerated,
            count: Arc::default(),
            console,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Prints and keeps a bad line. It is an error if there are more than tolerated.
    pub(crate) async fn skip(self, bad_line: BadLine) -> Result<(), Ended> {
        let BadLine { origin, flaw, .. } = &bad_line;
        let (name, line) = (&self.settling.names[origin.place.input], origin.place.line);
        self.console.warn(&format!("{name}:{line}: {flaw}"));
        let event =
            json!({"event": "bad_line", "file": name, "line": line, "column": flaw.column, "reason": flaw.reason});
        // A closed output ends the program at the next report.
        let _ = self.console.emit(&event);
        let count = self.count.fetch_add(1, Relaxed) + 1;
        let is_last = count > self.tolerated;
        if is_last {
            self.settling.stopped_at(&bad_line);
        }
        self.settling.bad_line(bad_line).await;
        if is_last { Err(Ended::BadLine(count)) } else { Ok(()) }
    }
}
