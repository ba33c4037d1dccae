//! A line of JSON with a checksum before it, by which a line that has changed is recognized.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::outcome::Failure;

/// Adds a line: the checksum of its JSON, and that.
pub(super) fn add(text: &mut Vec<u8>, line: &impl Serialize) -> serde_json::Result<()> {
    let json = serde_json::to_vec(line)?;
    text.extend_from_slice(checksum(&json).as_bytes());
    text.push(b' ');
    text.extend_from_slice(&json);
    text.push(b'\n');
    Ok(())
}

/// The checksum of a line with this JSON.
pub(super) fn checksum(json: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(json))
}

/// The JSON of a line without its end. `None` if it is not as it was written.
pub(super) fn checked(line: &str) -> Option<&str> {
    let (found, json) = line.split_once(' ')?;
    (found == checksum(json.as_bytes())).then_some(json)
}

/// Why a text is not used as a journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JournalFault {
    /// Another version of the program has written it, in another form.
    Older,
    /// It was written by this version, and has changed since.
    Damaged,
    Foreign,
}

impl JournalFault {
    pub(super) fn of_journal(&self, name: &str) -> Failure {
        Failure::WrongUse(match self {
            Self::Older => format!(
                "{name} is the journal of an older version of the program, which this one cannot read: continue with that version, or \
                 remove {name} to start over"
            ),
            Self::Damaged => format!(
                "{name} is damaged in its first line: what it is about is not known. To start over, remove {name}"
            ),
            Self::Foreign => format!("{name} is not a journal of this program: name another one"),
        })
    }
}

/// The first line of a text, which must be whole.
pub(super) fn first_line<T: DeserializeOwned>(text: &str) -> Result<T, JournalFault> {
    let first = text.split('\n').next().unwrap_or_default();
    if let Some(json) = checked(first) {
        return serde_json::from_str(json).map_err(|_| JournalFault::Foreign);
    }
    // Before version 3 there were no checksums.
    if let Ok(Value::Object(old)) = serde_json::from_str(first)
        && ["batch_deliver", "identity"].iter().any(|name| old.contains_key(*name))
    {
        return Err(JournalFault::Older);
    }
    let is_own = first.contains("batch_deliver") || first.get(8..10) == Some(" {");
    Err(if is_own {
        JournalFault::Damaged
    } else {
        JournalFault::Foreign
    })
}
