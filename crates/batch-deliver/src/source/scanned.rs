//! The items of a table.

use std::collections::{BTreeSet, HashMap};

use aws_batch_delivery::sources::{Scan, ScanError};
pub(crate) use aws_batch_delivery::sources::{ScanFigures, ScannedItems};
use aws_batch_delivery::{Cause, DeliveryOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use tokio_util::sync::CancellationToken;

use crate::outcome::Failure;

/// What is read of a table, and how.
#[derive(Debug, Clone)]
pub(crate) struct TableReads {
    /// The table's name or ARN.
    pub(crate) table: String,
    pub(crate) filter: Option<String>,
    pub(crate) project: Option<String>,
    /// What placeholders stand for.
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: HashMap<String, AttributeValue>,
    pub(crate) is_consistent: bool,
    pub(crate) segments: u32,
    /// The most read units a second.
    pub(crate) max_rate: Option<f64>,
}

impl TableReads {
    /// Checks that each placeholder of a value has one. A placeholder of a name stands for the attribute of that name unless it is
    /// given.
    pub(crate) fn checked(mut self) -> Result<Self, Failure> {
        let expressions = || self.filter.iter().chain(&self.project);
        let values: BTreeSet<String> = expressions().flat_map(|text| placeholders(text, ':')).collect();
        let names: BTreeSet<String> = expressions().flat_map(|text| placeholders(text, '#')).collect();
        if let Some(missing) = values.iter().find(|value| !self.values.contains_key(*value)) {
            return Err(Failure::WrongUse(format!(
                "there is no value for {missing}: give it as --value {missing}=…"
            )));
        }
        let is_unused = |given: &&String| !values.contains(*given) && !names.contains(*given);
        if let Some(unused) = self.values.keys().chain(self.names.keys()).find(is_unused) {
            return Err(Failure::WrongUse(format!("{unused} is in no expression: leave it out")));
        }
        for name in names {
            let attribute = name.trim_start_matches('#').to_owned();
            self.names.entry(name).or_insert(attribute);
        }
        Ok(self)
    }

    /// The scan, which ends when the token is cancelled.
    pub(crate) fn scan(&self, client: Client, stop: CancellationToken) -> Scan {
        let options = DeliveryOptions::default().cancellation(stop);
        let options = match self.max_rate {
            Some(rate) => options.max_rate(rate),
            None => options,
        };
        let scan = Scan::new(client, &self.table).segments(self.segments).options(options);
        let scan = if self.is_consistent { scan.consistent() } else { scan };
        let scan = self.filter.iter().fold(scan, Scan::filter);
        let scan = self.project.iter().fold(scan, Scan::projection);
        let scan = self
            .names
            .iter()
            .fold(scan, |scan, (placeholder, name)| scan.name(placeholder, name));
        self.values.iter().fold(scan, |scan, (placeholder, value)| {
            scan.value(placeholder, value.clone())
        })
    }
}

/// The words that begin with this sign.
fn placeholders(expression: &str, sign: char) -> impl Iterator<Item = String> {
    expression.match_indices(sign).filter_map(|(place, _)| {
        let rest = &expression[place + 1..];
        let end = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        (!name.is_empty()).then(|| expression[place..=place + name.len()].to_owned())
    })
}

/// Why the items of a table cannot be read to their end. The message of the service is about the table or an expression.
pub(crate) fn unread(table: &str, error: &ScanError) -> String {
    let message = match &error.cause {
        Cause::Refused(fault) | Cause::Stopped(fault) => fault.message(),
        _ => None,
    };
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!(
        "the items of {table} cannot be read to the end: {}{message}",
        error.cause
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(filter: &str, names: &[&str], values: &[&str]) -> TableReads {
        TableReads {
            table: "films".to_owned(),
            filter: Some(filter.to_owned()),
            project: Some("#year, title".to_owned()),
            names: names
                .iter()
                .map(|name| ((*name).to_owned(), "year".to_owned()))
                .collect(),
            values: values
                .iter()
                .map(|value| ((*value).to_owned(), AttributeValue::Bool(true)))
                .collect(),
            is_consistent: false,
            segments: 1,
            max_rate: None,
        }
    }

    #[test]
    fn a_placeholder_of_a_name_stands_for_its_name_unless_it_is_given() {
        let checked = reads("#a_1=:b AND#year<:b", &["#year"], &[":b"]).checked().unwrap();
        let named = |name: &str| checked.names.get(name).map(String::as_str);
        assert_eq!((named("#a_1"), named("#year")), (Some("a_1"), Some("year")));
    }

    #[test]
    fn a_value_that_is_missing_or_in_no_expression_is_refused() {
        let refused = |reads: TableReads| reads.checked().unwrap_err().to_string();
        assert!(refused(reads("a = :b", &[], &[])).contains("no value for :b: give it as --value :b="));
        assert!(refused(reads("a = :b", &[], &[":b", ":c"])).contains(":c is in no expression"));
        assert!(refused(reads("a = :b", &["#c"], &[":b"])).contains("#c is in no expression"));
    }
}
