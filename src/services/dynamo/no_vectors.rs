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
