//! What a journal says, as lines of JSON: what is loaded, and what of it is settled.

use serde::{Deserialize, Serialize};

use super::Identity;
use crate::failure::Failure;
use crate::input::Settled;

/// A line behind the first one, which is the identity.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first and the last number of each run of records.
    Settled(Vec<(u64, u64)>),
    /// The run that has written this, and how often it had before: no two writings of a journal are the same.
    Written { by: String, times: u64 },
    /// The run has ended by itself.
    Ended,
}

/// What is settled, and what was in doubt when it was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) settled: Settled,
    /// Entries that the last run may have sent without a record of it.
    pub(super) doubtful: u64,
}

impl Found {
    /// What the text of a journal with this name has for this load.
    pub(super) fn read(name: &str, text: &str, identity: &Identity) -> Result<Self, Failure> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let (before, settled, has_ended) = parsed(text)
            .ok_or_else(|| Failure::WrongUse(format!("{name} is no journal of this program: name another one")))?;
        if let Some(difference) = identity.difference(&before) {
            return Err(Failure::WrongUse(format!(
                "{name} is the journal of another load: {difference}. To start over, remove {name}"
            )));
        }
        let doubtful = if has_ended { 0 } else { before.unsure };
        Ok(Self { settled, doubtful })
    }
}

/// What is settled by a journal that says this.
#[cfg(any(test, fuzzing))]
pub(crate) fn settled_in(text: &str) -> Option<Settled> {
    parsed(text).map(|(_, settled, _)| settled)
}

/// What is wrong where another run is at the journal.
pub(super) fn in_use(name: &str) -> String {
    format!("the journal {name} is in use by another load: wait for its end, or name another one")
}

/// The text of a journal, as short as it can be.
pub(super) fn text(identity: &Identity, settled: &Settled) -> serde_json::Result<Vec<u8>> {
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

/// The load, what is settled, and whether the run has ended by itself. `None` for what is no journal.
fn parsed(text: &str) -> Option<(Identity, Settled, bool)> {
    // What has no line end was being written when the process was killed.
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let identity = serde_json::from_str(lines.next()?).ok()?;
    let mut settled = Settled::default();
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
                has_ended = false;
            }
            Line::Written { .. } => {}
            Line::Ended => has_ended = true,
        }
    }
    Some((identity, settled, has_ended))
}
