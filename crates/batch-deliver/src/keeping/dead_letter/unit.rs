//! A letter and its cause as one unit, even after a kill or a loss of power.
//!
//! Letters are stored in groups. First their causes are written and synced, each with the place and the checksum of its letter, and
//! without the line end behind the last one. Then the letters are written and synced, and then that line end. So a last group of causes
//! that has no such end shows which letters may not be whole.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Deserializer, Map, Value};

use crate::keeping::append_file::AppendFile;

/// What is between two causes of a group. What is behind a group has no blank.
pub(super) const WITHIN: &[u8] = b" \n";

/// Where a letter is in its file, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LetterExtent {
    /// Bytes before it.
    at: u64,
    bytes: u64,
    crc32: u32,
}

/// The cause of a letter, as a line without its end. A letter without a text is nowhere.
pub(super) fn cause_of(mut cause: Map<String, Value>, letter: Option<&[u8]>, at: u64) -> serde_json::Result<Vec<u8>> {
    if let Some(letter) = letter {
        let unit = LetterExtent {
            at,
            bytes: letter.len() as u64,
            crc32: crc32fast::hash(letter),
        };
        if let Value::Object(unit) = serde_json::to_value(unit)? {
            cause.extend(unit);
        }
    }
    serde_json::to_vec(&cause)
}

impl LetterExtent {
    fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes)
    }

    fn is_in(&self, letters: &AppendFile) -> io::Result<bool> {
        if self.end() > letters.length() {
            return Ok(false);
        }
        Ok(crc32fast::hash(&letters.read(self.at, self.bytes)?) == self.crc32)
    }
}

/// What is left of a group that may not be whole.
#[derive(Debug, Default, PartialEq, Eq)]
struct UnfinishedGroup {
    /// Bytes of whole groups of causes, and of those of the last group whose letters are whole.
    causes: u64,
    /// Bytes of letters, if there are some behind them that are not whole.
    letters: Option<u64>,
}

/// What is in files of letters and causes, if their last group may not be whole.
fn unfinished(letters: &AppendFile, causes: &AppendFile) -> io::Result<Option<UnfinishedGroup>> {
    let whole = causes.length_of_lines(|line| line.ends_with(b"\n") && !line.ends_with(WITHIN))?;
    if whole == causes.length() {
        return Ok(None);
    }
    let group = causes.read(whole, causes.length() - whole)?;
    // A cause that is not whole was not synced, so its letter was not written. What is behind a whole one may be anything.
    let mut found_causes = Deserializer::from_slice(&group).into_iter::<Map<String, Value>>();
    let mut units = Vec::new();
    while let Some(Ok(cause)) = found_causes.next() {
        let unit: Option<LetterExtent> = serde_json::from_value(Value::Object(cause)).ok();
        units.push((whole + found_causes.byte_offset() as u64, unit));
    }
    let end = units.iter().filter_map(|(_, unit)| Some(unit.as_ref()?.end())).max();
    let mut found = UnfinishedGroup {
        causes: whole,
        letters: None,
    };
    for (causes, unit) in units {
        if let Some(unit) = unit
            && !unit.is_in(letters)?
        {
            // What is longer than its letters was written by another process, which may have changed them as well.
            let is_own = end.is_some_and(|end| letters.length() <= end);
            found.letters = Some(unit.at).filter(|at| is_own && *at < letters.length());
            break;
        }
        found.causes = causes;
    }
    Ok(Some(found))
}

/// Removes what a run that was killed, or a loss of power, has left of letters and of their causes. The input still has them.
pub(super) fn remove_unfinished(letters: &mut AppendFile, causes: &mut AppendFile) -> io::Result<()> {
    let Some(found) = unfinished(letters, causes)? else {
        return Ok(());
    };
    if let Some(length) = found.letters {
        letters.cut(length)?;
    }
    causes.cut(found.causes)?;
    causes.end_line()
}

/// The bytes of whole letters in a file of which the last one is not whole.
pub(super) fn whole_letters(letters: &AppendFile, causes: &AppendFile) -> io::Result<Option<u64>> {
    Ok(unfinished(letters, causes)?.and_then(|found| found.letters))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn opened(folder: &Path) -> (AppendFile, AppendFile) {
        let open = |name: &str| AppendFile::open(&folder.join(name)).unwrap();
        (open("letters"), open("causes"))
    }

    fn cause(text: &str, at: usize) -> Vec<u8> {
        let Value::Object(cause) = json!({"cause": "no"}) else {
            unreachable!()
        };
        cause_of(cause, Some(text.as_bytes()), at as u64).unwrap()
    }

    /// What is left of what was written behind what was synced.
    #[derive(Debug, Clone, Copy)]
    enum Remainder {
        All,
        /// This many hundredths, and nothing or zeros behind them.
        Part(usize),
        Zeros(usize),
    }

    fn left() -> impl Strategy<Value = Remainder> {
        prop_oneof![
            Just(Remainder::All),
            (0_usize..100).prop_map(Remainder::Part),
            (0_usize..100).prop_map(Remainder::Zeros)
        ]
    }

    impl Remainder {
        fn of(self, written: &[u8]) -> Vec<u8> {
            match self {
                Self::All => written.to_vec(),
                Self::Part(hundredths) => written[..written.len() * hundredths / 100].to_vec(),
                Self::Zeros(hundredths) => {
                    let mut left = Self::Part(hundredths).of(written);
                    left.resize(written.len(), 0);
                    left
                }
            }
        }
    }

    proptest! {
        /// Each state in which a group can be when the power is lost.
        #[test]
        fn whatever_is_left_of_a_group_each_letter_is_whole_and_has_its_cause(
            groups in prop::collection::vec(prop::collection::vec("[a-z{}]{0,40}", 1..4), 1..4),
            causes_left in left(),
            letters_left in left(),
            are_causes_synced in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let (mut letters, mut causes, mut all) = (Vec::new(), Vec::new(), Vec::new());
            let (last, before) = groups.split_last().unwrap();
            for (group, is_last) in before.iter().map(|group| (group, false)).chain([(last, true)]) {
                let (mut added_letters, mut added_causes) = (Vec::new(), Vec::new());
                for text in group {
                    if !added_causes.is_empty() {
                        added_causes.extend(WITHIN);
                    }
                    let text = format!("{text}\n");
                    added_causes.extend(cause(&text, letters.len() + added_letters.len()));
                    added_letters.extend(text.as_bytes());
                    all.push(text);
                }
                // The line end behind a group is synced with the next one.
                if !causes.is_empty() {
                    added_causes.insert(0, b'\n');
                }
                if is_last && are_causes_synced {
                    added_letters = letters_left.of(&added_letters);
                } else if is_last {
                    added_causes = causes_left.of(&added_causes);
                    added_letters.clear();
                }
                letters.extend(added_letters);
                causes.extend(added_causes);
            }
            fs::write(folder.path().join("letters"), &letters).unwrap();
            fs::write(folder.path().join("causes"), &causes).unwrap();
            let (mut letters, mut causes) = opened(folder.path());
            remove_unfinished(&mut letters, &mut causes).unwrap();
            drop((letters, causes));
            let letters = fs::read_to_string(folder.path().join("letters")).unwrap();
            let causes = fs::read_to_string(folder.path().join("causes")).unwrap();
            let found: Vec<String> = letters.split_inclusive('\n').map(str::to_owned).collect();
            let certain: usize = before.iter().map(Vec::len).sum();
            prop_assert!(found.len() >= certain && all.starts_with(&found), "{found:?} of {all:?}");
            let mut at = 0;
            let expected: Vec<String> = found.iter().map(|text| {
                let cause = String::from_utf8(cause(text, at)).unwrap();
                at += text.len();
                cause
            }).collect();
            let named: Vec<&str> = causes.lines().map(str::trim_end).collect();
            prop_assert_eq!(named, expected);
            prop_assert!(causes.is_empty() || causes.ends_with("}\n"), "{causes:?}");
        }
    }

    #[test]
    fn what_a_user_has_changed_or_added_stays() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
        for (ends, text) in [
            (true, "changed\n"),
            (true, "x"),
            (false, "one\nmine\n"),
            (false, "changed\n"),
        ] {
            write("letters", text.as_bytes());
            let mut causes = cause("one\n", 0);
            if ends {
                causes.push(b'\n');
            }
            write("causes", &causes);
            let (mut letters, mut causes) = opened(folder.path());
            remove_unfinished(&mut letters, &mut causes).unwrap();
            assert_eq!(fs::read_to_string(folder.path().join("letters")).unwrap(), text);
        }
    }
}
