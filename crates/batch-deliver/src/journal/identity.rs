//! Which load a journal is of.

use std::io;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::input::{Input, Part, Storage};

/// What is loaded. A journal is good for the same load alone, since it counts the records in the order in which they are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The version of the journal.
    batch_deliver: u32,
    command: String,
    destination: String,
    order: String,
    inputs: Vec<InputIdentity>,
    /// Entries that may have been sent without being in the journal, when the process is killed.
    pub(super) unsure: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct InputIdentity {
    /// The whole path, or the name of an object.
    place: String,
    bytes: u64,
    /// When the file was modified, or the tag of the object.
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
}

impl Identity {
    pub(crate) fn new(
        command: &str,
        destination: &str,
        order: &str,
        inputs: &[Input],
        unsure: u64,
    ) -> Result<Self, Failure> {
        let inputs = inputs.iter().map(InputIdentity::of).collect::<Result<_, _>>()?;
        Ok(Self {
            batch_deliver: 1,
            command: command.to_owned(),
            destination: destination.to_owned(),
            order: order.to_owned(),
            inputs,
            unsure,
        })
    }

    /// What is another load here than in the journal.
    pub(super) fn difference(&self, old: &Self) -> Option<String> {
        if self.inputs != old.inputs {
            let changed = self.inputs.iter().find(|input| !old.inputs.contains(input));
            return Some(match changed {
                Some(input) => format!("{} has changed, or was not among the inputs", input.place),
                None => "the inputs are others, or in another order".to_owned(),
            });
        }
        let pairs = [
            ("command", &self.command, &old.command),
            ("destination", &self.destination, &old.destination),
            ("--order", &self.order, &old.order),
        ];
        let other = pairs.into_iter().find(|(_, new, old)| new != old);
        other.map(|(what, new, old)| format!("the {what} was {old}, and is {new}"))
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
    fn what_cannot_be_read_twice_cannot_be_resumed() {
        let input = Input {
            name: "-".to_owned(),
            storage: Storage::Standard,
            bytes: None,
            part: None,
        };
        let refused = Identity::new("load", "films", "turns", &[input], 400)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("- cannot be read a second time"), "{refused}");
    }
}
