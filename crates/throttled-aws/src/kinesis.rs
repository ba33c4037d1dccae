//! Calls to Kinesis that take capacity.

use std::sync::{Arc, Mutex};

use aws_batch_simulator::{AdmissionControl, Demand, Place, Throughput};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::config::StreamLimits;
use crate::digest::{hex, number};
use crate::plan::{Cause, Decision, Entry, Plan, Throttling, keep};
use crate::refusal::Refusal;
use crate::registry::lock;

/// A partition of the model accepts 1,000 units per second; a shard 1,000 records and 1 MiB.
const UNITS_OF_A_PARTITION: f64 = 1_000.0;
const RECORDS: f64 = 1_000.0;
const BYTES: f64 = 1_048_576.0;

/// Records of one call, and their bytes with their partition keys, from `PutRecords` of the API reference.
const MOST_RECORDS: usize = 500;
const LARGEST_CALL: usize = 10 * 1024 * 1024;

const THROTTLED: &str = "ProvisionedThroughputExceededException";

/// A stream: its shards are partitions that divide the hash keys evenly.
pub(crate) struct Stream {
    controls: Mutex<Controls>,
    shards: usize,
    /// Units of one record and of one byte.
    of_a_record: f64,
    of_a_byte: f64,
}

struct Controls {
    records: AdmissionControl,
    bytes: AdmissionControl,
}

impl Stream {
    /// From its `StreamDescriptionSummary`, and what the file says about it.
    pub(crate) fn described(described: &Value, limits: &StreamLimits, seed: u64, now: Instant) -> Self {
        let open = described["OpenShardCount"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok());
        let shards = limits.shards.or(open).unwrap_or(1).max(1);
        let control = |seed| AdmissionControl::new(Throughput::default().partitions(shards), now, seed);
        Self {
            controls: Mutex::new(Controls {
                records: control(seed),
                bytes: control(!seed),
            }),
            shards,
            of_a_record: UNITS_OF_A_PARTITION / limits.records.unwrap_or(RECORDS),
            of_a_byte: UNITS_OF_A_PARTITION / limits.bytes.unwrap_or(BYTES),
        }
    }

    pub(crate) fn records_per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an account has some thousands of shards")]
        let shards = self.shards as f64;
        shards * UNITS_OF_A_PARTITION / self.of_a_record
    }
}

/// Whether the operation takes capacity.
pub(crate) fn is_limited(operation: &str) -> bool {
    matches!(operation, "PutRecord" | "PutRecords")
}

/// A call to a stream, with an entry for each record.
pub(crate) struct StreamCall {
    is_batch: bool,
    body: Value,
    name: String,
    stream: Arc<Stream>,
    entries: Vec<Entry>,
    /// The hash key and the bytes of each record.
    records: Vec<(u128, usize)>,
}

impl StreamCall {
    /// `None` if the call has another form, or more than Kinesis takes: the emulator will refuse it.
    pub(crate) fn new(operation: &str, body: Value, name: String, stream: Arc<Stream>) -> Option<Self> {
        let is_batch = operation == "PutRecords";
        let one = std::slice::from_ref(&body);
        let of_call = if is_batch {
            body["Records"].as_array()?.as_slice()
        } else {
            one
        };
        let mut entries = Vec::new();
        let mut records = Vec::new();
        for record in of_call {
            let key = record["PartitionKey"].as_str().unwrap_or_default();
            let data = STANDARD
                .decode(record["Data"].as_str().unwrap_or_default())
                .unwrap_or_default();
            let explicit = record["ExplicitHashKey"].as_str().and_then(|key| key.parse().ok());
            records.push((
                explicit.unwrap_or_else(|| number(key.as_bytes())),
                data.len() + key.len(),
            ));
            entries.push(Entry {
                destination: 0,
                action: "put",
                key: format!("{key} {}", hex(&data)),
                units: 1.0,
                known_as: None,
            });
        }
        // The emulator sees that there are too many only if it sees all of them.
        let is_refused =
            records.len() > MOST_RECORDS || records.iter().map(|(_, bytes)| bytes).sum::<usize>() > LARGEST_CALL;
        (!entries.is_empty() && !is_refused).then_some(Self {
            is_batch,
            body,
            name,
            stream,
            entries,
            records,
        })
    }
}

impl Plan for StreamCall {
    fn service(&self) -> &'static str {
        "kinesis"
    }

    fn destinations(&self) -> Vec<&str> {
        vec![&self.name]
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn admit(&mut self, decisions: &mut [Decision]) {
        let now = Instant::now();
        let mut controls = lock(&self.stream.controls);
        let Controls { records, bytes } = &mut *controls;
        for ((hash, size), decision) in self.records.iter().zip(decisions) {
            if !decision.is_accepted() {
                continue;
            }
            let place = Place::new((hash >> 64) as u64, 0);
            #[expect(clippy::cast_precision_loss, reason = "a record has 10 MiB at most")]
            let of_bytes = Demand::new(place, *size as f64 * self.stream.of_a_byte);
            let of_record = Demand::new(place, self.stream.of_a_record);
            let fits = records.admit(now, &[of_record])[0].is_ok() && bytes.admit(now, &[of_bytes])[0].is_ok();
            if !fits {
                *decision = Decision::Throttled(Throttling::by(Cause::Capacity));
            }
        }
    }

    fn refusal(&self, decisions: &[Decision]) -> Option<Refusal> {
        if self.is_batch {
            // Each record has its own error, even if all have one.
            return None;
        }
        match &decisions[0] {
            Decision::Accepted | Decision::Refused => None,
            Decision::Throttled(_) => Some(self.throttle()),
            Decision::Failed { code, .. } => Some(Refusal::by_fault(500, code.as_deref(), self.service())),
        }
    }

    fn throttle(&self) -> Refusal {
        Refusal::new(THROTTLED, format!("Rate exceeded for stream {}.", self.name))
    }

    fn request(&self, decisions: &[Decision]) -> Value {
        let mut body = self.body.clone();
        if let Some(records) = self.body["Records"].as_array() {
            body["Records"] = Value::Array(keep(records, decisions, Decision::is_accepted));
        }
        body
    }

    fn complete(&mut self, answer: &mut Value, decisions: &mut [Decision]) {
        if !self.is_batch {
            return;
        }
        let mut answered = answer["Records"].as_array().cloned().unwrap_or_default().into_iter();
        let mut failed = 0_u64;
        let records: Vec<Value> = decisions
            .iter_mut()
            .map(|decision| {
                let code = match decision {
                    Decision::Accepted | Decision::Refused => {
                        let record = answered.next().unwrap_or_else(|| json!({"ErrorCode": "InternalFailure"}));
                        if !record["ErrorCode"].is_null() {
                            *decision = Decision::Refused;
                            failed += 1;
                        }
                        return record;
                    }
                    Decision::Throttled(_) => THROTTLED,
                    Decision::Failed { code, .. } => code.as_deref().unwrap_or("InternalFailure"),
                };
                failed += 1;
                json!({"ErrorCode": code, "ErrorMessage": format!("Rate exceeded for a shard in stream {}.", self.name)})
            })
            .collect();
        answer["Records"] = Value::Array(records);
        answer["FailedRecordCount"] = failed.into();
    }

    fn give_back(&mut self, _: &[Decision]) {
        // The capacity of a second is lost with it.
    }
}
