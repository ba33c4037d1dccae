//! The entries of a mix, which can be identified wherever they are found.

use std::collections::HashMap;

use aws_batch_delivery::targets::dynamo::{ItemWrite, Transaction};
use aws_batch_simulator::Value;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, TransactWriteItem, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::mix::{Mix, Service};
use super::model::{Does, number_of};
use super::served::{NAME, STOCK};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    Delete,
    Message,
    Write(Does),
    /// Does this, and [`TAKES`] in the other table.
    Transaction(Does),
}

/// What a transaction does in the other table, to the counter of its lane.
pub(crate) const TAKES: Does = Does::Add(1);

/// An entry. Those of a lane are ordered by their numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) number: usize,
    /// Its key or group.
    pub(crate) lane: usize,
    pub(crate) kind: Kind,
    /// The bytes of its additional text.
    bytes: usize,
}

impl Entry {
    /// The key of a write in the table, and of a transaction in the other one.
    pub(crate) fn keys(&self) -> [String; 2] {
        [format!("key-{}", self.lane), format!("stock-{}", self.lane)]
    }

    /// The actions of a transaction, or the only one of a write.
    pub(crate) fn actions(&self) -> Vec<TransactWriteItem> {
        let [key, stock] = self.keys();
        match self.kind {
            Kind::Write(does) => vec![does.action(NAME, &key, self.number)],
            Kind::Transaction(does) => vec![
                does.action(NAME, &key, self.number),
                TAKES.action(STOCK, &stock, self.number),
            ],
            Kind::Put | Kind::Delete | Kind::Message => Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) service: Service,
    pub(crate) entries: Vec<Entry>,
    /// The entries of each worker.
    parts: Vec<std::ops::Range<usize>>,
    /// The number of the only delete of each lane, because a delete has nothing but the key.
    deletes: HashMap<usize, usize>,
    /// The number of the only conditional delete of an item of each write.
    deleters: HashMap<usize, usize>,
}

impl Load {
    pub(crate) fn of(mix: &Mix) -> Self {
        let random = &mut SmallRng::seed_from_u64(mix.seed.wrapping_add(1));
        let mut load = Self {
            service: mix.service,
            entries: Vec::with_capacity(mix.entries),
            parts: Vec::with_capacity(mix.workers),
            deletes: HashMap::new(),
            deleters: HashMap::new(),
        };
        for worker in 0..mix.workers {
            let first = load.entries.len();
            let end = mix.entries * (worker + 1) / mix.workers;
            for number in first..end {
                let lane = match mix.lanes {
                    Some(lanes) if mix.service == Service::Writes => random.random_range(0..lanes),
                    Some(lanes) => worker * lanes + random.random_range(0..lanes),
                    None => number,
                };
                let kind = if mix.service == Service::Writes {
                    let does = load.does(lane, number, random);
                    if worker < mix.workers - mix.transactors {
                        Kind::Write(does)
                    } else {
                        Kind::Transaction(does)
                    }
                } else {
                    load.kind(lane, number, random)
                };
                let bytes = if random.random_bool(0.02) {
                    20_000
                } else {
                    random.random_range(0..200)
                };
                load.entries.push(Entry {
                    number,
                    lane,
                    kind,
                    bytes,
                });
            }
            load.parts.push(first..end);
        }
        load
    }

    fn kind(&mut self, lane: usize, number: usize, random: &mut SmallRng) -> Kind {
        if self.service != Service::Table {
            Kind::Message
        } else if random.random_bool(0.2) && !self.deletes.contains_key(&lane) {
            self.deletes.insert(lane, number);
            Kind::Delete
        } else {
            Kind::Put
        }
    }

    /// A write with a condition or an update, most of which depend on the writes before it.
    fn does(&mut self, lane: usize, number: usize, random: &mut SmallRng) -> Does {
        let more = random.random_range(1..100);
        match random.random_range(0..14) {
            0 => Does::Put,
            1..=3 => Does::PutIfAbsent,
            4..=6 => self
                .delete_of_another(lane, number, random)
                .unwrap_or(Does::PutIfAbsent),
            7 => Does::Claim,
            8 => Does::ClaimOnce,
            9 => Does::Release,
            10 | 11 => Does::Add(more),
            12 => Does::AddBySet(more),
            _ => Does::AddIf(more),
        }
    }

    /// The deletion of the item of an earlier write of the lane, which no other one deletes: one of the last, or any.
    fn delete_of_another(&mut self, lane: usize, number: usize, random: &mut SmallRng) -> Option<Does> {
        let owns = |entry: &&Entry| match entry.kind {
            Kind::Write(does) | Kind::Transaction(does) => entry.lane == lane && does.owns(),
            Kind::Put | Kind::Delete | Kind::Message => false,
        };
        let is_free = |number: &usize| !self.deleters.contains_key(number);
        let owners = self.entries.iter().filter(owns).map(|entry| entry.number);
        let free: Vec<usize> = owners.filter(is_free).collect();
        let owner = if random.random() {
            *free.last()?
        } else {
            *free.get(random.random_range(0..free.len().max(1)))?
        };
        self.deleters.insert(owner, number);
        Some(Does::DeleteIf(number - owner))
    }

    pub(crate) fn of_worker(&self, worker: usize) -> Vec<Entry> {
        self.entries[self.parts[worker].clone()].to_vec()
    }

    pub(crate) fn worker_of(&self, number: usize) -> usize {
        self.parts
            .iter()
            .position(|part| part.contains(&number))
            .expect("each entry has a worker")
    }

    /// The numbers of each lane, in their order.
    pub(crate) fn lanes(&self) -> HashMap<usize, Vec<usize>> {
        let mut lanes: HashMap<usize, Vec<usize>> = HashMap::new();
        for entry in &self.entries {
            lanes.entry(entry.lane).or_default().push(entry.number);
        }
        lanes
    }

    /// The number of the conditional delete of the item of this write.
    pub(crate) fn deleter_of(&self, owner: &str) -> Option<usize> {
        self.deleters.get(&number_of(owner)?).copied()
    }

    /// The number of a write in its JSON: a request of a single write, or an action of a transaction.
    pub(crate) fn number_of_write(&self, request: &Value) -> Option<usize> {
        let action = &request["TransactItems"][0];
        let action = ["Put", "Update", "Delete"].iter().find_map(|kind| action.get(kind));
        let request = action.unwrap_or(request);
        let named = &request["ExpressionAttributeValues"][":by"]["S"];
        if request.get("Item").is_some() {
            number_of(request["Item"]["by"]["S"].as_str()?)
        } else if request.get("UpdateExpression").is_some() {
            number_of(named.as_str()?)
        } else {
            self.deleter_of(named.as_str()?)
        }
    }

    /// The number of an entry in its JSON: an item, a key to delete, or a message.
    pub(crate) fn number_on_wire(&self, entry: &Value) -> usize {
        if let Some(body) = entry["MessageBody"].as_str() {
            return number_of_body(body);
        }
        match entry["n"]["N"].as_str() {
            Some(number) => number.parse().expect("a number"),
            None => self.number_of_delete(entry["id"]["S"].as_str().expect("a key")),
        }
    }

    pub(crate) fn is_put(&self, number: usize) -> bool {
        self.entries[number].kind == Kind::Put
    }

    fn number_of_delete(&self, key: &str) -> usize {
        self.deletes[&lane_of_key(key)]
    }
}

/// The lane of an item.
pub(crate) fn lane_on_wire(item: &Value) -> usize {
    lane_of_key(item["id"]["S"].as_str().expect("a key"))
}

fn lane_of_key(key: &str) -> usize {
    key.trim_start_matches("key-").parse().expect("a key")
}

fn number_of_body(body: &str) -> usize {
    let digits = body.split(' ').next().unwrap_or_default();
    digits.parse().expect("a number")
}

/// Entries in the types of the SDK.
pub(crate) trait Wire: Clone + Send + Sync + 'static {
    fn of(entry: &Entry, service: Service) -> Self;
    /// `None` if the entry does not tell.
    fn number(&self, load: &Load) -> Option<usize>;
}

impl Wire for ItemWrite {
    fn of(entry: &Entry, _: Service) -> Self {
        let Kind::Write(does) = entry.kind else {
            unreachable!("the worker delivers single writes");
        };
        does.write(NAME, &entry.keys()[0], entry.number)
    }

    fn number(&self, _: &Load) -> Option<usize> {
        number_of(self.attributes()?.get("by")?.as_s().ok()?)
    }
}

impl Wire for Transaction {
    fn of(entry: &Entry, _: Service) -> Self {
        Self::new(entry.actions())
    }

    fn number(&self, _: &Load) -> Option<usize> {
        let taken = self.actions()[1].update.as_ref().expect("it takes from the stock");
        number_of(taken.expression_attribute_values()?.get(":by")?.as_s().ok()?)
    }
}

impl Wire for WriteRequest {
    fn of(entry: &Entry, _: Service) -> Self {
        let key = AttributeValue::S(format!("key-{}", entry.lane));
        let builder = Self::builder();
        if entry.kind == Kind::Delete {
            let delete = DeleteRequest::builder().key("id", key);
            return builder.delete_request(delete.build().expect("a key")).build();
        }
        let put = PutRequest::builder()
            .item("id", key)
            .item("n", AttributeValue::N(entry.number.to_string()))
            .item("text", AttributeValue::S("x".repeat(entry.bytes)));
        builder.put_request(put.build().expect("an item")).build()
    }

    fn number(&self, load: &Load) -> Option<usize> {
        let text = |value: &AttributeValue| value.as_s().or(value.as_n()).expect("text").clone();
        Some(match (self.put_request(), self.delete_request()) {
            (Some(put), _) => text(&put.item()["n"]).parse().expect("a number"),
            (_, Some(delete)) => load.number_of_delete(&text(&delete.key()["id"])),
            _ => unreachable!("every write is one of the two"),
        })
    }
}

impl Wire for SendMessageBatchRequestEntry {
    fn of(entry: &Entry, service: Service) -> Self {
        let message = Self::builder()
            .id("0")
            .message_body(format!("{} {}", entry.number, "x".repeat(entry.bytes)));
        let message = match service {
            Service::Fifo => message.message_group_id(format!("group-{}", entry.lane)),
            _ => message,
        };
        message.build().expect("a message")
    }

    fn number(&self, _: &Load) -> Option<usize> {
        Some(number_of_body(self.message_body()))
    }
}
