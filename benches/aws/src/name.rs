//! The names of what a run makes: each has the id of the run.

use std::fmt;

/// With it begins the name of everything that a run makes.
pub(crate) const PREFIX: &str = "aws-batch-delivery-run-";
/// The tag of everything that a run makes; its value is the id of the run.
pub(crate) const TAG: &str = "aws-batch-delivery-run";
/// Hexadecimal digits.
const DIGITS: usize = 8;

/// The id of a run, at random: for a minute, SQS refuses the name of a queue that was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunId(u32);

impl RunId {
    pub(crate) fn random() -> Self {
        Self(rand::random())
    }

    /// The name of what belongs to this run.
    pub(crate) fn name(self, what: &str) -> String {
        format!("{PREFIX}{self}-{what}")
    }

    /// The run that something with this name belongs to.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let (id, what) = name.strip_prefix(PREFIX)?.split_once('-')?;
        let is_digit = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
        if id.len() != DIGITS || !id.chars().all(is_digit) || what.is_empty() {
            return None;
        }
        u32::from_str_radix(id, 16).ok().map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_run_it_belongs_to() {
        for id in [RunId(0), RunId(7), RunId(u32::MAX)] {
            for what in ["bucket", "fifo.fifo", "one-unit"] {
                assert_eq!(RunId::of(&id.name(what)), Some(id));
            }
        }
    }

    #[test]
    fn other_names_belong_to_no_run() {
        for name in [
            "orders",
            "aws-batch-delivery",
            "aws-batch-delivery-run-",
            "aws-batch-delivery-run-0000000a",
            "aws-batch-delivery-run-0000000a-",
            "aws-batch-delivery-run-0000000A-bucket",
            "aws-batch-delivery-run-+000000a-bucket",
            "aws-batch-delivery-run-000000a-bucket",
            "aws-batch-delivery-run-production-bucket",
            "my-aws-batch-delivery-run-0000000a-bucket",
        ] {
            assert_eq!(RunId::of(name), None, "{name}");
        }
    }

    #[test]
    fn the_policy_allows_no_other_names() {
        let policy = include_str!("../policy.json");
        let policy: serde_json::Value = serde_json::from_str(policy).unwrap();
        for statement in policy["Statement"].as_array().unwrap() {
            let resource = statement["Resource"].as_str().unwrap();
            let lists = statement["Action"]
                .as_array()
                .unwrap()
                .iter()
                .all(|action| action.as_str().unwrap().contains(":List"));
            assert!(lists || resource.ends_with(&format!("{PREFIX}*")), "{statement}");
        }
    }
}
