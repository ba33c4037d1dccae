//! The tables of a simulator, by the names in requests.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::table::Table;
use super::value::missing;
use super::wording::invalid_member;
use crate::registry::Registry;
use crate::wire::Refusal;

/// The tables of a simulator.
pub(crate) type Tables = Registry<Table>;

impl Tables {
    /// The table with this name or ARN.
    pub(super) fn named(&self, name: &str) -> Result<Table, Refusal> {
        self.maybe_named(name).ok_or_else(not_found)
    }

    fn maybe_named(&self, name: &str) -> Option<Table> {
        let short = name
            .strip_prefix("arn:")
            .and_then(|arn| arn.split_once(":table/"))
            .map_or(name, |(_, name)| name);
        self.find(short)
    }

    /// The table that a request names.
    pub(super) fn of_request(&self, body: &Value) -> Result<Table, Refusal> {
        self.maybe_of_request(body)?.ok_or_else(not_found)
    }

    /// The same if there is such a table. Fails if the request has no name, or one that breaks the rules for names.
    pub(super) fn maybe_of_request(&self, body: &Value) -> Result<Option<Table>, Refusal> {
        let Some(name) = body["TableName"].as_str() else {
            return Err(missing("tableName"));
        };
        let table = self.maybe_named(name);
        match problem_of_name(name).filter(|_| table.is_none()) {
            Some(problem) => Err(invalid_member(problem)),
            None => Ok(table),
        }
    }
}

/// Of a table that does not exist.
pub(super) fn not_found() -> Refusal {
    Refusal::new("ResourceNotFoundException", "Requested resource not found")
}

/// Characters of a table's name. Tables of the simulator may have others.
const LENGTHS: RangeInclusive<usize> = 3..=255;

/// Whether this may be the name of a table of the service, or an ARN.
pub(super) fn is_table_name(name: &str) -> bool {
    name.starts_with("arn:") || LENGTHS.contains(&name.len()) && has_allowed_characters(name)
}

fn has_allowed_characters(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// The first rule for names that a name breaks.
fn problem_of_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(
            "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
                .to_owned(),
        );
    }
    if is_table_name(name) {
        return None;
    }
    let constraint = if name.len() < *LENGTHS.start() {
        "have length greater than or equal to 3"
    } else if name.len() > *LENGTHS.end() {
        "have length less than or equal to 255"
    } else {
        "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    };
    Some(format!(
        "Value '{name}' at 'tableName' failed to satisfy constraint: Member must {constraint}"
    ))
}
