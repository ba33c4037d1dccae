//! Projections: some of the values of an item.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::parser::Parser;
use super::path::{Path, Step, problem_of_paths};
use super::placeholders::Placeholders;
use crate::dynamo::value::{LONGEST_NAME, unexpected};
use crate::dynamo::wording::invalid_member;
use crate::wire::Refusal;

/// The paths that a request asks for.
#[derive(Debug)]
pub(crate) struct Projection {
    selected: BTreeMap<String, SelectedParts>,
}

/// What is selected of a value: all of it if nothing is selected of its parts.
#[derive(Debug, Default)]
struct SelectedParts {
    parts: BTreeMap<Step, SelectedParts>,
}

impl Projection {
    /// The `ProjectionExpression` or the `AttributesToGet` of a request, if it has one.
    pub(crate) fn of<'a>(request: &'a Value, placeholders: &mut Placeholders<'a>) -> Result<Option<Self>, Refusal> {
        if let Some(mut parser) = Parser::of(request, "ProjectionExpression", placeholders)? {
            let mut paths = vec![parser.path()?];
            while parser.take_symbol(",") {
                paths.push(parser.path()?);
            }
            if !parser.is_at_end() {
                return Err(parser.syntax_error());
            }
            return match problem_of_paths(&paths.iter().collect::<Vec<_>>()) {
                Some(problem) => Err(parser.invalid(problem)),
                None => Ok(Some(Self::of_paths(paths))),
            };
        }
        attributes_to_get(request)
    }

    pub(super) fn of_paths(paths: impl IntoIterator<Item = Path>) -> Self {
        let mut selected: BTreeMap<String, SelectedParts> = BTreeMap::new();
        for Path { root, steps } in paths {
            let mut last = selected.entry(root).or_default();
            for step in steps {
                last = last.parts.entry(step).or_default();
            }
        }
        Self { selected }
    }

    /// The selected values of an item in their lists and maps. Elements of a list move together.
    pub(crate) fn apply(&self, item: &Map<String, Value>) -> Map<String, Value> {
        let attributes = self.selected.iter();
        let selected = attributes.filter_map(|(name, selected)| Some((name.clone(), selected.apply(item.get(name)?)?)));
        selected.collect()
    }
}

impl SelectedParts {
    fn apply(&self, value: &Value) -> Option<Value> {
        if self.parts.is_empty() {
            return Some(value.clone());
        }
        let mut found = self
            .parts
            .iter()
            .filter_map(|(step, selected)| Some((step, selected.apply(step.of(value)?)?)));
        let mut found = found.by_ref().peekable();
        match found.peek()?.0 {
            Step::Name(_) => {
                let members: Map<String, Value> = found.map(|(step, value)| (step.to_string(), value)).collect();
                Some(json!({"M": members}))
            }
            Step::Index(_) => {
                let elements: Vec<Value> = found.map(|(_, value)| value).collect();
                Some(json!({"L": elements}))
            }
        }
    }
}

/// What there was before projections: names of attributes.
fn attributes_to_get(request: &Value) -> Result<Option<Projection>, Refusal> {
    let names = match &request["AttributesToGet"] {
        Value::Null => return Ok(None),
        Value::Array(names) => names,
        _ => return Err(unexpected()),
    };
    if names.is_empty() {
        return Err(invalid_member(
            "Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ));
    }
    let mut selected = BTreeMap::new();
    for name in names {
        let name = name.as_str().ok_or_else(unexpected)?;
        if name.is_empty() {
            return Err(Refusal::validation("Empty attribute name"));
        }
        if name.len() > LONGEST_NAME {
            return Err(Refusal::validation(
                "Attribute name is too large, must be less than 65536 bytes",
            ));
        }
        if selected.insert(name.to_owned(), SelectedParts::default()).is_some() {
            return Err(Refusal::validation(format!(
                "One or more parameter values were invalid: Duplicate value in attribute name: {name}"
            )));
        }
    }
    Ok(Some(Projection { selected }))
}
