//! The shard of one of several processes that read the same inputs.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::outcome::Failure;
use crate::source::{Input, Part};

/// The variable with the number of shards, if no other one has it.
const SHARDS: &str = "SHARDS";

/// Variables with the index of a process, and those with the number of processes: of array jobs of AWS Batch, and of indexed
/// jobs of Kubernetes, which have no number.
const VARIABLES: [(&str, &[&str]); 2] = [
    ("AWS_BATCH_JOB_ARRAY_INDEX", &["AWS_BATCH_JOB_ARRAY_SIZE", SHARDS]),
    ("JOB_COMPLETION_INDEX", &[SHARDS]),
];

/// A shard: its index from 0, and the number of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    index: u64,
    count: u64,
}

/// A shard as an argument: `2/16`, `/16` if a variable has the index, or `env` if variables have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardArgument {
    index: Option<u64>,
    count: Option<u64>,
}

impl FromStr for ShardArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let asked = || {
            if text == "env" {
                return Some(Self {
                    index: None,
                    count: None,
                });
            }
            let (index, count) = text.split_once('/')?;
            let index = (!index.is_empty()).then(|| index.parse()).transpose().ok()?;
            let count = count.parse().ok().filter(|count| *count > 0)?;
            Some(Self {
                index,
                count: Some(count),
            })
        };
        asked().ok_or_else(|| {
            "a shard is I/N with I from 0, such as 2/16; /N if a variable has I; or env if variables have both"
                .to_owned()
        })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Shard {
    /// The requested shard. The environment is read only if the argument says so. `None` for all of the inputs.
    pub(crate) fn wanted(
        asked: Option<ShardArgument>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, Failure> {
        let Some(asked) = asked else {
            return Ok(None);
        };
        let wanted = match (asked.index, asked.count) {
            (Some(index), Some(count)) => Ok(Self { index, count }),
            (_, count) => Self::by_environment(count, variable),
        };
        let checked = wanted.and_then(|shard| match shard {
            Self { index, count } if index >= count => Err(format!(
                "there is no shard {index} of {count}: shards are numbered from 0 to {}",
                count.saturating_sub(1)
            )),
            shard => Ok(Some(shard)),
        });
        checked.map_err(Failure::WrongUse)
    }

    fn by_environment(count: Option<u64>, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| {
            let value = variable(name)?;
            let number = value.parse::<u64>();
            Some(number.map_err(|_| format!("{name} is {value:?}, but a number is needed")))
        };
        let found = VARIABLES
            .iter()
            .find_map(|(name, counts)| Some((*name, number(name)?, *counts)));
        let Some((name, index, counts)) = found else {
            return Err(format!(
                "--shard takes the shard from {} or {}, and neither is set: give it as --shard I/N",
                VARIABLES[0].0, VARIABLES[1].0
            ));
        };
        let count = count.map(Ok).or_else(|| counts.iter().find_map(|count| number(count)));
        let count = count.unwrap_or_else(|| {
            Err(format!(
                "{name} is set, but not the number of shards: set {SHARDS}, or give --shard /N (0/1 takes all of the inputs)"
            ))
        });
        Ok(Self {
            index: index?,
            count: count?,
        })
    }

    /// The inputs of this shard: its part of each input that can be cut, and of the others those whose names belong to it, which does not
    /// depend on what else there is. Also returns how many inputs are not cut.
    pub(crate) async fn of(
        self,
        inputs: Vec<Input>,
        can_be_cut: impl AsyncFn(&Input) -> io::Result<bool>,
    ) -> Result<(Vec<Input>, u64), Failure> {
        let mut own = Vec::new();
        let mut whole = 0;
        for input in inputs {
            let Some(bytes) = input.bytes else {
                let words = format!(
                    "--shard needs files, and {} cannot be read by several processes",
                    input.name
                );
                return Err(Failure::WrongUse(words));
            };
            let can_be_cut = can_be_cut(&input)
                .await
                .map_err(|error| Failure::Failed(format!("{} cannot be read: {error}", input.name)))?;
            if can_be_cut {
                own.push(input.part(Part::of(bytes, self.index, self.count)));
            } else {
                whole += 1;
                if self.has(&input.name) {
                    own.push(input);
                }
            }
        }
        Ok((own, whole))
    }

    /// Whether the whole input with this name belongs to this shard. The checksum is the same on every machine and in every version.
    fn has(self, name: &str) -> bool {
        let checksum = u128::from(crc32fast::hash(name.as_bytes()));
        (checksum * u128::from(self.count)) >> u32::BITS == u128::from(self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    fn wanted(asked: &str, variables: Variables) -> Result<String, String> {
        let asked = (!asked.is_empty()).then(|| asked.parse()).transpose()?;
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let shard = Shard::wanted(asked, variable).map_err(|failure| failure.to_string())?;
        Ok(shard.map_or("all".to_owned(), |shard| shard.to_string()))
    }

    #[test]
    fn a_shard_is_read_from_the_environment_only_if_the_argument_says_so() {
        let batch: Variables = &[("AWS_BATCH_JOB_ARRAY_INDEX", "3"), ("AWS_BATCH_JOB_ARRAY_SIZE", "8")];
        let indexed: Variables = &[("JOB_COMPLETION_INDEX", "3"), ("SHARDS", "9")];
        let table: [(&str, Variables, &str); 7] = [
            ("", batch, "all"),
            ("", indexed, "all"),
            ("2/16", batch, "2/16"),
            ("env", batch, "3/8"),
            ("/16", batch, "3/16"),
            ("env", indexed, "3/9"),
            ("/4", &indexed[..1], "3/4"),
        ];
        for (asked, variables, expected) in table {
            assert_eq!(wanted(asked, variables).unwrap(), expected, "{asked} {variables:?}");
        }
    }

    #[test]
    fn names_that_are_numbered_are_spread_over_all_shards() {
        let names: Vec<String> = (0..320)
            .map(|number| format!("s3://films/part-{number:05}.gz"))
            .collect();
        let of_shard = |index| {
            let shard = Shard { index, count: 16 };
            names.iter().filter(|name| shard.has(name)).count()
        };
        let counts: Vec<usize> = (0..16).map(of_shard).collect();
        assert_eq!(counts.iter().sum::<usize>(), 320);
        assert!(counts.iter().all(|count| (5..=40).contains(count)), "{counts:?}");
    }

    #[test]
    fn an_invalid_shard_is_refused() {
        let table: [(&str, Variables, &str); 6] = [
            ("16/16", &[], "no shard 16 of 16"),
            ("/16", &[], "neither is set"),
            ("env", &[("JOB_COMPLETION_INDEX", "3")], "set SHARDS"),
            ("env", &[("JOB_COMPLETION_INDEX", "x")], "a number is needed"),
            ("1/0", &[], "a shard is I/N"),
            ("3", &[], "a shard is I/N"),
        ];
        for (asked, variables, words) in table {
            let refused = wanted(asked, variables).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
