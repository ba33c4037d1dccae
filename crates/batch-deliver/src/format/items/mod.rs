//! Items of a table, as attributes: written as JSON, as DynamoDB JSON, or within requests and answers.

mod envelope;
mod json;
mod json_lines;
mod key;
mod path;
mod typed;
mod write;
mod written;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

pub(crate) use self::json::value_of_json;
pub(crate) use self::json_lines::{JsonItems, Typing};
pub(crate) use self::key::{Key, KeyType};
pub(crate) use self::typed::comparable;
pub(super) use self::typed::{of_cell, to_json};
pub(crate) use self::write::{Purpose, Writes};
pub(crate) use self::written::ItemFormat;

/// Attributes by their names.
pub(crate) type Item = HashMap<String, AttributeValue>;
