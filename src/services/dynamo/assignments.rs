//! Updates that may be applied twice with the same result: they only set top-level attributes to values, or remove them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::Attributes;
use super::equality::same_value;
use super::expression::{Token, tokens};

/// The attributes that an update sets to a value, or removes (`None`).
///
/// Recognized is exactly `SET name = :value, … REMOVE name, …`, with names or their placeholders. Everything else may depend on what
/// is in the table: functions, sums, paths into a document, `ADD`, `DELETE`, and what cannot be read.
#[derive(Debug, PartialEq)]
pub(super) struct Assignments<'a>(Vec<(&'a str, Option<&'a AttributeValue>)>);

impl<'a> Assignments<'a> {
    /// The assignments of the expression; `None` if it is not recognized.
    pub(super) fn of(expression: &'a str, names: &'a HashMap<String, String>, values: &'a Attributes) -> Option<Self> {
        let tokens: Vec<_> = tokens(expression).collect();
        let mut rest = tokens.as_slice();
        let mut assignments = Vec::new();
        while let Some((Token::Word(clause), after)) = rest.split_first() {
            rest = after;
            let sets = clause.eq_ignore_ascii_case("SET");
            if !sets && !clause.eq_ignore_ascii_case("REMOVE") {
                return None;
            }
            loop {
                let name = match rest.first()? {
                    Token::Word(name) => *name,
                    Token::NamePlaceholder(placeholder) => names.get(*placeholder)?,
                    _ => return None,
                };
                let value = match rest {
                    [_, Token::Equals, Token::ValuePlaceholder(placeholder), ..] if sets => {
                        rest = &rest[3..];
                        Some(values.get(*placeholder)?)
                    }
                    _ if sets => return None,
                    _ => {
                        rest = &rest[1..];
                        None
                    }
                };
                assignments.push((name, value));
                match rest.split_first() {
                    Some((Token::Comma, after)) => rest = after,
                    _ => break,
                }
            }
        }
        (rest.is_empty() && !assignments.is_empty()).then_some(Self(assignments))
    }

    /// Whether the item is as it would be after the update.
    pub(super) fn stand_in(&self, item: &Attributes) -> bool {
        self.0.iter().all(|(name, value)| match (value, item.get(*name)) {
            (Some(value), Some(stands)) => same_value(value, stands),
            (None, None) => true,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::text;
    use super::*;

    fn names() -> HashMap<String, String> {
        [("#s", "status"), ("#d", "a.dotted name")]
            .map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned()))
            .into()
    }

    fn values() -> Attributes {
        [(":a", text("a")), (":n", AttributeValue::N("1".to_owned()))]
            .map(|(placeholder, value)| (placeholder.to_owned(), value))
            .into()
    }

    fn read(expression: &str) -> Option<Vec<(String, bool)>> {
        let (names, values) = (names(), values());
        let assignments = Assignments::of(expression, &names, &values)?;
        let assigned = assignments.0.iter();
        Some(
            assigned
                .map(|(name, value)| ((*name).to_owned(), value.is_some()))
                .collect(),
        )
    }

    #[test]
    fn assignments_and_removals_of_whole_attributes_are_recognized() {
        let set = |name: &str| (name.to_owned(), true);
        let removed = |name: &str| (name.to_owned(), false);
        for (expression, expected) in [
            ("SET a = :a", vec![set("a")]),
            ("set a=:a,b=:n", vec![set("a"), set("b")]),
            (
                " SET #s = :a , #d = :n\n REMOVE c",
                vec![set("status"), set("a.dotted name"), removed("c")],
            ),
            (
                "REMOVE #s, d SET a = :a",
                vec![removed("status"), removed("d"), set("a")],
            ),
            ("Remove a_1", vec![removed("a_1")]),
        ] {
            assert_eq!(read(expression), Some(expected), "{expression}");
        }
    }

    #[test]
    fn whatever_may_depend_on_the_item_is_not() {
        for expression in [
            "",
            "SET",
            "SET a",
            "SET a =",
            "SET a = :a,",
            "SET a = :a b = :n",
            "SET a = b",
            "SET a = a + :n",
            "SET a = :n + a",
            "SET a = :n - :n",
            "SET a = if_not_exists(a, :a)",
            "SET a = list_append(a, :a)",
            "SET a.b = :a",
            "SET #s.b = :a",
            "SET a[0] = :a",
            "SET a = :unknown",
            "SET #unknown = :a",
            "SET a = :a REMOVE b[1]",
            "SET a = :a REMOVE",
            "SET a = :a ADD n :n",
            "ADD n :n",
            "DELETE s :a",
            "REMOVE a = :a",
            "SET a = :a; REMOVE b",
            "SET ä = :a",
            "SET a = : a",
            "a = :a",
        ] {
            assert_eq!(read(expression), None, "{expression}");
        }
    }

    #[test]
    fn an_item_is_as_it_would_be_after_the_update_whatever_else_it_has() {
        let (names, values) = (names(), values());
        let assignments = Assignments::of("SET #s = :a, n = :n REMOVE c", &names, &values).unwrap();
        let item = |attributes: &[(&str, AttributeValue)]| -> Attributes {
            let attributes = attributes.iter().cloned();
            attributes.map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let number = |number: &str| AttributeValue::N(number.to_owned());
        let wanted = [("id", text("1")), ("status", text("a")), ("n", number("1.0"))];
        assert!(assignments.stand_in(&item(&wanted)));
        assert!(!assignments.stand_in(&item(&wanted[..2])));
        assert!(!assignments.stand_in(&item(&[wanted[0].clone(), wanted[1].clone(), ("n", number("2"))])));
        let with_removed: Vec<_> = wanted.iter().cloned().chain([("c", text("still"))]).collect();
        assert!(!assignments.stand_in(&item(&with_removed)));
    }
}
