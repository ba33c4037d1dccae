//! The grammar of updates.

use serde_json::Value;

use super::comparison::tag;
use super::function::FUNCTIONS;
use super::parser::Parser;
use super::path::{Path, problem_of_paths};
use super::update::{ActionKind, Assignment, Update, UpdateAction, UpdateTerm};
use crate::wire::Refusal;

const SECTIONS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];

impl Parser<'_, '_> {
    /// The whole expression as an update.
    pub(super) fn update(mut self) -> Result<Update, Refusal> {
        let mut update = Update::default();
        let mut sections: Vec<&str> = Vec::new();
        while !self.is_at_end() || sections.is_empty() {
            let section = SECTIONS.into_iter().find(|section| self.take_keyword(section));
            let section = section.ok_or_else(|| self.syntax_error())?;
            if sections.contains(&section) {
                return Err(self.invalid(format_args!(
                    "The \"{section}\" section can only be used once in an update expression;"
                )));
            }
            sections.push(section);
            loop {
                update.actions.push(self.action(section)?);
                if !self.take_symbol(",") {
                    break;
                }
            }
        }
        let is_sum = |action: &&UpdateAction| {
            matches!(
                action.kind,
                ActionKind::Set(Assignment::Sum(..) | Assignment::Difference(..))
            )
        };
        self.check_operators(update.actions.iter().filter(is_sum).count())?;
        let paths: Vec<&Path> = update.actions.iter().map(|action| &action.path).collect();
        match problem_of_paths(&paths) {
            Some(problem) => Err(self.invalid(problem)),
            None => Ok(update),
        }
    }

    fn action(&mut self, section: &str) -> Result<UpdateAction, Refusal> {
        let path = self.path()?;
        let kind = match section {
            "SET" => {
                self.expect_symbol("=")?;
                ActionKind::Set(self.assigned()?)
            }
            "REMOVE" => ActionKind::Remove,
            _ => {
                let value = self.take_value()?.ok_or_else(|| self.syntax_error())?.clone();
                let is_allowed = match tag(&value) {
                    "SS" | "NS" | "BS" => true,
                    "N" => section == "ADD",
                    _ => false,
                };
                match section {
                    _ if !is_allowed => {
                        return Err(self.invalid(format_args!(
                            "Incorrect operand type for operator or function; operator: {section}, operand type: {}, \
                             typeSet: ALLOWED_FOR_ADD_OPERAND",
                            spelled(&value)
                        )));
                    }
                    "ADD" => ActionKind::Add(value),
                    _ => ActionKind::Delete(value),
                }
            }
        };
        Ok(UpdateAction { path, kind })
    }

    /// A term or a sum of two, either of which may be in parentheses.
    fn assigned(&mut self) -> Result<Assignment, Refusal> {
        let is_open = self.take_symbol("(");
        let one = self.update_term()?;
        // The parenthesis may belong to the first term alone.
        let is_open = is_open && !self.take_symbol(")");
        let operator = ["+", "-"].into_iter().find(|symbol| self.take_symbol(symbol));
        let other = operator.map(|_| self.update_term()).transpose()?;
        if is_open {
            self.expect_symbol(")")?;
        }
        let (Some(operator), Some(other)) = (operator, other) else {
            return Ok(Assignment::Term(one));
        };
        for term in [&one, &other] {
            self.check_type(operator, term, "N")?;
        }
        Ok(if operator == "+" {
            Assignment::Sum(one, other)
        } else {
            Assignment::Difference(one, other)
        })
    }

    /// A path, a value or a function, in parentheses or not: in one pair of them, because they do not nest.
    fn update_term(&mut self) -> Result<UpdateTerm, Refusal> {
        let is_open = self.take_symbol("(");
        let term = self.bare_term()?;
        if is_open {
            self.expect_symbol(")")?;
        }
        Ok(term)
    }

    /// The same without parentheses. Functions nest no deeper than the length of an expression allows: 340 of them.
    fn bare_term(&mut self) -> Result<UpdateTerm, Refusal> {
        if let Some(name) = self.take_function() {
            return self.update_function(name);
        }
        Ok(match self.take_value()? {
            Some(value) => UpdateTerm::Value(value.clone()),
            None => UpdateTerm::Path(self.path()?),
        })
    }

    fn update_function(&mut self, name: &str) -> Result<UpdateTerm, Refusal> {
        if !matches!(name, "if_not_exists" | "list_append") {
            return Err(if FUNCTIONS.contains(&name) {
                self.invalid(format_args!(
                    "The function is not allowed in an update expression; function: {name}"
                ))
            } else {
                self.invalid(format_args!("Invalid function name; function: {name}"))
            });
        }
        let mut operands = vec![self.update_term()?];
        while self.take_symbol(",") {
            operands.push(self.update_term()?);
        }
        self.expect_symbol(")")?;
        let count = operands.len();
        let mut operands = operands.into_iter();
        let (Some(one), Some(other), 2) = (operands.next(), operands.next(), count) else {
            return Err(self.invalid(format_args!(
                "Incorrect number of operands for operator or function; operator or function: {name}, number of operands: \
                 {count}"
            )));
        };
        if name == "list_append" {
            for term in [&one, &other] {
                if let UpdateTerm::ListAppend(..) = term {
                    return Err(self.invalid(
                        "The function is not allowed to be used this way in an expression; function: list_append",
                    ));
                }
                self.check_type(name, term, "L")?;
            }
            return Ok(UpdateTerm::ListAppend(Box::new(one), Box::new(other)));
        }
        match one {
            UpdateTerm::Path(path) => Ok(UpdateTerm::IfNotExists(path, Box::new(other))),
            _ => Err(self.invalid(format_args!(
                "Operator or function requires a document path; operator or function: {name}"
            ))),
        }
    }

    /// Refuses a term that certainly has another type.
    fn check_type(&self, operator: &str, term: &UpdateTerm, expected: &str) -> Result<(), Refusal> {
        let actual = match term {
            UpdateTerm::Value(value) => tag(value),
            UpdateTerm::ListAppend(..) => "L",
            UpdateTerm::Path(_) | UpdateTerm::IfNotExists(..) => return Ok(()),
        };
        if actual == expected {
            return Ok(());
        }
        Err(self.invalid(format_args!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {actual}"
        )))
    }
}

/// The type of a value as errors of `ADD` and `DELETE` have it.
fn spelled(value: &Value) -> &str {
    match tag(value) {
        "S" => "STRING",
        "N" => "NUMBER",
        "B" => "Binary",
        "L" => "LIST",
        "M" => "MAP",
        tag => tag,
    }
}
