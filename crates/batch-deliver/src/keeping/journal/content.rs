//! The content of a journal, as lines of JSON: the load, and which of its records are settled.

use serde::{Deserialize, Serialize};

use super::{Identity, Stopped};
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::SettledRecords;

/// How a journal of another load, or of another run, is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The journal was named by the user. It is an error if it belongs to another load or is in use by another run.
    Named,
    /// The load was handed to this process only. Another run of it is about to end, and the journal of another load is replaced.
    #[cfg(feature = "distributed")]
    Granted,
}

impl Claim {
    /// What was found of earlier runs. A journal that is replaced is printed, with why nothing of it is used.
    pub(super) fn accepted<F: Default>(self, found: Result<F, Failure>, console: &Console) -> Result<F, Failure> {
        match found {
            Err(failure) if self != Self::Named => {
                console.warn(&format!(
                    "the checkpoint is replaced, and the shard begins anew: {failure}"
                ));
                Ok(F::default())
            }
            found => found,
        }
    }
}

/// A line after the first one, which is the identity.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first and the last number of each run of records.
    Settled(Vec<(u64, u64)>),
    /// Which run has written the journal.
    Written(WriterStamp),
    /// The run has stopped at a bad line.
    Stopped(Stopped),
    /// The run has ended without being killed.
    Ended,
}

/// The run that has written a journal, and its number of writes, so that no two writes have the same content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WriterStamp {
    pub(super) by: String,
    pub(super) times: u64,
}

/// What an earlier run has left: the settled records, and how many entries are in doubt.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EarlierRun {
    pub(super) settled: SettledRecords,
    /// How many entries the last run may have sent without recording them.
    pub(super) doubtful: u64,
}

impl EarlierRun {
    /// Reads the text of the journal with this name, for this load.
    pub(super) fn read(name: &str, text: &str, identity: &Identity) -> Result<Self, Failure> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let parsed = parsed(text)
            .ok_or_else(|| Failure::WrongUse(format!("{name} is no journal of this program: name another one")))?;
        let Parsed {
            identity: before,
            settled,
            stopped,
            has_ended,
        } = parsed;
        // A later record that is settled would have another number if the line became two.
        let stopped = stopped.filter(|stopped| settled.last().is_none_or(|last| last < stopped.number));
        if let Some(difference) = identity.difference(&before, stopped.as_ref()) {
            return Err(Failure::WrongUse(format!(
                "{name} is the journal of another load: {difference}. To start over, remove {name}"
            )));
        }
        let doubtful = if has_ended { 0 } else { before.unsure };
        Ok(Self { settled, doubtful })
    }
}

/// The settled records of a journal with this text.
#[cfg(any(test, fuzzing))]
pub(crate) fn settled_in(text: &str) -> Option<SettledRecords> {
    parsed(text).map(|parsed| parsed.settled)
}

/// The error if another run uses the journal.
pub(super) fn in_use(name: &str) -> String {
    format!("the journal {name} is in use by another load: wait for its end, or name another one")
}

/// The shortest text of a journal.
pub(super) fn text(identity: &Identity, settled: &SettledRecords) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(identity)?;
    text.push(b'\n');
    add(&mut text, &Line::Settled(settled.runs().collect()))?;
    Ok(text)
}

pub(super) fn add(text: &mut Vec<u8>, line: &Line) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}

/// The load, its settled records, and how its last run has ended.
struct Parsed {
    identity: Identity,
    settled: SettledRecords,
    stopped: Option<Stopped>,
    /// Whether the run ended without being killed.
    has_ended: bool,
}

/// `None` if the text is not a journal.
fn parsed(text: &str) -> Option<Parsed> {
    // A last line without a line end was incomplete when the process was killed.
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let identity = serde_json::from_str(lines.next()?).ok()?;
    let mut settled = SettledRecords::default();
    let mut stopped = None;
    let mut has_ended = false;
    for line in lines {
        match serde_json::from_str(line).ok()? {
            Line::Settled(runs) => {
                for (first, last) in runs {
                    // No run ends before it begins, and no load has as many records as a number can count.
                    if first > last || last == u64::MAX {
                        return None;
                    }
                    settled.add(first, last);
                }
                (stopped, has_ended) = (None, false);
            }
            Line::Written(_) => {}
            Line::Stopped(at) => stopped = Some(at),
            Line::Ended => has_ended = true,
        }
    }
    Some(Parsed {
        identity,
        settled,
        stopped,
        has_ended,
    })
}
