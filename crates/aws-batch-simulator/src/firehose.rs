//! The part of Firehose that accepts records: `PutRecordBatch`.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::capacity::Capacity;
use crate::handles::{capacity_option, counts_only_option, intake_handle};
use crate::intake::{Entry, ErrorText, Intake, KeptEntry, Shard, acknowledged_by_place, by_place, data, entries_of};
use crate::journal::AnswerReceipt;
use crate::registry::{ACCOUNT, Registry};
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json11,
    namespace: "",
    has_checksums: false,
    has_query_errors: false,
    throttled: unavailable,
};

/// Records in a call at most. From the API reference of `PutRecordBatch`, as all of these.
const MOST_RECORDS: usize = 500;
/// Bytes of the data of a call at most: 4 MiB.
const LARGEST_CALL: usize = 4 * 1024 * 1024;
/// Bytes of a record's data at most: 1,000 KiB.
const LARGEST_RECORD: usize = 1_024_000;

/// The error of throttled records and calls.
const THROTTLED: ErrorText = ("ServiceUnavailableException", "Slow down.");

/// The options of a delivery stream of Firehose.
///
/// # Default
/// - capacity: unlimited
/// - records are kept
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct DeliveryStreamOptions {
    capacity: Capacity,
    bytes: Capacity,
    counts_only: bool,
}

impl DeliveryStreamOptions {
    capacity_option!("records");
    counts_only_option!("records");

    /// The capacity, in bytes of data per second.
    pub fn byte_capacity(mut self, bytes: impl Into<Capacity>) -> Self {
        self.bytes = bytes.into();
        self
    }
}

/// The data of a record.
struct Data(Vec<u8>);

impl KeptEntry for Data {
    fn of(entry: &Entry, _: u64, _: Instant) -> Self {
        Self(data(&entry.json).unwrap_or_default())
    }
}

/// A Firehose delivery stream of the simulator, which keeps its records. Clones are handles to the same stream.
#[derive(Clone)]
pub struct DeliveryStream {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    intake: Intake<Data>,
}

intake_handle!(DeliveryStream, "records", "are put");

impl DeliveryStream {
    /// Changes the capacity, in records per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, records: impl Into<Capacity>) {
        self.inner.intake.set_capacity(records.into());
    }

    /// The data of all records, in the order of acceptance.
    pub fn records(&self) -> Vec<Vec<u8>> {
        let state = self.inner.intake.state();
        state.kept.iter().map(|Data(bytes)| bytes.clone()).collect()
    }
}

impl DeliveryStream {
    pub(crate) fn new(name: &str, options: DeliveryStreamOptions, seed: u64) -> Self {
        let DeliveryStreamOptions {
            capacity,
            bytes,
            counts_only,
        } = options;
        let shard = Shard::new(capacity, bytes);
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                intake: Intake::new(vec![shard], counts_only, seed),
            }),
        }
    }
}

pub(crate) fn operate(
    streams: &Registry<DeliveryStream>,
    operation: &str,
    body: Value,
    answered: &AnswerReceipt,
) -> OperationOutcome {
    match operation {
        "PutRecordBatch" => put(streams, body, answered).into(),
        _ => Refusal::unknown_operation().into(),
    }
}

fn put(
    streams: &Registry<DeliveryStream>,
    mut body: Value,
    answered: &AnswerReceipt,
) -> Result<OperationOutcome, Refusal> {
    let name = body["DeliveryStreamName"].as_str().unwrap_or_default();
    let stream = streams.find(name).ok_or_else(|| {
        let message = format!("Firehose {name} under account {ACCOUNT} not found.");
        Refusal::new("ResourceNotFoundException", message)
    })?;
    let intake = &stream.inner.intake;
    let call = intake.call(answered);
    let records = check(body["Records"].take());
    let answer = intake.answer(
        &call,
        records,
        acknowledged_by_place(&call.fault),
        |records, results| {
            let accepted = |_: &Entry, number| json!({"RecordId": format!("{number:032}")});
            let (records, failed) = by_place(records, results, &call.fault, THROTTLED, accepted);
            let answer = json!({"FailedPutCount": failed, "Encrypted": false, "RequestResponses": records});
            OperationOutcome::Success(answer)
        },
    );
    Ok(answer)
}

/// The error of a call that is throttled as a whole.
fn unavailable() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1).status(503)
}

fn check(records: Value) -> Result<Vec<Entry>, Refusal> {
    let records = entries_of(records, "records", MOST_RECORDS)?;
    let mut entries = Vec::with_capacity(records.len());
    for record in records {
        let bytes = data(&record)?.len();
        if bytes > LARGEST_RECORD {
            let message = format!(
                "1 validation error detected: Value at 'records' failed to satisfy constraint: Member must have data with length \
                 less than or equal to {LARGEST_RECORD}"
            );
            return Err(Refusal::new("ValidationException", message));
        }
        entries.push(Entry::new(record, bytes));
    }
    if entries.iter().map(|entry| entry.bytes).sum::<usize>() > LARGEST_CALL {
        let message = "Records size exceeds 4 MiB limit";
        return Err(Refusal::new("InvalidArgumentException", message));
    }
    Ok(entries)
}
