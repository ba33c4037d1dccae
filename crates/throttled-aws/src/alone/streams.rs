//! `CreateStream`, `ListStreams`, `UpdateShardCount` and `PutRecord`.

use std::collections::BTreeMap;

use aws_batch_simulator::{Capacity, Simulator, Stream, StreamOptions};
use serde_json::{Value, json};

use super::step::Step;
use crate::config::Config;
use crate::refusal::Refusal;
use crate::registry::last_part;

/// The shards of a new on-demand stream, from "Choose the right mode to stream in".
const ON_DEMAND: usize = 4;

/// The streams by name, with their numbers of open shards.
pub(super) struct Streams(BTreeMap<String, (Stream, usize)>);

impl Streams {
    /// The streams of the file.
    pub(super) fn of(config: &Config, simulator: &Simulator) -> Self {
        let mut streams = Self(BTreeMap::new());
        for (name, limits) in config.streams.iter().filter(|(name, _)| *name != "*") {
            streams.create(name, limits.shards.unwrap_or(1), simulator);
        }
        streams
    }

    fn create(&mut self, name: &str, shards: usize, simulator: &Simulator) {
        let unlimited = Capacity::unlimited();
        let stream = simulator.stream(
            name,
            StreamOptions::shards(shards)
                .capacity(unlimited)
                .byte_capacity(unlimited),
        );
        self.0.insert(name.to_owned(), (stream, shards));
    }

    pub(super) fn step(&mut self, operation: &str, mut request: Value, simulator: &Simulator) -> Result<Step, Refusal> {
        match operation {
            "CreateStream" => {
                let name = request["StreamName"].as_str().unwrap_or_default();
                if name.is_empty() || name.len() > 128 {
                    return Err(Refusal::new(
                        "ValidationException",
                        "StreamName has 1 to 128 characters",
                    ));
                }
                if self.0.contains_key(name) {
                    return Err(Refusal::new(
                        "ResourceInUseException",
                        format!("Stream {name} already exists."),
                    ));
                }
                let shards = request["ShardCount"]
                    .as_u64()
                    .and_then(|count| usize::try_from(count).ok());
                self.create(name, shards.unwrap_or(ON_DEMAND), simulator);
                Ok(Step::Answer(json!({})))
            }
            "ListStreams" => {
                let names: Vec<&String> = self.0.keys().collect();
                Ok(Step::Answer(json!({"StreamNames": names, "HasMoreStreams": false})))
            }
            "UpdateShardCount" => self.reshard(&request),
            "PutRecord" => {
                let mut call = json!({});
                let mut record = json!({});
                for (name, value) in request.as_object_mut().into_iter().flat_map(std::mem::take) {
                    let part = if name.starts_with("Stream") {
                        &mut call
                    } else {
                        &mut record
                    };
                    part[name] = value;
                }
                call["Records"] = json!([record]);
                let change = |mut answer: Value| {
                    let one = answer.pointer_mut("/Records/0").map(Value::take).unwrap_or_default();
                    match one["ErrorCode"].as_str() {
                        Some(code) => Err(Refusal::new(code, one["ErrorMessage"].as_str().unwrap_or_default())),
                        None => Ok(one),
                    }
                };
                Ok(Step::Ask("Kinesis_20131202.PutRecords", call, Box::new(change)))
            }
            _ => Ok(Step::Pass),
        }
    }

    /// Within the limits that the reference of `UpdateShardCount` names.
    fn reshard(&mut self, request: &Value) -> Result<Step, Refusal> {
        let name = request["StreamName"].as_str().or(request["StreamARN"].as_str());
        let name = last_part(name.unwrap_or_default());
        let Some((stream, shards)) = self.0.get_mut(name) else {
            let message = format!("Stream {name} under account 000000000000 not found.");
            return Err(Refusal::new("ResourceNotFoundException", message));
        };
        let wanted = request["TargetShardCount"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or_default();
        let current = *shards;
        if wanted < current.div_ceil(2).max(1) || wanted > 2 * current {
            let message =
                format!("UpdateShardCount goes from half to double the {current} open shards, not to {wanted}.");
            return Err(Refusal::new("LimitExceededException", message));
        }
        stream.reshard(wanted);
        *shards = wanted;
        Ok(Step::Answer(json!({
            "StreamName": name,
            "CurrentShardCount": current,
            "TargetShardCount": wanted,
        })))
    }
}
