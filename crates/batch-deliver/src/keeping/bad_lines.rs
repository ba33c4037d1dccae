//! Lines that cannot be read.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::json;

use super::settling::Settling;
use super::window::BadLine;
use crate::console::Console;
#[cfg(feature = "distributed")]
use crate::source::Unreadable;

/// Why the inputs were not read to their end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// A line that cannot be read, and is not to be skipped.
    #[error("stopped at a line that cannot be read, and read no line behind it (--keep-going {0} skips it)")]
    BadLine(u64),
    /// The error of an input.
    #[error("{0}")]
    Unreadable(Box<dyn Error + Send + Sync>),
}

#[cfg(feature = "distributed")]
impl Ended {
    /// Whether an input could not be reached, so that another attempt may succeed.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.unreadable().is_some_and(Unreadable::is_unreachable)
    }

    /// Whether this worker may not read an input.
    pub(crate) fn is_denied(&self) -> bool {
        self.unreadable().is_some_and(Unreadable::is_denied)
    }

    fn unreadable(&self) -> Option<&Unreadable> {
        match self {
            Self::BadLine(_) => None,
            Self::Unreadable(error) => error.downcast_ref(),
        }
    }
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
