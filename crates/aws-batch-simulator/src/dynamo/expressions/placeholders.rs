//! The names and the values that the expressions of a request share.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::dynamo::value::{LONGEST_NAME, check_value, text, unexpected};
use crate::dynamo::wording::Wording;
use crate::wire::Refusal;

/// `ExpressionAttributeNames` and `ExpressionAttributeValues` of a request. Each of them must be used.
pub(crate) struct Placeholders<'a> {
    pub(super) wording: Wording,
    names: Option<&'a Map<String, Value>>,
    values: Option<&'a Map<String, Value>>,
    used: BTreeSet<&'a str>,
}

/// Bytes of a placeholder at most, with its first character.
const LONGEST: usize = 255;

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

impl<'a> Placeholders<'a> {
    /// The names and values of a request that has these expressions.
    pub(crate) fn of(request: &'a Value, expressions: &[&str], wording: Wording) -> Result<Self, Refusal> {
        let has_expressions = expressions.iter().any(|member| !request[*member].is_null());
        let names = members(request, NAMES, '#', has_expressions, wording)?;
        for (placeholder, name) in names.into_iter().flatten() {
            let name = text(name)?;
            if name.is_empty() {
                return Err(wording.refuse("Empty attribute name"));
            }
            if name.len() > LONGEST_NAME {
                return Err(Refusal::validation(format!(
                    "{NAMES} contains invalid value: Attribute name is too large, must be less than 65536 bytes for key \
                     {placeholder}"
                )));
            }
        }
        let values = members(request, VALUES, ':', has_expressions, wording)?;
        for (placeholder, value) in values.into_iter().flatten() {
            check_value(value, wording).map_err(|refusal| of_value(&refusal, placeholder))?;
        }
        Ok(Self {
            wording,
            names,
            values,
            used: BTreeSet::new(),
        })
    }

    /// The name that a placeholder stands for.
    pub(super) fn name(&mut self, placeholder: &str) -> Result<&'a str, String> {
        let found = self.names.and_then(|names| names.get_key_value(placeholder));
        let (key, name) = found.ok_or_else(|| {
            format!(
                "An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
            )
        })?;
        self.used.insert(key);
        Ok(name.as_str().unwrap_or_default())
    }

    /// The value that a placeholder stands for.
    pub(super) fn value(&mut self, placeholder: &str) -> Result<&'a Value, String> {
        let found = self.values.and_then(|values| values.get_key_value(placeholder));
        let (key, value) = found.ok_or_else(|| {
            format!("An expression attribute value used in expression is not defined; attribute value: {placeholder}")
        })?;
        self.used.insert(key);
        Ok(value)
    }

    /// Refuses names and values that no expression has used.
    pub(crate) fn check_all_used(&self) -> Result<(), Refusal> {
        for (member, all) in [(NAMES, self.names), (VALUES, self.values)] {
            let keys = all.into_iter().flat_map(Map::keys);
            let unused: Vec<&str> = keys
                .map(String::as_str)
                .filter(|key| !self.used.contains(key))
                .collect();
            if !unused.is_empty() {
                let message = format!(
                    "Value provided in {member} unused in expressions: keys: {{{}}}",
                    unused.join(", ")
                );
                return Err(self.wording.refuse(message));
            }
        }
        Ok(())
    }
}

/// The names or the values, whose placeholders begin with this character.
fn members<'a>(
    request: &'a Value,
    member: &str,
    first: char,
    has_expressions: bool,
    wording: Wording,
) -> Result<Option<&'a Map<String, Value>>, Refusal> {
    let members = match &request[member] {
        Value::Null => return Ok(None),
        Value::Object(members) => members,
        _ => return Err(unexpected()),
    };
    if !has_expressions {
        return Err(wording.refuse(format!("{member} can only be specified when using expressions")));
    }
    if members.is_empty() {
        return Err(wording.refuse(format!("{member} must not be empty")));
    }
    if let Some(key) = members.keys().find(|key| key.len() > LONGEST) {
        return Err(Refusal::validation(format!(
            "{member} contains invalid key: The key has {} bytes, and {LONGEST} are the limit; key: \"{key}\"",
            key.len()
        )));
    }
    let is_placeholder = |key: &str| {
        let rest = key.strip_prefix(first);
        rest.is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    match members.keys().find(|key| !is_placeholder(key)) {
        Some(key) => Err(Refusal::validation(format!(
            "{member} contains invalid key: Syntax error; key: \"{key}\""
        ))),
        None => Ok(Some(members)),
    }
}

/// The refusal of the value with this placeholder.
fn of_value(refusal: &Refusal, placeholder: &str) -> Refusal {
    if !refusal.code.ends_with("ValidationException") {
        return refusal.clone();
    }
    let message = refusal.message();
    let (envelope, problem) = match message.split_once("error detected: ") {
        Some((envelope, problem)) => (format!("{envelope}error detected: "), problem),
        None => (String::new(), message),
    };
    if problem.contains("Nesting Levels") || problem.contains("contains duplicates") || problem.contains("Supplied") {
        return refusal.clone();
    }
    Refusal::validation(format!(
        "{envelope}{VALUES} contains invalid value: {problem} for key {placeholder}"
    ))
}
