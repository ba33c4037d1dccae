//! How operations word why they refuse a value.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::Value;

use crate::wire::Refusal;

const INVALID: &str = "One or more parameter values were invalid: ";

/// The service checks values in an older or in a newer layer, and words the same refusal differently in them.
///
/// From captures of October 2026 in four regions, by the authors of the suite `paritysuite/dynamodb-conformance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wording {
    /// `PutItem`, `UpdateItem` and `DeleteItem`: as an error of a member.
    Member,
    /// Operations that read.
    Plain,
    /// `BatchWriteItem` and `TransactWriteItems`.
    Older,
}

impl Wording {
    pub(super) fn refuse(self, message: impl Into<Cow<'static, str>>) -> Refusal {
        let message: Cow<'static, str> = message.into();
        match self {
            Self::Member => invalid_member(message),
            Self::Plain | Self::Older => Refusal::validation(message),
        }
    }

    /// Refuses a value with a member or a use that its type does not have.
    pub(super) fn refuse_invalid(self, problem: &str) -> Refusal {
        self.refuse(format!("{INVALID}{problem}"))
    }

    /// Refuses a set that holds the member with this number twice. `members` are sorted by `order`, which the newer layer prints
    /// as far as it has read.
    pub(super) fn refuse_duplicate<K: Ord>(
        self,
        tag: &str,
        members: &[&str],
        repeated: usize,
        order: impl Fn(&str) -> K,
    ) -> Refusal {
        let end = match (tag, self) {
            ("NS", Self::Older) => return self.refuse("Input collection contains duplicates"),
            ("NS", _) => return self.refuse_invalid("Input collection contains duplicates."),
            ("BS", _) => "of type BS contains duplicates.",
            _ => " contains duplicates.",
        };
        let listed = if self == Self::Older {
            members.join(", ")
        } else {
            let mut read = members[..repeated].to_vec();
            read.sort_by_key(|member| order(member));
            let all = read.iter().chain(&members[repeated..]);
            let quoted: Vec<String> = all.map(|member| Value::from(*member).to_string()).collect();
            quoted.join(if tag == "BS" { "," } else { ", " })
        };
        self.refuse_invalid(&format!("Input collection [{listed}]{end}"))
    }
}

/// The refusal of a request for one of its members.
pub(super) fn invalid_member(problem: impl Display) -> Refusal {
    Refusal::validation(format!("1 validation error detected: {problem}"))
}

/// The refusal of a request for these members, or nothing if there are none.
pub(super) fn invalid_members(problems: &[String]) -> Result<(), Refusal> {
    match problems {
        [] => Ok(()),
        [problem] => Err(invalid_member(problem)),
        problems => Err(Refusal::validation(format!(
            "{} validation errors detected: {}",
            problems.len(),
            problems.join("; ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_layer_sorts_the_members_that_it_has_read_before_the_duplicate() {
        let message = |wording: Wording, tag: &str| {
            let refusal = wording.refuse_duplicate(tag, &["b", "a", "b", "C"], 2, str::to_owned);
            refusal.message().to_owned()
        };
        assert_eq!(
            message(Wording::Plain, "SS"),
            "One or more parameter values were invalid: Input collection [\"a\", \"b\", \"b\", \"C\"] contains duplicates."
        );
        assert_eq!(
            message(Wording::Member, "BS"),
            "1 validation error detected: One or more parameter values were invalid: Input collection \
             [\"a\",\"b\",\"b\",\"C\"]of type BS contains duplicates."
        );
        assert_eq!(
            message(Wording::Older, "SS"),
            "One or more parameter values were invalid: Input collection [b, a, b, C] contains duplicates."
        );
        assert_eq!(message(Wording::Older, "NS"), "Input collection contains duplicates");
    }

    #[test]
    fn several_members_are_refused_together() {
        let problems = ["one", "two"].map(str::to_owned);
        assert_eq!(invalid_members(&[]), Ok(()));
        let message = |problems: &[String]| invalid_members(problems).unwrap_err().message().to_owned();
        assert_eq!(message(&problems[..1]), "1 validation error detected: one");
        assert_eq!(message(&problems), "2 validation errors detected: one; two");
    }
}
