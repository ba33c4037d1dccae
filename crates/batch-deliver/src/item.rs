//! Items of a table.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// Attributes by their names.
pub(crate) type Item = HashMap<String, AttributeValue>;
