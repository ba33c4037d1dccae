//! The vector indexes of a table in a build without the feature `vector-indexes`, whose SDK may not know them: there are none, and
//! DynamoDB alone checks the items.
#![expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the same signatures as with the feature"
)]

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, TableDescription, WriteRequest};

use super::size::item_size;
use crate::invalid::InvalidEntry;

/// No vector indexes.
#[derive(Debug, Default)]
pub(super) struct VectorIndexes {}

impl VectorIndexes {
    pub(super) fn described(_: &TableDescription) -> Self {
        Self {}
    }

    pub(super) fn check(&self, _: &WriteRequest) -> Result<(), InvalidEntry> {
        Ok(())
    }

    pub(super) fn billed_size(&self, item: &HashMap<String, AttributeValue>) -> usize {
        item_size(item)
    }

    pub(super) fn count(&self, _: &WriteRequest, _: &str, _: &VectorCounts) -> Result<(), InvalidEntry> {
        Ok(())
    }
}

/// Nothing is counted.
#[derive(Debug, Clone, Default)]
pub(super) struct VectorCounts {}

impl VectorCounts {
    pub(super) fn set_refuses(&mut self, _: bool) {}
}

#[cfg(test)]
mod tests {
    //! `.ci/floor --all` runs these, with the oldest SDK; all other tests have the feature.

    use aws_batch_simulator::{KeyType, Simulator, TableOptions, VectorIndexOptions};

    use super::super::DynamoTable;
    use super::super::testing::{put, text};
    use super::*;
    use crate::contract::BatchTarget;
    use crate::delivery::Delivery;
    use crate::report::Cause;

    fn vector(dimensions: usize) -> AttributeValue {
        let number = || AttributeValue::N("0.123456789".to_owned());
        AttributeValue::L(std::iter::repeat_with(number).take(dimensions).collect())
    }

    /// What the index refuses costs calls, and none of its neighbours. What the index leaves out is delivered.
    #[tokio::test(start_paused = true)]
    async fn dynamodb_alone_refuses_what_a_vector_index_cannot_take() {
        let simulator = Simulator::new(7);
        let index = VectorIndexOptions::new("meaning", 3).key("tenant", KeyType::S);
        let table = simulator.table(
            "films",
            TableOptions::key("id", KeyType::S).vector_index("by_meaning", index),
        );
        let writes = (0..1_000).map(|number: usize| {
            let dimensions = if number % 50 == 7 { 4 } else { 3 };
            let item = [("id", text(&number.to_string())), ("meaning", vector(dimensions))];
            let tenant = (number % 10 != 0).then(|| ("tenant", text("t")));
            put(item.into_iter().chain(tenant))
        });
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "films");
        let error = delivery.deliver(writes).await.unwrap_err();
        assert_eq!((error.report.delivered, error.undelivered().len()), (980, 20));
        assert_eq!((table.len(), table.vectors("by_meaning")), (980, 880));
        assert!(
            error.report.calls > 100,
            "each of them is found by halves: {}",
            error.report
        );
        for undelivered in error.undelivered() {
            assert_eq!(undelivered.position % 50, 7);
            assert!(matches!(&undelivered.cause, Cause::Refused(fault) if fault.code() == "ValidationException"));
        }
    }

    #[tokio::test]
    async fn write_units_count_the_digits_of_a_vector() {
        let simulator = Simulator::new(7);
        let index = VectorIndexOptions::new("meaning", 600);
        simulator.table(
            "films",
            TableOptions::key("id", KeyType::S).vector_index("by_meaning", index),
        );
        let films = DynamoTable::new(simulator.dynamo_client(), "films");
        films.prepare().await;
        let film = put([("id", text("a")), ("meaning", vector(600))]);
        // 600 numbers of 9 digits have 4.2 kB. As 32-bit floats they have 2.4 kB, and the item three units.
        assert_eq!(films.units(&film), 5);
    }
}
