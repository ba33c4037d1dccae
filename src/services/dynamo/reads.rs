//! Reads from one table.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use tracing::warn;

use super::KeyRead;
use super::calls::{DynamoCalls, consumed};
use super::calls::{short_name, table_name};
use super::check;
use super::key::KeyValue;
use super::size::item_size;
use super::table::{MAX_BODY_BYTES, MAX_ITEM_BYTES};
use crate::contract::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict, hash_of};
use crate::events::ANSWER;
use crate::invalid::InvalidEntry;
use crate::services::debug::debug_by_name;

/// Keys in a call. From the API reference of `BatchGetItem`.
pub const MAX_KEYS: usize = 100;

/// Bytes of the items of an answer: 16 MB. Items beyond that are returned as unprocessed. From the API reference of
/// `BatchGetItem`.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of the items of one partition key in an answer: 1 MB. From the API reference of `BatchGetItem`.
const MAX_PARTITION_BYTES: usize = 1024 * 1024;

/// Bytes that JSON adds to a key: quotes and type tags, and base64 for binary.
const KEY_OVERHEAD: usize = 64;

type Attributes = HashMap<String, AttributeValue>;

/// A DynamoDB table to read from, by primary keys.
///
/// A read of a key for which the table has no item is accepted as well; it has no item. The same key may be read more than
/// once; at most one of these reads is in flight.
///
/// Retries, credentials and timeouts are as with [`DynamoTable`](super::DynamoTable). A key that is read again consumes its
/// read units again.
#[derive(Clone)]
#[must_use]
pub struct DynamoReads {
    calls: DynamoCalls,
    table: String,
    limits: Limits,
    consistent: bool,
    attributes: Option<BTreeSet<String>>,
}

impl DynamoReads {
    /// The table with this name or ARN. Reads are eventually consistent and return all attributes.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_KEYS`], 100 |
    /// | bytes of a call's body | [`MAX_BODY_BYTES`], 16 MiB |
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            calls: DynamoCalls::new(client),
            table: table.into(),
            limits: Limits::new(MAX_KEYS, MAX_BODY_BYTES),
            consistent: false,
            attributes: None,
        }
    }

    /// Reads see every write that was accepted before them, at twice the read units.
    pub fn consistent(mut self) -> Self {
        self.consistent = true;
        self
    }

    /// Returns only these attributes and those of the key. The consumed read units are still those of the whole items.
    pub fn attributes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.attributes = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Other limits, for endpoints with lower or higher ones.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The request of a call. `None` only if the SDK's builder refuses it, which it does not.
    fn request(&self, reads: &[KeyRead]) -> Option<KeysAndAttributes> {
        let keys = reads.iter().map(|read| read.key().clone()).collect();
        let mut request = KeysAndAttributes::builder()
            .set_keys(Some(keys))
            .consistent_read(self.consistent);
        if let Some(attributes) = &self.attributes {
            // Without the attributes of its key an item cannot be assigned to a read.
            let of_keys = reads.iter().flat_map(|read| read.key().keys());
            let names: BTreeSet<&String> = attributes.iter().chain(of_keys).collect();
            let mut places = Vec::new();
            for (place, name) in names.into_iter().enumerate() {
                request = request.expression_attribute_names(format!("#{place}"), name);
                places.push(format!("#{place}"));
            }
            request = request.projection_expression(places.join(","));
        }
        request.build().ok()
    }
}

impl BatchTarget for DynamoReads {
    type Entry = KeyRead;

    fn name(&self) -> Cow<'_, str> {
        format!("dynamodb/{}", short_name(&self.table)).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, read: &KeyRead) -> Result<usize, InvalidEntry> {
        check::key(read.key())?;
        Ok(2 * item_size(read.key()) + KEY_OVERHEAD)
    }

    /// A call with two equal keys would be refused.
    fn lane(&self, read: &KeyRead) -> Option<Lane> {
        Some(Lane::exclusive(&(table_name(&self.table), identity(read.key())?)))
    }

    /// With two key attributes, only the table knows which one determines the partition.
    fn partition_key(&self, read: &KeyRead) -> Option<u64> {
        let identity = identity(read.key()).filter(|attributes| attributes.len() == 1)?;
        Some(hash_of(&(table_name(&self.table), identity)))
    }

    async fn send(&self, reads: &[KeyRead]) -> Answer {
        self.send_metered(reads).await.0
    }

    async fn send_metered(&self, reads: &[KeyRead]) -> (Answer, Option<f64>) {
        let Some(request) = self.request(reads) else {
            return (Answer::Whole(Verdict::Refused(Fault::new("request not built"))), None);
        };
        match self.calls.read(&self.table, request).await {
            Ok(output) => {
                let units = consumed(output.consumed_capacity());
                (verdicts(reads, output), units)
            }
            Err(answer) => (answer, None),
        }
    }
}

/// Names and values of a key, in the order of the names, for comparison.
fn identity(key: &Attributes) -> Option<Vec<(&str, KeyValue<'_>)>> {
    of_names(key, key.keys().map(String::as_str).collect())
}

/// The names and values of a key.
fn values(key: &Attributes) -> impl Iterator<Item = (&str, KeyValue<'_>)> {
    key.iter()
        .filter_map(|(name, value)| Some((name.as_str(), KeyValue::read(value)?)))
}

/// The attributes of an item that form its key.
fn of_names<'a>(item: &'a Attributes, names: BTreeSet<&str>) -> Option<Vec<(&'a str, KeyValue<'a>)>> {
    let attribute = |name: &str| {
        let (name, value) = item.get_key_value(name)?;
        Some((name.as_str(), KeyValue::read(value)?))
    };
    names.into_iter().map(attribute).collect()
}

/// Assigns the items of an answer to the reads, and returns the verdict for each read.
///
/// The items are in no order. If all of them belong to keys that were sent, a key that is neither among them nor
/// unprocessed has no item.
fn verdicts(reads: &[KeyRead], output: BatchGetItemOutput) -> Answer {
    let (Some(responses), unprocessed) = (output.responses, output.unprocessed_keys.unwrap_or_default()) else {
        return Answer::Whole(unanswered("no Responses"));
    };
    let places: HashMap<_, usize> = reads
        .iter()
        .enumerate()
        .filter_map(|(place, read)| Some((identity(read.key())?, place)))
        .collect();
    // All keys of a table have the same names.
    let names: BTreeSet<&str> = reads
        .iter()
        .flat_map(|read| read.key().keys())
        .map(String::as_str)
        .collect();
    let mut verdicts = vec![None; reads.len()];
    let (mut unknown, mut bytes) = (0_usize, 0);
    // By each value of a key, since it is not known here which of them is the partition key.
    let mut bytes_of_values: HashMap<(&str, KeyValue<'_>), usize> = HashMap::new();
    for item in responses.into_values().flatten() {
        let item_bytes = item_size(&item);
        bytes += item_bytes;
        let place = of_names(&item, names.clone()).and_then(|identity| places.get(&identity).copied());
        match place {
            Some(place) => {
                for value in values(reads[place].key()) {
                    *bytes_of_values.entry(value).or_default() += item_bytes;
                }
                reads[place].put_item(item);
                verdicts[place] = Some(Verdict::Accepted);
            }
            None => unknown += 1,
        }
    }
    // An answer that is full, or has as much as it may of a partition, omits keys just as a throttled one does, but a slower pace does not
    // help.
    let is_full = bytes + MAX_ITEM_BYTES > MAX_ANSWER_BYTES;
    let is_full_for = |key: &Attributes| {
        let of_value = |value| {
            bytes_of_values
                .get(&value)
                .is_some_and(|bytes| bytes + MAX_ITEM_BYTES > MAX_PARTITION_BYTES)
        };
        is_full || values(key).any(of_value)
    };
    for key in unprocessed.values().flat_map(KeysAndAttributes::keys) {
        match identity(key).and_then(|identity| places.get(&identity).copied()) {
            Some(place) => {
                let rejection = if is_full_for(reads[place].key()) {
                    Rejection::Unanswered
                } else {
                    Rejection::Unprocessed
                };
                verdicts[place] = Some(Verdict::Rejected(rejection, Fault::new("UnprocessedKeys")));
            }
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        warn!(target: ANSWER, entries = unknown, "DynamoDB returned items or keys that were not asked for");
    }
    let verdict = |verdict: Option<Verdict>| match (verdict, unknown) {
        (Some(verdict), _) => verdict,
        (None, 0) => Verdict::Accepted,
        (None, _) => unanswered("items of other keys"),
    };
    Answer::Each(verdicts.into_iter().map(verdict).collect())
}

fn unanswered(code: &'static str) -> Verdict {
    Verdict::Rejected(Rejection::Unanswered, Fault::new(code))
}

debug_by_name!(DynamoReads);

#[cfg(test)]
mod tests;
