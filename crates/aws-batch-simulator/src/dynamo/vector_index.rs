//! Vector indexes, which refuse items and leave them out.

use serde_json::{Map, Value, json};

use super::index::bytes_of_key;
use super::key::{KeyType, LONGEST_PARTITION, Schema};
use super::value::{size_of_item, text};
use crate::admission::{Place, Throughput};
use crate::wire::Refusal;

/// Bytes of an element of a vector in an index: a 32-bit float.
const ELEMENT: usize = 4;

/// The least `VectorWriteRequestBytes` of a write. From "Pricing for Amazon DynamoDB".
const LEAST_WRITE: usize = 1_024;

/// What comes before the reason where a vector as a whole, or the value of an element, is wrong. Captured from DynamoDB on
/// 2026-08-19; a week before, the first sentence was missing.
const WRONG_VECTOR: &str =
    "One or more parameter values are not valid. One or more parameter values were invalid . Invalid";

/// The options of a vector index, for embeddings of this many dimensions in this attribute. It projects all attributes.
///
/// A write with another number of elements, an element that is not a number or not in the range of a 32-bit float, or a partition
/// key or filter of another type is refused, as DynamoDB does. An item that has no vector, or not the partition key of the index,
/// is not in it. How DynamoDB throttles vector indexes is not published; see [`throughput`](Self::throughput). `SearchVectors` is not
/// simulated.
///
/// ```
/// use aws_batch_simulator::{KeyType, Simulator, TableOptions, VectorIndexOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let by_meaning = VectorIndexOptions::new("embedding", 1_024).key("tenant", KeyType::S);
/// let options = TableOptions::key("id", KeyType::S).vector_index("by_meaning", by_meaning);
/// let films = Simulator::new(42).table("films", options);
/// assert_eq!(films.vectors("by_meaning"), 0);
/// # }
/// ```
///
/// # Default
/// No partition key, no filters, any number of writes.
#[derive(Debug, Clone)]
#[must_use]
pub struct VectorIndexOptions {
    attribute: String,
    dimensions: usize,
    key: Option<(String, KeyType)>,
    filters: Vec<(String, KeyType)>,
    pub(super) throughput: Throughput,
}

impl VectorIndexOptions {
    /// An index of the vectors in this attribute.
    pub fn new(attribute: impl Into<String>, dimensions: usize) -> Self {
        Self {
            attribute: attribute.into(),
            dimensions,
            key: None,
            filters: Vec::new(),
            throughput: Throughput::default(),
        }
    }

    /// The index is partitioned by this attribute: the `HASH` element of its search schema.
    pub fn key(mut self, name: impl Into<String>, kind: KeyType) -> Self {
        self.key = Some((name.into(), kind));
        self
    }

    /// Searches can filter by this attribute: an `INLINE_FILTER` element of its search schema. May be called several times.
    pub fn filter(mut self, name: impl Into<String>, kind: KeyType) -> Self {
        self.filters.push((name.into(), kind));
        self
    }

    /// How much the index accepts, in KiB of `VectorWriteRequestBytes`. As with [`IndexOptions`](super::IndexOptions), a write for which
    /// it has too little left is throttled, and the reason names the index. This is an assumption: neither the limits of vector indexes nor
    /// the reasons that name them are published.
    pub fn throughput(mut self, throughput: impl Into<Throughput>) -> Self {
        self.throughput = throughput.into();
        self
    }
}

/// A vector index of a table.
#[derive(Debug)]
pub(super) struct VectorIndex {
    pub(super) name: String,
    pub(super) options: VectorIndexOptions,
}

impl VectorIndex {
    /// Refuses an item that cannot be in the index.
    pub(super) fn check(&self, item: &Map<String, Value>) -> Result<(), Refusal> {
        if let Some((tag, content)) = item.get(&self.options.attribute).and_then(typed) {
            self.check_vector(tag, content)?;
        }
        let VectorIndexOptions { key, filters, .. } = &self.options;
        for (name, kind) in key.iter().chain(filters) {
            let Some((actual, _)) = item.get(name).and_then(typed) else {
                continue;
            };
            if actual != kind.tag() {
                return Err(Refusal::validation(format!(
                    "One or more parameter values were invalid. Attribute '{name}' type mismatch. Expected: {}, Actual: {actual}. \
                     IndexName: {}",
                    kind.tag(),
                    self.name
                )));
            }
        }
        match key {
            Some((name, kind)) => self.check_key(name, *kind, item.get(name)),
            None => Ok(()),
        }
    }

    fn check_vector(&self, tag: &str, content: &Value) -> Result<(), Refusal> {
        let Self { name: index, options } = self;
        let VectorIndexOptions {
            attribute, dimensions, ..
        } = options;
        let Some(elements) = content.as_array().filter(|_| tag == "L") else {
            return Err(Refusal::validation(format!(
                "{WRONG_VECTOR} type for parameter {attribute}, Expected: L, Actual: {tag}. IndexName: {index}"
            )));
        };
        if elements.len() != *dimensions {
            return Err(Refusal::validation(format!(
                "{WRONG_VECTOR} size for parameter {attribute}, Expected: {dimensions}, Actual: {}. IndexName: {index}",
                elements.len()
            )));
        }
        for (place, element) in elements.iter().enumerate() {
            let Some((tag, content)) = typed(element) else { continue };
            if tag != "N" {
                return Err(Refusal::validation(format!(
                    "One or more parameter values were invalid. Invalid type for parameter {attribute}[{place}], Expected: 32-bit \
                     floating point number, Actual: {tag}. IndexName: {index}"
                )));
            }
            let number = text(content)?;
            if number.parse::<f32>().is_ok_and(f32::is_infinite) {
                return Err(Refusal::validation(format!(
                    "{WRONG_VECTOR} value for parameter {attribute}[{place}], Value: {} is outside valid range [-3.4028235E38, \
                     3.4028235E38]. IndexName: {index}",
                    scientific(number)
                )));
            }
        }
        Ok(())
    }

    fn check_key(&self, name: &str, kind: KeyType, value: Option<&Value>) -> Result<(), Refusal> {
        let Some((_, content)) = value.and_then(typed) else {
            return Ok(());
        };
        if bytes_of_key(&self.name, name, kind, content)? > LONGEST_PARTITION {
            return Err(Refusal::validation(format!(
                "One or more parameter values were invalid: Aggregate size for HASH key attributes exceeds the maximum of \
                 {LONGEST_PARTITION} bytes"
            )));
        }
        Ok(())
    }

    /// Whether an item that was accepted is in the index.
    pub(super) fn has(&self, item: &Map<String, Value>) -> bool {
        let key = self.options.key.as_ref();
        item.contains_key(&self.options.attribute) && key.is_none_or(|(name, _)| item.contains_key(name))
    }

    /// The position of an item in the index; by its place in the table if the index has no partition key.
    pub(super) fn place(&self, item: Option<&Value>, in_table: Place) -> Option<Place> {
        let item = item?.as_object().filter(|item| self.has(item))?;
        match &self.options.key {
            Some((name, kind)) => Schema::new(name, *kind).place(item),
            None => Some(in_table),
        }
    }

    /// The attribute with the vector, and the bytes that its elements are billed at.
    pub(super) fn billed(&self) -> (&str, usize) {
        (&self.options.attribute, ELEMENT * self.options.dimensions)
    }

    /// The `VectorWriteRequestBytes` of a write that leaves this item in the place of that one. Nothing for one that changes nothing.
    pub(super) fn write_bytes(&self, old: Option<&Value>, new: Option<&Value>) -> Option<f64> {
        let bytes = |item: Option<&Value>| {
            let item = item?.as_object().filter(|item| self.has(item))?;
            let mut others = item.clone();
            others.remove(&self.options.attribute);
            let others = size_of_item(&others).unwrap_or_default();
            Some(self.billed().1 + self.options.attribute.len() + others)
        };
        if old == new {
            return None;
        }
        let bytes = bytes(old).max(bytes(new))?.max(LEAST_WRITE);
        #[expect(clippy::cast_precision_loss, reason = "an item has at most 409,600 bytes")]
        Some(bytes as f64)
    }

    /// The types of the attributes of the search schema.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &(String, KeyType)> {
        self.options.key.iter().chain(&self.options.filters)
    }

    /// As `DescribeTable` shows it.
    pub(super) fn describe(&self, arn: &str) -> Value {
        let element =
            |(name, _): &(String, KeyType), role: &str| json!({"AttributeName": name, "SearchSchemaElementType": role});
        let VectorIndexOptions {
            attribute,
            dimensions,
            key,
            filters,
            ..
        } = &self.options;
        let keys = key.iter().map(|key| element(key, "HASH"));
        let schema: Vec<Value> = keys
            .chain(filters.iter().map(|filter| element(filter, "INLINE_FILTER")))
            .collect();
        let mut described = json!({
            "IndexName": self.name,
            "IndexArn": format!("{arn}/index/{}", self.name),
            "IndexStatus": "ACTIVE",
            "VectorAttribute": {"AttributeName": attribute},
            "Dimensions": dimensions,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "ALL"},
        });
        if !schema.is_empty() {
            described["SearchSchema"] = Value::Array(schema);
        }
        described
    }
}

/// The type of a value, and its content.
fn typed(value: &Value) -> Option<(&str, &Value)> {
    let (tag, content) = value.as_object()?.iter().next()?;
    Some((tag, content))
}

/// A number as the service repeats it: `4E+38`.
fn scientific(number: &str) -> String {
    let Ok(number) = number.parse::<f64>() else {
        return number.to_owned();
    };
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}E+{exponent}"),
        _ => text,
    }
}
