//! A delivery stream.

use std::sync::Arc;

use tokio::time::Instant;

use super::options::DeliveryStreamOptions;
use crate::bucket::Capacity;
use crate::intake::{Arrival, Intake, Kept, Shard, data, handles};

/// The data of a record.
pub(super) struct Data(Vec<u8>);

impl Kept for Data {
    fn of(arrival: &Arrival, _: u64, _: Instant) -> Self {
        Self(data(&arrival.entry).unwrap_or_default())
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

handles!(DeliveryStream, "records", "are put");

impl DeliveryStream {
    /// Changes the capacity, in records per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, records: impl Into<Capacity>) {
        let records = records.into();
        for shard in &mut self.inner.intake.state().shards {
            shard.set_capacity(records);
        }
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
            is_forgetful,
        } = options;
        let shard = Shard::new(capacity, bytes);
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                intake: Intake::new(vec![shard], is_forgetful, seed),
            }),
        }
    }

    pub(super) fn intake(&self) -> &Intake<Data> {
        &self.inner.intake
    }
}
