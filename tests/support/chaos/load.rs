//! The entries of a mix, which can be identified wherever they are found.

use std::collections::HashMap;

use aws_batch_simulator::Value;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::mix::{Mix, Service};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    Delete,
    Message,
}

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

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) service: Service,
    pub(crate) entries: Vec<Entry>,
    /// The entries of each worker.
    parts: Vec<std::ops::Range<usize>>,
    /// The number of the only delete of each lane, because a delete has nothing but the key.
    deletes: HashMap<usize, usize>,
}

impl Load {
    pub(crate) fn of(mix: &Mix) -> Self {
        let random = &mut SmallRng::seed_from_u64(mix.seed.wrapping_add(1));
        let mut load = Self {
            service: mix.service,
            entries: Vec::with_capacity(mix.entries),
            parts: Vec::with_capacity(mix.workers),
            deletes: HashMap::new(),
        };
        for worker in 0..mix.workers {
            let first = load.entries.len();
            let end = mix.entries * (worker + 1) / mix.workers;
            for number in first..end {
                let lane = match mix.lanes {
                    Some(lanes) => worker * lanes + random.random_range(0..lanes),
                    None => number,
                };
                let kind = load.kind(lane, number, random);
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

    pub(crate) fn of_worker(&self, worker: usize) -> Vec<Entry> {
        self.entries[self.parts[worker].clone()].to_vec()
    }

    /// The numbers of each lane, in their order.
    pub(crate) fn lanes(&self) -> HashMap<usize, Vec<usize>> {
        let mut lanes: HashMap<usize, Vec<usize>> = HashMap::new();
        for entry in &self.entries {
            lanes.entry(entry.lane).or_default().push(entry.number);
        }
        lanes
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
    fn number(&self, load: &Load) -> usize;
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

    fn number(&self, load: &Load) -> usize {
        let text = |value: &AttributeValue| value.as_s().or(value.as_n()).expect("text").clone();
        match (self.put_request(), self.delete_request()) {
            (Some(put), _) => text(&put.item()["n"]).parse().expect("a number"),
            (_, Some(delete)) => load.number_of_delete(&text(&delete.key()["id"])),
            _ => unreachable!("every write is one of the two"),
        }
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

    fn number(&self, _: &Load) -> usize {
        number_of_body(self.message_body())
    }
}
