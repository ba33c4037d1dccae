//! The items of a table.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use aws_batch_delivery::sources::{Scan, ScanFigures, SourceError};
pub(crate) use aws_batch_delivery::sources::{ScanPosition, ScanProgress, ScannedItems};
use aws_batch_delivery::{Cause, DeliveryOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::counts::Counts;
use super::expression::{placeholders, unused_placeholder};
use super::reader::RecordBatch;
use super::record::Flaw;
use super::segments::Segments;
use super::turns::{LinePlace, NumberedRecord, ReadFailure};
use crate::outcome::Failure;
use crate::stop::Stop;

type Attributes = HashMap<String, AttributeValue>;

/// What is read of a table, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableReads {
    /// The table's name or ARN.
    pub(crate) table: String,
    /// Only the items of one partition key, for which this holds.
    pub(crate) key_condition: Option<String>,
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
        let (values, names) = (used(self.expressions(), ':'), used(self.expressions(), '#'));
        self.check_values(&values)?;
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

    /// The same reads of the table that these segments are of.
    pub(crate) fn of_segments(&self, segments: &Segments) -> Self {
        Self {
            table: segments.table.clone(),
            segments: segments.count,
            ..self.clone()
        }
    }

    /// The same without the placeholders that are only in these other expressions, whose values have to be given as well.
    pub(crate) fn beside(mut self, others: &[&str]) -> Result<Self, Failure> {
        let used_by_others = |sign| used(others.iter().copied(), sign);
        self.check_values(&used_by_others(':'))?;
        for sign in [':', '#'] {
            let own = used(self.expressions(), sign);
            for only in used_by_others(sign).difference(&own) {
                self.values.remove(only);
                self.names.remove(only);
            }
        }
        Ok(self)
    }

    fn expressions(&self) -> impl Iterator<Item = &str> {
        let expressions = self.key_condition.iter().chain(&self.filter).chain(&self.project);
        expressions.map(String::as_str)
    }

    fn check_values(&self, used: &BTreeSet<String>) -> Result<(), Failure> {
        match used.iter().find(|value| !self.values.contains_key(*value)) {
            Some(missing) => Err(Failure::WrongUse(format!(
                "there is no value for {missing}: give it as --value {missing}=…"
            ))),
            None => Ok(()),
        }
    }

    /// The same, of which only the key with these attributes is returned.
    pub(crate) fn keys<'a>(self, attributes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut reads = self;
        let mut placeholders = Vec::new();
        for attribute in attributes {
            let placeholder = unused_placeholder(|name| reads.names.contains_key(name));
            reads.names.insert(placeholder.clone(), attribute.to_owned());
            placeholders.push(placeholder);
        }
        reads.project = Some(placeholders.join(", "));
        reads
    }

    /// The same with these attributes in the projection, if there is one.
    pub(crate) fn including<'a>(mut self, attributes: impl IntoIterator<Item = &'a str>) -> Self {
        let Some(project) = &mut self.project else { return self };
        let meaning = |part: &str| {
            self.names
                .get(part.trim())
                .map_or(part.trim(), String::as_str)
                .to_owned()
        };
        let named: BTreeSet<String> = project.split(',').map(meaning).collect();
        for attribute in attributes {
            if !named.contains(attribute) {
                let placeholder = unused_placeholder(|name| self.names.contains_key(name));
                project.push_str(", ");
                project.push_str(&placeholder);
                self.names.insert(placeholder, attribute.to_owned());
            }
        }
        self
    }

    /// The same scan, from this position on if there is one. Its pages are small: those of all segments are in memory, where small
    /// items take ten times their size, and few items are read again if it is interrupted again.
    pub(crate) fn scan_from(&self, client: Client, stop: CancellationToken, position: Option<ScanPosition>) -> Scan {
        let scan = self.scan(client, stop).page_items(PAGE_ITEMS);
        position.into_iter().fold(scan, Scan::from_position)
    }

    /// The scan with pages of any size, to count the items. It ends when the token is cancelled.
    pub(crate) fn scan(&self, client: Client, stop: CancellationToken) -> Scan {
        let options = DeliveryOptions::default().cancellation(stop);
        let options = match self.max_rate {
            Some(rate) => options.max_rate(rate),
            None => options,
        };
        let scan = match &self.key_condition {
            Some(condition) => Scan::query(client, &self.table, condition),
            None => Scan::new(client, &self.table).segments(self.segments),
        };
        let scan = scan.options(options);
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

    /// How many items there are, and what counting them has taken. Ctrl-C ends the program at once: nothing was written yet.
    pub(crate) async fn count(&self, client: Client) -> Result<ScanFigures, Failure> {
        let counted = self.scan(client, Stop::default().token).count().await;
        counted
            .map_err(|error| Failure::Failed(format!("{} cannot be read to the end: {}", self.table, unread(&error))))
    }

    /// The expression that leaves items out, if there is one.
    pub(crate) fn expression(&self) -> Option<&str> {
        self.filter.as_deref().or(self.key_condition.as_deref())
    }

    /// The settings that identify what is read.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![("--segments", self.segments.to_string())];
        let key_condition = self.key_condition.clone();
        settings.extend(key_condition.map(|condition| ("--key-condition", condition)));
        settings.extend(self.filter.clone().map(|filter| ("--filter", filter)));
        settings.extend(self.project.clone().map(|project| ("--project", project)));
        for (option, mut given) in [
            (
                "--name",
                self.names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>(),
            ),
            (
                "--value",
                self.values.iter().map(|value| format!("{value:?}")).collect(),
            ),
        ] {
            if !given.is_empty() {
                given.sort_unstable();
                settings.push((option, given.join(", ")));
            }
        }
        settings
    }
}

/// The placeholders of these expressions that begin with this sign.
fn used<'a>(expressions: impl Iterator<Item = &'a str>, sign: char) -> BTreeSet<String> {
    let used = expressions.flat_map(|text| placeholders(text, sign));
    used.map(str::to_owned).collect()
}

/// Items of a page of a scan that may be continued.
pub(crate) const PAGE_ITEMS: u32 = 1_000;

/// The most items of one batch.
const ITEMS: usize = 256;

/// The most batches that wait.
const BATCHES: usize = 4;

/// How far a scan may be ahead of what is kept of it.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    /// Items.
    pub(crate) most: u64,
    /// The first items that are kept as settled.
    pub(crate) settled: watch::Receiver<u64>,
}

impl ReadAhead {
    /// Waits until this many items may have been sent. If nothing is kept, the delivery is being cancelled.
    async fn may_send(&mut self, sent: u64) {
        let most = self.most;
        let _ = self.settled.wait_for(|settled| sent <= settled + most).await;
    }
}

/// An item as an entry, and its text if dead letters are to repeat it.
pub(crate) type ItemEntry<E> = (Option<Box<[u8]>>, Result<E, Flaw>);

/// Reads the items of a table as entries, until the receiver is dropped.
pub(crate) fn read_table<E: Send + 'static>(
    table: &str,
    items: ScannedItems,
    entry: impl Fn(Attributes) -> ItemEntry<E> + Send + 'static,
    mut ahead: Option<ReadAhead>,
) -> (mpsc::Receiver<RecordBatch<E>>, Counts) {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let counts = Counts::default();
    let (records, table) = (Arc::clone(&counts.records), table.to_owned());
    tokio::spawn(async move {
        let mut batches = items.ready_chunks(ITEMS);
        let mut number = 0;
        while let Some(items) = batches.next().await {
            let batch: RecordBatch<E> = items
                .into_iter()
                .map(|item| {
                    let item =
                        item.map_err(|error| ReadFailure::table(&table, unread(&error), is_unreachable(&error)))?;
                    let (text, entry) = entry(item);
                    number += 1;
                    Ok(NumberedRecord {
                        number: number - 1,
                        place: LinePlace { input: 0, line: number },
                        text,
                        checksum_before: None,
                        header: None,
                        entry,
                    })
                })
                .collect();
            if let Some(ahead) = &mut ahead {
                ahead.may_send(number).await;
            }
            records.fetch_add(batch.len() as u64, Relaxed);
            if sender.send(batch).await.is_err() {
                return;
            }
        }
        // If the channel is closed without an empty batch, the reader has panicked.
        let _ = sender.send(Vec::new()).await;
    });
    (receiver, counts)
}

/// The code of an answer about a table that is not there. Commands look a table up before they read it.
const NOT_THERE: &str = "ResourceNotFoundException";

/// Whether another attempt to read the items, or one from another machine, may succeed.
pub(crate) fn is_unreachable(error: &SourceError) -> bool {
    !error.cause.is_permanent()
}

/// Why the items of a table cannot be read to their end. The message of the service is about the table or an expression.
pub(crate) fn unread(error: &SourceError) -> String {
    let message = match &error.cause {
        Cause::Refused(fault) | Cause::Stopped(fault) => fault.message(),
        _ => None,
    };
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    let is_gone = matches!(&error.cause, Cause::Refused(fault) | Cause::Stopped(fault) if fault.code() == NOT_THERE);
    let gone = if is_gone {
        ". It has been deleted since it was looked up"
    } else {
        ""
    };
    format!("{}{message}{gone}", error.cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(filter: &str, names: &[&str], values: &[&str]) -> TableReads {
        TableReads {
            table: "films".to_owned(),
            key_condition: None,
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
    fn a_placeholder_of_another_expression_is_not_one_of_the_filter() {
        let reads = reads("#a = :b", &["#a", "#c"], &[":b", ":d"]);
        let other = ["SET #c = :d, #a = :b"];
        let beside = reads.clone().beside(&other).unwrap().checked().unwrap();
        assert_eq!(
            (beside.names.contains_key("#c"), beside.values.contains_key(":d")),
            (false, false)
        );
        assert!(beside.names.contains_key("#a") && beside.values.contains_key(":b"));
        let missing = reads.beside(&["SET #c = :e"]).unwrap_err().to_string();
        assert!(missing.contains("no value for :e"), "{missing}");
    }

    #[test]
    fn attributes_are_added_to_a_projection_that_does_not_name_them() {
        let checked = reads("a = :b", &[], &[":b"])
            .checked()
            .unwrap()
            .including(["year", "id"]);
        assert_eq!(checked.project.as_deref(), Some("#year, title, #key_0"));
        assert_eq!(checked.names.get("#key_0").map(String::as_str), Some("id"));
    }

    #[test]
    fn placeholders_of_the_key_are_none_that_the_filter_has() {
        let checked = reads("#key_0 = :b", &[], &[":b"]).checked().unwrap();
        let named = |reads: &TableReads, name: &str| reads.names.get(name).cloned();
        let (keys, including) = (checked.clone().keys(["id", "sort"]), checked.including(["id"]));
        assert_eq!(keys.project.as_deref(), Some("#key_1, #key_2"));
        for reads in [keys, including] {
            assert_eq!(named(&reads, "#key_0").as_deref(), Some("key_0"));
            assert_eq!(named(&reads, "#key_1").as_deref(), Some("id"));
        }
    }

    #[test]
    fn a_value_that_is_missing_or_in_no_expression_is_refused() {
        let refused = |reads: TableReads| reads.checked().unwrap_err().to_string();
        assert!(refused(reads("a = :b", &[], &[])).contains("no value for :b: give it as --value :b="));
        assert!(refused(reads("a = :b", &[], &[":b", ":c"])).contains(":c is in no expression"));
        assert!(refused(reads("a = :b", &["#c"], &[":b"])).contains("#c is in no expression"));
    }
}
