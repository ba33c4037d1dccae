//! A batch: its entries table by table, of which some are forwarded and the others are unprocessed.

use std::collections::HashSet;

use aws_batch_simulator::item_size;
use serde_json::{Map, Value, json};

use super::operation::Operation;
use super::plan::TableCall;
use crate::plan::{Decision, keep};
use crate::registry::last_part;

// From `BatchWriteItem` and `BatchGetItem` of the API reference, and "Quotas in Amazon DynamoDB".
const MOST_WRITES: usize = 25;
const MOST_KEYS: usize = 100;
const LARGEST_ITEM: usize = 400 * 1024;

impl TableCall {
    /// Whether `DynamoDB` refuses a batch because of what it is as a whole. The emulator sees that only if it sees all of it.
    pub(super) fn is_refused_as_a_whole(&self) -> bool {
        let most = match self.operation {
            Operation::BatchWriteItem => MOST_WRITES,
            Operation::BatchGetItem => MOST_KEYS,
            _ => return false,
        };
        let mut keys = HashSet::new();
        let mut is_allowed = |place: usize, entry: &Value| {
            let item = item_of(entry);
            let key = self.tables[place].keys.key_of(item);
            key.is_some_and(|key| keys.insert((place, key)))
                && item_size(item).is_none_or(|bytes| bytes <= LARGEST_ITEM)
        };
        self.entries.len() > most
            || !(0..self.names.len()).all(|place| self.list(place).iter().all(|entry| is_allowed(place, entry)))
    }

    /// The decisions on the entries of a batch of this table, in their order.
    fn decisions_of<'a>(&self, destination: usize, decisions: &'a [Decision]) -> &'a [Decision] {
        let before = self
            .entries
            .iter()
            .filter(|entry| entry.destination < destination)
            .count();
        let of_it = self
            .entries
            .iter()
            .filter(|entry| entry.destination == destination)
            .count();
        &decisions[before..before + of_it]
    }

    /// Of a batch: the entries of each table whose decision is of this kind, with everything else that it says about the table.
    pub(super) fn parts(
        &self,
        decisions: &[Decision],
        is_kept: impl Fn(&Decision) -> bool + Copy,
    ) -> Map<String, Value> {
        let mut parts = Map::new();
        for (place, (name, _)) in self.names.iter().enumerate() {
            let of_table = &self.body["RequestItems"][name];
            let kept = Value::Array(keep(self.list(place), self.decisions_of(place, decisions), is_kept));
            if kept == json!([]) {
                continue;
            }
            let part = if self.operation == Operation::BatchGetItem {
                let mut members = of_table.as_object().cloned().unwrap_or_default();
                members.insert("Keys".to_owned(), kept);
                Value::Object(members)
            } else {
                kept
            };
            parts.insert(name.clone(), part);
        }
        parts
    }

    /// Of a batch: the entries of a table, as they are in the request.
    pub(super) fn list(&self, place: usize) -> &[Value] {
        self.list_of(&self.body["RequestItems"][&self.names[place].0])
    }

    /// The entries in what a request or an answer has for a table.
    fn list_of<'a>(&self, of_table: &'a Value) -> &'a [Value] {
        let list = if self.operation == Operation::BatchGetItem {
            &of_table["Keys"]
        } else {
            of_table
        };
        list.as_array().map_or(&[][..], Vec::as_slice)
    }

    /// What the emulator itself did not process is not accepted, and takes nothing.
    pub(super) fn mark_unprocessed(&self, answer: &Value, decisions: &mut [Decision]) {
        let unprocessed = answer[self.operation.unprocessed()].as_object();
        for (name, of_table) in unprocessed.into_iter().flatten() {
            let is_it = |(_, known): &(String, String)| known == last_part(name);
            let Some(place) = self.names.iter().position(is_it) else {
                continue;
            };
            let table = &self.tables[place];
            // An emulator may write numbers in another way or leave out members, but not those of the key.
            let key = |entry: &Value| table.keys.key_of(item_of(entry));
            let keys: Vec<String> = self.list_of(of_table).iter().filter_map(key).collect();
            let before = self.entries.iter().filter(|entry| entry.destination < place).count();
            for (number, entry) in self.list(place).iter().enumerate() {
                let decision = &mut decisions[before + number];
                if decision.is_accepted() && key(entry).is_some_and(|key| keys.contains(&key)) {
                    *decision = Decision::Refused;
                    table.give_back(self.operation.is_read(), &self.taken[before + number]);
                }
            }
        }
    }

    /// Adds what was not forwarded to what the emulator itself did not process.
    pub(super) fn add_unprocessed(&self, answer: &mut Value, decisions: &[Decision]) {
        let was_kept = |decision: &Decision| matches!(decision, Decision::Throttled(_) | Decision::Failed { .. });
        let own = self.parts(decisions, was_kept);
        let unprocessed = &mut answer[self.operation.unprocessed()];
        let Some(all) = unprocessed.as_object_mut() else {
            *unprocessed = Value::Object(own);
            return;
        };
        for (name, part) in own {
            let of_table = all.iter_mut().find(|(other, _)| last_part(other) == last_part(&name));
            let list = of_table.and_then(|(_, of_table)| match self.operation {
                Operation::BatchGetItem => of_table.get_mut("Keys").and_then(Value::as_array_mut),
                _ => of_table.as_array_mut(),
            });
            if let Some(list) = list {
                list.extend_from_slice(self.list_of(&part));
            } else {
                all.insert(name, part);
            }
        }
    }
}

/// The item or the key of an entry of a batch.
fn item_of(entry: &Value) -> &Value {
    let members = entry
        .pointer("/PutRequest/Item")
        .or(entry.pointer("/DeleteRequest/Key"));
    members.unwrap_or(entry)
}
