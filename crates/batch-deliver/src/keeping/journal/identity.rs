//! The load that a journal belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::Claim;
use crate::console::Console;
use crate::outcome::Failure;
use crate::sink::{KEY, OF_PLACE, UNKNOWN};
use crate::source::{Beginning, Input, InputStorage, Order, Part};

/// The version of the journal.
const VERSION: u32 = 3;

/// The setting of the order in which inputs are read.
pub(crate) const ORDER: &str = "--order";

/// The identity of a load. A journal is valid only for the same load, because it numbers the records in the order of reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The version of the journal.
    batch_deliver: u32,
    /// The version of the program.
    #[serde(default)]
    program: String,
    /// The settings of the load and its destination, by name.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    inputs: Vec<InputIdentity>,
    /// The inputs themselves, to compare their contents.
    #[serde(skip)]
    contents: Vec<Input>,
    /// How many entries may have been sent without being in the journal if the process is killed.
    pub(super) unsure: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct InputIdentity {
    /// The absolute path, or the name of an object.
    place: String,
    bytes: u64,
    /// The modification time of the file, or the tag of the object.
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
}

/// The bad line at which a run has stopped. If only records before it are settled, its input may change from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StopLine {
    /// The number of the record.
    pub(crate) number: u64,
    /// The index of the input.
    pub(crate) input: usize,
    pub(crate) line: u64,
    /// The checksum of all that is before the line.
    pub(crate) checksum: u32,
}

impl Identity {
    pub(crate) fn new(
        settings: impl IntoIterator<Item = (&'static str, String)>,
        inputs: &[Input],
        unsure: u64,
    ) -> Result<Self, Failure> {
        Ok(Self {
            contents: inputs.to_vec(),
            inputs: inputs.iter().map(InputIdentity::of).collect::<Result<_, _>>()?,
            batch_deliver: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            unsure,
        })
    }

    /// The same on any machine: the copies of a file have other times. What was read of it is compared.
    pub(crate) fn without_times(mut self) -> Self {
        for (input, content) in self.inputs.iter_mut().zip(&self.contents) {
            if matches!(content.storage, InputStorage::File(_)) {
                input.version.clear();
            }
        }
        self
    }

    /// How this load differs from that of the journal, whose last run has stopped at a bad line or not. The beginnings of inputs that
    /// have changed are removed from those that were read. Blocks.
    pub(super) fn differences(
        &self,
        old: &Self,
        stopped: Option<&StopLine>,
        read: &mut BTreeMap<usize, Beginning>,
    ) -> Vec<IdentityDifference> {
        if (self.batch_deliver, &self.program) != (old.batch_deliver, &old.program) {
            return vec![IdentityDifference::of_options(format!(
                "it was started by another version of the program; this is version {}: continue with the version that started it",
                self.program
            ))];
        }
        let mut differences = self.differences_of_inputs(old, stopped, read);
        let names: BTreeSet<_> = self.settings.keys().chain(old.settings.keys()).collect();
        differences.extend(
            names
                .into_iter()
                .filter_map(|name| self.difference_of_setting(old, name)),
        );
        differences
    }

    fn difference_of_setting(&self, old: &Self, name: &str) -> Option<IdentityDifference> {
        let (new, before) = (self.settings.get(name), old.settings.get(name));
        let of_place = OF_PLACE.iter().find(|(known, _)| *known == name);
        let is_unknown = |value: Option<&String>| value.is_none_or(|value| value == UNKNOWN);
        let may_be_unknown = of_place.is_some() || name == KEY;
        if new == before || may_be_unknown && (is_unknown(new) || is_unknown(before)) {
            return None;
        }
        let word = |value: Option<&String>| value.map_or_else(|| "not given".to_owned(), Clone::clone);
        let words = format!("the {name} was {}, and is {}", word(before), word(new));
        let advice = of_place.map_or("to continue, give it as before", |(_, advice)| advice);
        Some(IdentityDifference {
            words: format!("{words}: {advice}"),
            can_be_trusted: of_place.is_some(),
        })
    }

    /// What is not known of the place of the delivery, and so not compared.
    pub(crate) fn unknown(&self) -> Option<String> {
        let unknown: Vec<&str> = self
            .settings
            .iter()
            .filter(|(_, value)| *value == UNKNOWN)
            .map(|(name, _)| name.as_str())
            .collect();
        (!unknown.is_empty()).then(|| unknown.join(" and the "))
    }

    fn differences_of_inputs(
        &self,
        old: &Self,
        stopped: Option<&StopLine>,
        read: &mut BTreeMap<usize, Beginning>,
    ) -> Vec<IdentityDifference> {
        let is_same = |(new, old): (&InputIdentity, &InputIdentity)| (&new.place, new.part) == (&old.place, old.part);
        if self.inputs.len() != old.inputs.len() || !self.inputs.iter().zip(&old.inputs).all(is_same) {
            let new = self.inputs.iter().find(|input| !old.inputs.contains(input));
            return vec![IdentityDifference::of_options(match new {
                Some(input) => format!("{} has changed, or was not among the inputs", input.place),
                None => "the inputs or their order have changed".to_owned(),
            })];
        }
        let mut differences = Vec::new();
        for (index, input) in self.contents.iter().enumerate() {
            let InputIdentity { place, part, .. } = &self.inputs[index];
            let changed = if self.inputs[index] == old.inputs[index] {
                let is_same = read.get(&index).map_or(Ok(true), |read| input.begins_with(*read));
                match is_same {
                    Ok(true) => continue,
                    Ok(false) => format!(
                        "{place} has other content than when it was read, although its size and its time are the same"
                    ),
                    Err(error) => format!("{place} cannot be read: {error}"),
                }
            } else {
                format!("{place} has changed")
            };
            read.remove(&index);
            let stopped = stopped.filter(|stopped| stopped.input == index && part.is_none());
            let changed = match stopped {
                None => Some(changed),
                Some(StopLine { line, checksum, .. }) => match input.checksum_before(*line) {
                    Ok(Some(found)) if found == *checksum => None,
                    Ok(_) => Some(format!(
                        "{place} has changed before line {line}, at which the last run stopped"
                    )),
                    Err(error) => Some(format!("{place} has changed, and cannot be read: {error}")),
                },
            };
            // With another number of records, it would give all that are read after it other numbers.
            let can_be_trusted = self.is_read_last(index);
            differences.extend(changed.map(|words| IdentityDifference { words, can_be_trusted }));
        }
        differences
    }

    /// Whether no other input is read after it or at the same time.
    fn is_read_last(&self, index: usize) -> bool {
        let is_one_by_one = self
            .settings
            .get(ORDER)
            .is_some_and(|order| order == Order::File.name());
        self.inputs.len() == 1 || is_one_by_one && index + 1 == self.inputs.len()
    }
}

/// Something that is another thing than in the journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IdentityDifference {
    words: String,
    /// Whether the user may know that it is the same all the same. What says which record has which number must be given as before.
    can_be_trusted: bool,
}

impl IdentityDifference {
    fn of_options(words: String) -> Self {
        Self {
            words,
            can_be_trusted: false,
        }
    }

    /// An error, unless the user answers for it.
    pub(super) fn accept(&self, name: &str, claim: Claim, console: &Console) -> Result<(), Failure> {
        let words = format!("{name} is the journal of another load: {}", self.words);
        let accepted = if self.can_be_trusted {
            claim.trusts(&words, console)
        } else {
            Err(words)
        };
        accepted.map_err(|words| {
            Failure::WrongUse(format!(
                "{words}. To start over, remove {name}; a load of something else needs another --resume"
            ))
        })
    }
}

impl InputIdentity {
    fn of(input: &Input) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| Failure::WrongUse(format!("{} cannot be read: {error}", input.name));
        let (place, version) = match &input.storage {
            InputStorage::File(path) if input.bytes.is_some() => {
                let path = path.canonicalize().map_err(unreadable)?;
                let modified = path
                    .metadata()
                    .and_then(|metadata| metadata.modified())
                    .map_err(unreadable)?;
                let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
                (path.display().to_string(), modified.as_nanos().to_string())
            }
            InputStorage::Object(object) => (input.name.clone(), object.etag.clone()),
            _ => {
                let words = format!("--resume needs files, and {} cannot be read a second time", input.name);
                return Err(Failure::WrongUse(words));
            }
        };
        Ok(Self {
            place,
            bytes: input.bytes.unwrap_or_default(),
            version,
            part: input.part,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_input_that_cannot_be_read_twice_cannot_be_resumed() {
        let input = Input {
            name: "-".to_owned(),
            storage: InputStorage::Standard,
            bytes: None,
            part: None,
            encoding: None,
            has_own_keys: false,
        };
        let refused = Identity::new([], &[input], 400).unwrap_err().to_string();
        assert!(refused.contains("- cannot be read a second time"), "{refused}");
    }

    /// The shard of a worker that was killed began from scratch on another machine.
    #[test]
    fn a_copy_with_another_time_is_the_same_for_a_worker() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, "a\n").unwrap();
        let of = |seconds: u64| {
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
            Identity::new([], &[Input::file(&path).unwrap()], 400).unwrap()
        };
        let differs = |new: Identity, old: Identity| !new.differences(&old, None, &mut BTreeMap::new()).is_empty();
        assert!(differs(of(2), of(1)));
        assert!(!differs(of(2).without_times(), of(1).without_times()));
    }

    proptest! {
        #[test]
        fn an_input_may_change_from_the_line_on_at_which_a_run_has_stopped(
            old in "[ab\n]{0,12}",
            new in "[ab\n]{0,12}",
            is_longer in any::<bool>(),
            line in 1_u64..5,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jsonl");
            let of = |text: &str, seconds: u64| {
                fs::write(&path, text).unwrap();
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
                let input = Input::file(&path).unwrap();
                (Identity::new([], std::slice::from_ref(&input), 400).unwrap(), input.checksum_before(line).unwrap())
            };
            let new = if is_longer { format!("{old}{new}") } else { new };
            let (before, checksum) = of(&old, 1);
            let (now, checksum_now) = of(&new, 2);
            prop_assume!(checksum.is_some());
            let stopped = StopLine { number: 0, input: 0, line, checksum: checksum.unwrap() };
            let other = StopLine { input: 1, ..stopped };
            let is_same = |stopped: Option<&StopLine>| now.differences(&before, stopped, &mut BTreeMap::new()).is_empty();
            prop_assert_eq!(is_same(Some(&stopped)), checksum == checksum_now);
            prop_assert!(!is_same(Some(&other)) && !is_same(None));
        }
    }

    #[test]
    fn any_other_setting_or_version_makes_another_load() {
        let of = |settings: &[(&'static str, &str)]| {
            let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
            Identity::new(settings, &[], 400).unwrap()
        };
        let difference = |new: &Identity, old: &Identity| {
            let difference = new.differences(old, None, &mut BTreeMap::new()).into_iter().next();
            difference.map(|difference| (difference.words, difference.can_be_trusted))
        };
        let plain = of(&[("format", "auto")]);
        let simulated = of(&[("format", "auto"), ("--simulate", "10")]);
        let [known, other, unknown] = ["a", "b", UNKNOWN].map(|id| of(&[("format", "auto"), (OF_PLACE[0].0, id)]));
        let (words, can_be_trusted) = difference(&plain, &simulated).unwrap();
        assert!(words.contains("the --simulate was 10, and is not given"), "{words}");
        assert!(difference(&simulated, &plain).is_some() && !can_be_trusted);
        assert!(difference(&known, &other).unwrap().1);
        for (new, old) in [
            (&known, &plain),
            (&plain, &known),
            (&known, &unknown),
            (&unknown, &known),
        ] {
            assert_eq!(difference(new, old), None);
        }
        assert_eq!(
            (known.unknown(), unknown.unknown()),
            (None, Some(OF_PLACE[0].0.to_owned()))
        );
        let [id, title, unknown] = ["id:N", "title:S", UNKNOWN].map(|key| of(&[("format", "auto"), (KEY, key)]));
        for (new, old) in [(&id, &unknown), (&unknown, &id), (&id, &plain), (&plain, &id)] {
            assert_eq!(difference(new, old), None);
        }
        assert!(!difference(&id, &title).unwrap().1);
        let old = Identity {
            program: "0.0.1".to_owned(),
            ..plain.clone()
        };
        assert!(difference(&plain, &old).unwrap().0.contains("another version"));
    }
}
