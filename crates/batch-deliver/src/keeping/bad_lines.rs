//! Lines that cannot be read.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::settlement::Settlement;
use super::window::BadLine;
use crate::blocking::run_blocking;
use crate::console::{Console, counted};
use crate::source::ReadFailure;

/// Why the inputs were not read to their end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputEnd {
    /// A line that cannot be read, and is not to be skipped.
    #[error(
        "stopped at a line that cannot be read, and read no line behind it (--keep-going {0} skips it; --dry-run shows all of them)"
    )]
    BadLine(u64),
    /// The error of an input.
    #[error("{0}")]
    Unreadable(Box<dyn Error + Send + Sync>),
}

impl InputEnd {
    /// Whether an input could not be reached, so that another attempt may succeed.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.unreadable().is_some_and(ReadFailure::is_unreachable)
    }

    /// Whether this worker may not read an input.
    pub(crate) fn is_denied(&self) -> bool {
        self.unreadable().is_some_and(ReadFailure::is_denied)
    }

    fn unreadable(&self) -> Option<&ReadFailure> {
        match self {
            Self::BadLine(_) => None,
            Self::Unreadable(error) => error.downcast_ref(),
        }
    }
}

/// The most bad lines that are printed; the others are counted.
const SHOWN: u64 = 10;

/// The most inputs whose other bad lines are counted in a line of their own.
const INPUTS_SHOWN: usize = 10;

/// Which bad lines are printed, and how many others there are in each input.
#[derive(Debug, Default)]
pub(crate) struct ShownLines {
    printed: u64,
    others: BTreeMap<usize, u64>,
}

impl ShownLines {
    /// Whether a line of this input is printed. If it is not, it is counted.
    pub(crate) fn is_shown(&mut self, input: usize, is_important: bool) -> bool {
        let is_shown = self.printed < SHOWN || is_important;
        if is_shown {
            self.printed += 1;
        } else {
            *self.others.entry(input).or_default() += 1;
        }
        is_shown
    }

    /// How many lines were not printed, by the names of their inputs.
    pub(crate) fn others(&self, names: &[String]) -> Vec<String> {
        let words =
            |(input, lines): (&usize, &u64)| format!("{} in {}", counted(*lines, "more bad line"), names[*input]);
        let mut others: Vec<String> = self.others.iter().take(INPUTS_SHOWN).map(words).collect();
        let rest: u64 = self.others.values().skip(INPUTS_SHOWN).sum();
        if rest > 0 {
            others.push(format!("{} in other inputs", counted(rest, "more bad line")));
        }
        others
    }
}

/// Counts and keeps the lines that cannot be read, up to the tolerated number. Clones share the count.
#[derive(Debug, Clone)]
pub(crate) struct BadLines {
    settling: Arc<Settlement>,
    tolerated: u64,
    count: Arc<AtomicU64>,
    shown: Arc<Mutex<ShownLines>>,
    console: Console,
    /// Whether the event of a line waits for a reader, in a worker. Those of later lines are left out meanwhile.
    is_unread: Arc<AtomicBool>,
}

/// How long a worker waits for the reader of its standard output.
const READER_TAKES: Duration = Duration::from_secs(1);

impl BadLines {
    /// Skips up to `tolerated` bad lines.
    pub(crate) fn new(settling: Arc<Settlement>, tolerated: u64, console: Console) -> Self {
        Self {
            settling,
            tolerated,
            count: Arc::default(),
            shown: Arc::default(),
            console,
            is_unread: Arc::default(),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// How many were not printed, by their inputs.
    pub(crate) fn others(&self) -> Vec<String> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.others(&self.settling.names)
    }

    fn is_shown(&self, input: usize, is_last: bool) -> bool {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.is_shown(input, is_last)
    }

    /// Prints and keeps a bad line. It is an error if there are more than tolerated.
    pub(crate) async fn skip(self, bad_line: BadLine) -> Result<(), InputEnd> {
        let BadLine { origin, flaw, .. } = &bad_line;
        let (name, line) = (&self.settling.names[origin.place.input], origin.place.line);
        let count = self.count.fetch_add(1, Relaxed) + 1;
        let is_last = count > self.tolerated;
        let shown = self.is_shown(origin.place.input, is_last);
        let words = shown.then(|| format!("{name}:{line}: {flaw}"));
        let event =
            json!({"event": "bad_line", "file": name, "line": line, "column": flaw.column, "reason": flaw.reason});
        if is_last {
            self.settling.stopped_at(&bad_line);
        }
        self.settling.bad_line(bad_line).await;
        self.print(words, event).await;
        if is_last { Err(InputEnd::BadLine(count)) } else { Ok(()) }
    }

    /// Prints the words, and the event with `--json`. Other tasks of the delivery continue while an output is not read. One that is closed
    /// ends the program at the next report, which is the last event.
    async fn print(&self, words: Option<String>, event: Value) {
        let console = self.console.clone();
        let ended = CancellationToken::new();
        let _ended = ended.clone().drop_guard();
        if console.waits() {
            if words.is_some() || console.is_json() {
                let print = move || {
                    if let Some(words) = words {
                        console.warn(&words);
                    }
                    let _ = console.emit_while(|| !ended.is_cancelled(), &event);
                };
                let _ = run_blocking(print).await;
            }
            return;
        }
        if let Some(words) = words {
            console.warn(&words);
        }
        if console.is_json() && !self.is_unread.swap(true, Relaxed) {
            let is_unread = Arc::clone(&self.is_unread);
            let print = move || {
                let _ = console.emit_while(|| !ended.is_cancelled(), &event);
                is_unread.store(false, Relaxed);
            };
            let _ = timeout(READER_TAKES, run_blocking(print)).await;
        }
    }
}
