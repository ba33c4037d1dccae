//! What a fleet delivers: the lines of its inputs or the items of its table, and which of them belong to which shard.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

/// What the workers of a fleet do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Lines in S3 become items of a table.
    Load,
    /// Lines in S3 become messages of a queue.
    Send,
    /// The same, to a FIFO queue, in which each group keeps its order.
    SendInGroups,
    /// The segments of a table are copied into another table.
    Copy,
    /// The segments of a table are exported to S3.
    Export,
}

impl Work {
    pub(crate) const ALL: [Self; 5] = [Self::Load, Self::Send, Self::SendInGroups, Self::Copy, Self::Export];

    /// Whether the shards are segments of a table.
    pub(crate) fn is_of_segments(self) -> bool {
        matches!(self, Self::Copy | Self::Export)
    }
}

/// Groups of messages.
const GROUPS: u32 = 6;

/// An entry: its number among all, and its key or its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u32,
    pub(crate) id: u32,
}

/// An object with some of the entries, one on each line.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) key: String,
    entries: Vec<Entry>,
    has_groups: bool,
}

#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) objects: Vec<Object>,
    /// The numbers of entries that the service refuses.
    pub(crate) refused: BTreeSet<u32>,
}

impl Entry {
    fn line(self, has_group: bool) -> String {
        let content = json!({"id": self.id, "number": self.number});
        let line = if has_group {
            let (group, number) = (self.id.to_string(), self.number.to_string());
            json!({"body": content.to_string(), "group_id": group, "dedup_id": number})
        } else {
            content
        };
        line.to_string() + "\n"
    }
}

impl Object {
    pub(crate) fn name(&self) -> String {
        format!("s3://b/{}", self.key)
    }

    pub(crate) fn text(&self) -> String {
        self.entries.iter().map(|entry| entry.line(self.has_groups)).collect()
    }

    /// The entries whose lines begin in this range of bytes, in their order.
    fn part(&self, begin: u64, end: u64) -> Vec<Entry> {
        let mut position = 0;
        let within = self.entries.iter().filter(|entry| {
            let starts = position;
            position += entry.line(self.has_groups).len() as u64;
            (begin..end).contains(&starts)
        });
        within.copied().collect()
    }
}

impl Load {
    /// Objects with so many entries, of which some have the keys of others, if any may.
    pub(crate) fn of(random: &mut SmallRng, work: Work) -> Self {
        let objects = if work == Work::Load {
            random.random_range(1..3)
        } else {
            1
        };
        let each = match work {
            // A page of a scan has up to 1,000 items, and a worker continues at one.
            Work::Copy | Work::Export => 2_400,
            Work::Load | Work::Send | Work::SendInGroups => random.random_range(60..300),
        };
        let mut numbers = 0..;
        let objects = (0..objects).map(|index| {
            let mut entries: Vec<Entry> = Vec::new();
            for number in numbers.by_ref().take(each) {
                let repeated = work == Work::Load && entries.len() > 10 && random.random_bool(0.25);
                let id = if work == Work::SendInGroups {
                    random.random_range(0..GROUPS)
                } else if repeated {
                    entries[entries.len() - random.random_range(1..10)].id
                } else {
                    number
                };
                entries.push(Entry { number, id });
            }
            Object {
                key: format!("in/{index}.jsonl"),
                entries,
                has_groups: work == Work::SendInGroups,
            }
        });
        let objects: Vec<_> = objects.collect();
        let count = u32::try_from(objects.len() * each).unwrap();
        let share = if work.is_of_segments() { 0.002 } else { 0.02 };
        let refused = (0..count).filter(|_| work != Work::Export && random.random_bool(share));
        Self {
            refused: refused.collect(),
            objects,
        }
    }

    /// Few entries, each with a key of its own, one of which is refused.
    pub(crate) fn small(work: Work) -> Self {
        let has_groups = work == Work::SendInGroups;
        let entry = |number| Entry {
            number,
            id: if has_groups { number % GROUPS } else { number },
        };
        let entries = (0..40).map(entry).collect();
        let refused = if work == Work::Export { None } else { Some(17) };
        Self {
            objects: vec![Object {
                key: "in/0.jsonl".to_owned(),
                entries,
                has_groups,
            }],
            refused: refused.into_iter().collect(),
        }
    }

    /// Leaves out all entries but the first ones.
    pub(crate) fn cut(&mut self, mut left: usize) {
        for object in &mut self.objects {
            object.entries.truncate(left);
            left -= object.entries.len();
        }
        self.objects.retain(|object| !object.entries.is_empty());
        let all: BTreeSet<u32> = self.entries().map(|entry| entry.number).collect();
        self.refused.retain(|number| all.contains(number));
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.objects.iter().flat_map(|object| object.entries.iter().copied())
    }

    /// The entries of a shard; `None` if it is a segment.
    pub(crate) fn shard(&self, planned: &Value) -> Option<Vec<Entry>> {
        let object = self.objects.iter().find(|object| planned["input"] == object.name())?;
        let bound = |name: &str| planned[name].as_u64().unwrap();
        Some(object.part(bound("begin"), bound("end")))
    }
}
