//! The load that a journal belongs to.

use std::collections::BTreeMap;
use std::io;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::input::{Input, Part, Storage};

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

impl Identity {
    pub(crate) fn new(
        settings: impl IntoIterator<Item = (&'static str, String)>,
        inputs: &[Input],
        unsure: u64,
    ) -> Result<Self, Failure> {
        let inputs = inputs.iter().map(InputIdentity::of).collect::<Result<_, _>>()?;
        Ok(Self {
            batch_deliver: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            inputs,
            unsure,
        })
    }

    /// The name of a setting that is compared only if both runs know it, because `DescribeTable` may not be permitted.
    pub(crate) const TABLE_ARN: &str = "table's ARN";

    /// How this load differs from that of the journal, and what to do.
    pub(super) fn difference(&self, old: &Self) -> Option<String> {
        if (self.batch_deliver, &self.program) != (old.batch_deliver, &old.program) {
            return Some(format!(
                "it was started by another version of the program; this is version {}: continue with the version that started it",
                self.program
            ));
        }
        if self.inputs != old.inputs {
            let changed = self.inputs.iter().find(|input| !old.inputs.contains(input));
            return Some(match changed {
                Some(input) => format!("{} has changed, or was not among the inputs", input.place),
                None => "the inputs or their order have changed".to_owned(),
            });
        }
        let mut names = self.settings.keys().chain(old.settings.keys());
        names.find_map(|name| {
            let (new, before) = (self.settings.get(name), old.settings.get(name));
            let is_unknown = name == Self::TABLE_ARN && (new.is_none() || before.is_none());
            let word = |value: Option<&String>| value.map_or_else(|| "not given".to_owned(), Clone::clone);
            (new != before && !is_unknown).then(|| {
                let (new, before) = (word(new), word(before));
                format!("the {name} was {before}, and is {new}: to continue, give it as before")
            })
        })
    }
}

impl InputIdentity {
    fn of(input: &Input) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| Failure::WrongUse(format!("{} cannot be read: {error}", input.name));
        let (place, version) = match &input.storage {
            Storage::File(path) if input.bytes.is_some() => {
                let path = path.canonicalize().map_err(unreadable)?;
                let modified = path
                    .metadata()
                    .and_then(|metadata| metadata.modified())
                    .map_err(unreadable)?;
                let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
                (path.display().to_string(), modified.as_nanos().to_string())
            }
            #[cfg(feature = "s3")]
            Storage::Object(object) => (input.name.clone(), object.etag.clone()),
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
    use super::*;

    #[test]
    fn an_input_that_cannot_be_read_twice_cannot_be_resumed() {
        let input = Input {
            name: "-".to_owned(),
            storage: Storage::Standard,
            bytes: None,
            part: None,
        };
        let refused = Identity::new([], &[input], 400).unwrap_err().to_string();
        assert!(refused.contains("- cannot be read a second time"), "{refused}");
    }

    #[test]
    fn any_other_setting_or_version_makes_another_load() {
        let of = |settings: &[(&'static str, &str)]| {
            let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
            Identity::new(settings, &[], 400).unwrap()
        };
        let plain = of(&[("format", "auto")]);
        let simulated = of(&[("format", "auto"), ("--simulate", "10")]);
        let known = of(&[("format", "auto"), (Identity::TABLE_ARN, "a")]);
        let other = of(&[("format", "auto"), (Identity::TABLE_ARN, "b")]);
        let words = plain.difference(&simulated).unwrap();
        assert!(words.contains("the --simulate was 10, and is not given"), "{words}");
        assert!(simulated.difference(&plain).is_some());
        assert!(known.difference(&other).is_some());
        assert_eq!((known.difference(&plain), plain.difference(&known)), (None, None));
        let old = Identity {
            program: "0.0.1".to_owned(),
            ..plain.clone()
        };
        assert!(plain.difference(&old).unwrap().contains("another version"));
    }
}
