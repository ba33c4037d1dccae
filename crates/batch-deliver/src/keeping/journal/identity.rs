//! The load that a journal belongs to.

use std::collections::BTreeMap;
use std::io;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::outcome::Failure;
use crate::sink::OF_DESCRIPTION;
use crate::source::{Input, InputStorage, Part};

/// The version of the journal.
const VERSION: u32 = 2;

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
pub(crate) struct Stopped {
    /// The number of the record.
    pub(crate) number: u64,
    /// The index of the input.
    pub(crate) input: usize,
    pub(crate) line: u64,
    /// The checksum of all that stands before the line.
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

    /// How this load differs from that of the journal, whose last run has stopped at a bad line or not; and what to do. Blocks.
    pub(super) fn difference(&self, old: &Self, stopped: Option<&Stopped>) -> Option<String> {
        if (self.batch_deliver, &self.program) != (old.batch_deliver, &old.program) {
            return Some(format!(
                "it was started by another version of the program; this is version {}: continue with the version that started it",
                self.program
            ));
        }
        if let Some(difference) = self.difference_of_inputs(old, stopped) {
            return Some(difference);
        }
        let mut names = self.settings.keys().chain(old.settings.keys());
        names.find_map(|name| {
            let (new, before) = (self.settings.get(name), old.settings.get(name));
            let is_described = OF_DESCRIPTION.contains(&name.as_str());
            let is_unknown = is_described && (new.is_none() || before.is_none());
            let word = |value: Option<&String>| value.map_or_else(|| "not given".to_owned(), Clone::clone);
            (new != before && !is_unknown).then(|| {
                let (new, before) = (word(new), word(before));
                let advice = if is_described {
                    "it is another table"
                } else {
                    "to continue, give it as before"
                };
                format!("the {name} was {before}, and is {new}: {advice}")
            })
        })
    }
}

impl Identity {
    fn difference_of_inputs(&self, old: &Self, stopped: Option<&Stopped>) -> Option<String> {
        let is_same = |(new, old): (&InputIdentity, &InputIdentity)| (&new.place, new.part) == (&old.place, old.part);
        if self.inputs.len() != old.inputs.len() || !self.inputs.iter().zip(&old.inputs).all(is_same) {
            let new = self.inputs.iter().find(|input| !old.inputs.contains(input));
            return Some(match new {
                Some(input) => format!("{} has changed, or was not among the inputs", input.place),
                None => "the inputs or their order have changed".to_owned(),
            });
        }
        let changed = (0..self.inputs.len()).filter(|index| self.inputs[*index] != old.inputs[*index]);
        let mut differences = changed.filter_map(|index| {
            let InputIdentity { place, part, .. } = &self.inputs[index];
            let stopped = stopped.filter(|stopped| stopped.input == index && part.is_none());
            let Some(Stopped { line, checksum, .. }) = stopped else {
                return Some(format!("{place} has changed"));
            };
            match self.contents[index].checksum_before(*line) {
                Ok(Some(found)) if found == *checksum => None,
                Ok(_) => Some(format!(
                    "{place} has changed before line {line}, at which the last run stopped"
                )),
                Err(error) => Some(format!("{place} has changed, and cannot be read: {error}")),
            }
        });
        differences.next()
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
            #[cfg(feature = "s3")]
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
    use crate::sink::TABLE_ARN;

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
            let stopped = Stopped { number: 0, input: 0, line, checksum: checksum.unwrap() };
            let other = Stopped { input: 1, ..stopped };
            prop_assert_eq!(now.difference(&before, Some(&stopped)).is_none(), checksum == checksum_now);
            prop_assert!(now.difference(&before, Some(&other)).is_some() && now.difference(&before, None).is_some());
        }
    }

    #[test]
    fn any_other_setting_or_version_makes_another_load() {
        let of = |settings: &[(&'static str, &str)]| {
            let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
            Identity::new(settings, &[], 400).unwrap()
        };
        let plain = of(&[("format", "auto")]);
        let simulated = of(&[("format", "auto"), ("--simulate", "10")]);
        let known = of(&[("format", "auto"), (TABLE_ARN, "a")]);
        let other = of(&[("format", "auto"), (TABLE_ARN, "b")]);
        let words = plain.difference(&simulated, None).unwrap();
        assert!(words.contains("the --simulate was 10, and is not given"), "{words}");
        assert!(simulated.difference(&plain, None).is_some());
        assert!(known.difference(&other, None).is_some());
        assert_eq!(
            (known.difference(&plain, None), plain.difference(&known, None)),
            (None, None)
        );
        let old = Identity {
            program: "0.0.1".to_owned(),
            ..plain.clone()
        };
        assert!(plain.difference(&old, None).unwrap().contains("another version"));
    }
}
