//! Updates.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::comparison::{identity, number, parts, tag};
use super::path::{Path, Step};
use super::projection::Projection;
use crate::dynamo::value::{LARGEST_ITEM, check_value};
use crate::dynamo::wording::Wording;

/// What an update does to an item.
#[derive(Debug, Default)]
pub(crate) struct Update {
    pub(super) actions: Vec<UpdateAction>,
    /// Whether the request has no expression, for which an error has other words.
    pub(super) is_legacy: bool,
}

#[derive(Debug)]
pub(super) struct UpdateAction {
    pub(super) path: Path,
    pub(super) kind: ActionKind,
}

#[derive(Debug)]
pub(super) enum ActionKind {
    Set(Assignment),
    Remove,
    /// Adds to a number or to a set.
    Add(Value),
    /// Removes the members of a set.
    Delete(Value),
}

/// What an attribute is set to.
#[derive(Debug)]
pub(super) enum Assignment {
    Term(UpdateTerm),
    Sum(UpdateTerm, UpdateTerm),
    Difference(UpdateTerm, UpdateTerm),
}

#[derive(Debug)]
pub(super) enum UpdateTerm {
    Path(Path),
    Value(Value),
    IfNotExists(Path, Box<UpdateTerm>),
    ListAppend(Box<UpdateTerm>, Box<UpdateTerm>),
}

/// Why an update does not fit the item.
type Problem = String;

const INVALID_PATH: &str = "The document path provided in the update expression is invalid for update";
const MISSING: &str = "The provided expression refers to an attribute that does not exist in the item";
const WRONG_TYPE: &str = "An operand in the update expression has an incorrect data type";
pub(super) const TOO_LARGE: &str = "Item size to update has exceeded the maximum allowed size";
/// The words for a wrong type before there were expressions.
const MISMATCH: &str = "Type mismatch for attribute to update";

impl Update {
    /// The item after the update, or `None` if there is still none: an update that only removes creates no item.
    pub(crate) fn apply(
        &self,
        item: Option<&Map<String, Value>>,
        key: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, Problem> {
        let result = self.updated_item(item, key);
        result.map_err(|problem| match problem.as_str() {
            WRONG_TYPE if self.is_legacy => MISMATCH.to_owned(),
            _ => problem,
        })
    }

    fn updated_item(
        &self,
        item: Option<&Map<String, Value>>,
        key: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, Problem> {
        let mut actions = self.actions.iter();
        let only_takes = |action: &UpdateAction| matches!(action.kind, ActionKind::Remove | ActionKind::Delete(_));
        let before = match item {
            Some(item) => item,
            None if !self.actions.is_empty() && actions.all(only_takes) => return Ok(None),
            None => key,
        };
        let mut after = before.clone();
        let mut removed: Vec<&Path> = Vec::new();
        let mut assigned_bytes = 0;
        // Nothing removes what is assigned, because their paths do not overlap: the item is as large at least.
        let mut assign = |after: &mut Map<String, Value>, path: &Path, value: Value| {
            assigned_bytes += bytes(&value)?;
            check_size(assigned_bytes)?;
            set(after, path, value)
        };
        let mut ordered: Vec<&UpdateAction> = self.actions.iter().collect();
        // New elements of a list come in the order of their indexes.
        ordered.sort_by(|one, other| one.path.cmp(&other.path));
        for UpdateAction { path, kind } in ordered {
            match kind {
                ActionKind::Set(assigned) => assign(&mut after, path, assigned.of(before)?)?,
                ActionKind::Remove => removed.push(path),
                ActionKind::Add(value) => {
                    let sum = match path.find(before) {
                        Some(old) => added(old, value)?,
                        None => value.clone(),
                    };
                    assign(&mut after, path, sum)?;
                }
                ActionKind::Delete(value) => match path.find(before) {
                    Some(old) => match without(old, value)? {
                        Some(rest) => assign(&mut after, path, rest)?,
                        None => removed.push(path),
                    },
                    None => check_parent(&after, path)?,
                },
            }
        }
        // From the last element of a list to the first, because indexes are those before the update.
        for path in removed.into_iter().rev() {
            remove(&mut after, path)?;
        }
        Ok(Some(after))
    }

    /// The values that the update names, of the item before or after it.
    pub(crate) fn updated(&self, item: &Map<String, Value>) -> Option<Value> {
        let paths = self.actions.iter().map(|action| action.path.clone());
        let updated = Projection::of_paths(paths).apply(item);
        (!updated.is_empty()).then_some(Value::Object(updated))
    }

    /// The names of the updated attributes.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &str> {
        self.actions.iter().map(|action| action.path.root.as_str())
    }
}

impl Assignment {
    fn of(&self, item: &Map<String, Value>) -> Result<Value, Problem> {
        match self {
            Self::Term(term) => term.of(item),
            Self::Sum(one, other) => sum(&one.of(item)?, &other.of(item)?, false),
            Self::Difference(one, other) => sum(&one.of(item)?, &other.of(item)?, true),
        }
    }
}

impl UpdateTerm {
    fn of(&self, item: &Map<String, Value>) -> Result<Value, Problem> {
        match self {
            Self::Path(path) => path.find(item).cloned().ok_or_else(|| MISSING.to_owned()),
            Self::Value(value) => Ok(value.clone()),
            Self::IfNotExists(path, otherwise) => match path.find(item) {
                Some(value) => Ok(value.clone()),
                None => otherwise.of(item),
            },
            Self::ListAppend(one, other) => appended(&one.of(item)?, &other.of(item)?),
        }
    }
}

fn appended(one: &Value, other: &Value) -> Result<Value, Problem> {
    match (parts(one), parts(other)) {
        (("L", Value::Array(one)), ("L", Value::Array(other))) => {
            let all: Vec<Value> = one.iter().chain(other).cloned().collect();
            let all = json!({"L": all});
            check_size(bytes(&all)?)?;
            Ok(all)
        }
        _ => Err(WRONG_TYPE.to_owned()),
    }
}

fn sum(one: &Value, other: &Value, subtracts: bool) -> Result<Value, Problem> {
    let number = |value: &Value| match parts(value) {
        ("N", content) => number(content),
        _ => None,
    };
    let (Some(one), Some(other)) = (number(one), number(other)) else {
        return Err(WRONG_TYPE.to_owned());
    };
    let other = if subtracts { other.negated() } else { other };
    Ok(json!({"N": one.plus(&other)?.plain()}))
}

/// What `ADD` makes of a value.
fn added(old: &Value, value: &Value) -> Result<Value, Problem> {
    match (parts(old), parts(value)) {
        (("N", _), ("N", _)) => sum(old, value, false),
        (("L", _), ("L", _)) => appended(old, value),
        ((tag @ ("SS" | "NS" | "BS"), Value::Array(members)), (of_value, Value::Array(more))) if tag == of_value => {
            let mut present = identities(tag, members);
            let added = more.iter().filter(|member| present.insert(identity(tag, member)));
            let all: Vec<Value> = members.iter().chain(added).cloned().collect();
            Ok(json!({tag: all}))
        }
        _ => Err(WRONG_TYPE.to_owned()),
    }
}

/// A set without these members; `None` if none is left.
fn without(old: &Value, value: &Value) -> Result<Option<Value>, Problem> {
    let (tag, of_value) = (tag(old), tag(value));
    let (Some(members), true) = (old[tag].as_array(), tag == of_value) else {
        return Err(WRONG_TYPE.to_owned());
    };
    let deleted = identities(tag, value[tag].as_array().into_iter().flatten());
    let rest: Vec<&Value> = members
        .iter()
        .filter(|member| !deleted.contains(&identity(tag, member)))
        .collect();
    Ok((!rest.is_empty()).then(|| json!({tag: rest})))
}

fn identities<'v>(tag: &str, members: impl IntoIterator<Item = &'v Value>) -> HashSet<String> {
    members.into_iter().map(|member| identity(tag, member)).collect()
}

fn bytes(value: &Value) -> Result<usize, Problem> {
    check_value(value, Wording::Plain).map_err(|refusal| refusal.message().to_owned())
}

/// Refuses what makes an item too large by itself, before there is more of it.
fn check_size(bytes: usize) -> Result<(), Problem> {
    if bytes > LARGEST_ITEM {
        return Err(TOO_LARGE.to_owned());
    }
    Ok(())
}

/// The list or map that has the last element of a path, and this element. The path has more than one.
fn parent<'v, 'p>(item: &'v mut Map<String, Value>, path: &'p Path) -> Result<(&'v mut Value, &'p Step), Problem> {
    let invalid = || INVALID_PATH.to_owned();
    let (last, steps) = path.steps.split_last().ok_or_else(invalid)?;
    let first = item.get_mut(&path.root).ok_or_else(invalid)?;
    let step = |value: &'v mut Value, step: &Step| match step {
        Step::Name(name) => value.get_mut("M")?.get_mut(name),
        Step::Index(index) => value.get_mut("L")?.get_mut(index),
    };
    let parent = steps.iter().try_fold(first, step).ok_or_else(invalid)?;
    let fits = match last {
        Step::Name(_) => parent.get("M").is_some(),
        Step::Index(_) => parent.get("L").is_some(),
    };
    if fits { Ok((parent, last)) } else { Err(invalid()) }
}

fn set(item: &mut Map<String, Value>, path: &Path, value: Value) -> Result<(), Problem> {
    if path.steps.is_empty() {
        item.insert(path.root.clone(), value);
        return Ok(());
    }
    match parent(item, path)? {
        (parent, Step::Name(name)) => parent["M"][name] = value,
        (parent, Step::Index(index)) => {
            if let Some(elements) = parent["L"].as_array_mut() {
                match elements.get_mut(*index) {
                    Some(element) => *element = value,
                    None => elements.push(value),
                }
            }
        }
    }
    Ok(())
}

fn remove(item: &mut Map<String, Value>, path: &Path) -> Result<(), Problem> {
    if path.steps.is_empty() {
        item.remove(&path.root);
        return Ok(());
    }
    match parent(item, path)? {
        (parent, Step::Name(name)) => {
            if let Some(members) = parent["M"].as_object_mut() {
                members.remove(name);
            }
        }
        (parent, Step::Index(index)) => {
            if let Some(elements) = parent["L"].as_array_mut().filter(|elements| *index < elements.len()) {
                elements.remove(*index);
            }
        }
    }
    Ok(())
}

fn check_parent(item: &Map<String, Value>, path: &Path) -> Result<(), Problem> {
    if path.steps.is_empty() {
        return Ok(());
    }
    parent(&mut item.clone(), path).map(|_| ())
}
