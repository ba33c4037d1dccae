//! The functions of conditions.

use serde_json::json;

use super::comparison::{size, tag};
use super::condition::{Operand, Test};
use super::parser::Parser;
use crate::wire::Refusal;

/// The types that `attribute_type` knows.
const TYPES: [&str; 10] = ["B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"];

/// The functions of conditions.
pub(super) const FUNCTIONS: [&str; 6] = [
    "attribute_exists",
    "attribute_not_exists",
    "attribute_type",
    "begins_with",
    "contains",
    "size",
];

/// An operand, or a function that is a condition.
pub(super) enum Term {
    Operand(Operand),
    Test(Test, &'static str),
}

impl Parser<'_, '_> {
    /// A function whose name and parenthesis are taken. The operands of a function cannot be functions.
    pub(super) fn function(&mut self, name: &str) -> Result<Term, Refusal> {
        let Some(known) = FUNCTIONS.into_iter().find(|known| *known == name) else {
            return Err(match name {
                "if_not_exists" | "list_append" => self.invalid(format_args!(
                    "The function is not allowed in a condition expression; function: {name}"
                )),
                _ => self.invalid(format_args!("Invalid function name; function: {name}")),
            });
        };
        let operands = self.arguments(known)?;
        let expected = 1 + usize::from(matches!(known, "attribute_type" | "begins_with" | "contains"));
        if operands.len() != expected {
            return Err(self.invalid(format_args!(
                "Incorrect number of operands for operator or function; operator or function: {known}, number of operands: {}",
                operands.len()
            )));
        }
        let mut operands = operands.into_iter();
        match (operands.next(), operands.next()) {
            (Some(Operand::Path(path)), None) => Ok(match known {
                "size" => Term::Operand(Operand::Size(path)),
                "attribute_exists" => Term::Test(Test::Exists(path), known),
                _ => Term::Test(Test::NotExists(path), known),
            }),
            (Some(Operand::Value(value)), None) if known == "size" => match size(&value) {
                Some(size) => Ok(Term::Operand(Operand::Value(json!({"N": size.to_string()})))),
                None => Err(self.wrong_type(known, tag(&value))),
            },
            (Some(one), Some(other)) => Ok(Term::Test(self.function_of_two(known, one, other)?, known)),
            _ => Err(self.invalid(format_args!(
                "Operator or function requires a document path; operator or function: {known}"
            ))),
        }
    }

    fn function_of_two(&self, name: &str, one: Operand, other: Operand) -> Result<Test, Refusal> {
        let check = |operand: &Operand, is_allowed: fn(&str) -> bool| match operand.tag() {
            Some(tag) if !is_allowed(tag) => Err(self.wrong_type(name, tag)),
            _ => Ok(()),
        };
        match name {
            "attribute_type" => match &other {
                Operand::Value(value) if tag(value) == "S" => {
                    let expected = value["S"].as_str().unwrap_or_default();
                    if !TYPES.contains(&expected) {
                        return Err(self.invalid(format_args!(
                            "Invalid attribute type name found; type: {expected}, valid types: {{{}}}",
                            TYPES.join(",")
                        )));
                    }
                    Ok(Test::HasType(one, expected.to_owned()))
                }
                _ => Err(self.wrong_type(name, other.tag().unwrap_or("{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"))),
            },
            "begins_with" => {
                check(&one, |tag| matches!(tag, "S" | "B"))?;
                check(&other, |tag| matches!(tag, "S" | "B"))?;
                self.check_distinct(name, &one, &other)?;
                Ok(Test::BeginsWith(one, other))
            }
            _ => {
                check(&one, |tag| matches!(tag, "S" | "B" | "SS" | "NS" | "BS" | "L"))?;
                self.check_distinct(name, &one, &other)?;
                Ok(Test::Contains(one, other))
            }
        }
    }

    /// The operands of a function.
    fn arguments(&mut self, function: &str) -> Result<Vec<Operand>, Refusal> {
        let mut operands = Vec::new();
        loop {
            let mut opened = 0;
            while self.take_symbol("(") {
                opened += 1;
            }
            if let Some(nested) = self.take_function() {
                return Err(match (function, nested) {
                    ("size", "size") => self.wrong_type(function, "N"),
                    (_, nested) if FUNCTIONS.contains(&nested) => self.misused(nested),
                    _ => self.invalid(format_args!("Invalid function name; function: {nested}")),
                });
            }
            operands.push(match self.take_value()? {
                Some(value) => Operand::Value(value.clone()),
                None => Operand::Path(self.path()?),
            });
            for _ in 0..opened {
                self.expect_symbol(")")?;
            }
            if !self.take_symbol(",") {
                self.expect_symbol(")")?;
                return Ok(operands);
            }
        }
    }
}
