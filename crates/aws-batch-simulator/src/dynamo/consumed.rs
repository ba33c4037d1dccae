//! The consumed capacity in answers.

use serde_json::{Map, Value, json};

use super::table::Table;
use crate::admission::Demand;

/// Bytes that one read unit covers.
const READ_UNIT: usize = 4_096;

/// Read units of this many bytes, which are read together; an eventually consistent read takes half a unit for each.
#[expect(clippy::cast_precision_loss, reason = "an answer has 5,000 units at most")]
pub(super) fn read_units(bytes: usize, is_consistent: bool) -> f64 {
    let started = bytes.div_ceil(READ_UNIT).max(1) as f64;
    if is_consistent { started } else { started / 2.0 }
}

/// Adds what a call has consumed to its answer, if the request asks for it. `consumed` gets whether it asks for the units of the table and
/// of each index, too.
pub(super) fn add_consumed(answer: &mut Value, requested: Option<&str>, consumed: impl FnOnce(bool) -> Value) {
    if let Some("TOTAL" | "INDEXES") = requested {
        answer["ConsumedCapacity"] = consumed(requested == Some("INDEXES"));
    }
}

/// All units, and those of the table itself if the request asks for them.
pub(super) fn units_of_table(name: &str, all: f64, of_table: Option<f64>) -> Value {
    let mut json = json!({"TableName": name, "CapacityUnits": all});
    if let Some(units) = of_table {
        json["Table"] = json!({"CapacityUnits": units});
    }
    json
}

/// Write units that a call has consumed of a table and of its indexes.
pub(super) struct ConsumedUnits {
    table: f64,
    indexes: Vec<f64>,
    vector_bytes: Vec<f64>,
}

impl ConsumedUnits {
    pub(super) fn of<'a>(table: &Table, demands: impl Iterator<Item = &'a Demand>) -> Self {
        let mut consumed = Self {
            table: 0.0,
            indexes: vec![0.0; table.indexes().len()],
            vector_bytes: vec![0.0; table.vector_indexes().len()],
        };
        for demand in demands {
            consumed.table += demand.units;
            for part in &demand.indexes {
                // Vector indexes, which are numbered after the others, have bytes instead.
                if let Some(units) = consumed.indexes.get_mut(part.index) {
                    *units += part.units;
                }
            }
            for (sum, bytes) in consumed.vector_bytes.iter_mut().zip(&demand.vector_bytes) {
                *sum += bytes;
            }
        }
        consumed
    }

    /// As in the answer: the units of the table and its indexes together, and each of them if requested.
    pub(super) fn to_json(&self, name: &str, table: &Table, with_indexes: bool) -> Value {
        let all = self.table + self.indexes.iter().sum::<f64>();
        let mut json = units_of_table(name, all, with_indexes.then_some(self.table));
        if with_indexes {
            let indexes = table.indexes().iter().zip(&self.indexes);
            let indexes: Map<String, Value> = indexes
                .filter(|(_, units)| **units > 0.0)
                .map(|(index, units)| (index.name.clone(), json!({"CapacityUnits": units})))
                .collect();
            if !indexes.is_empty() {
                json["GlobalSecondaryIndexes"] = Value::Object(indexes);
            }
            let vectors = table.vector_indexes().iter().zip(&self.vector_bytes);
            let vectors: Map<String, Value> = vectors
                .filter(|(_, bytes)| **bytes > 0.0)
                .map(|(index, bytes)| (index.name.clone(), json!({"VectorWriteRequestBytes": bytes})))
                .collect();
            if !vectors.is_empty() {
                json["VectorIndexes"] = Value::Object(vectors);
            }
        }
        json
    }

    /// The same for a transaction, whose answers say that they are write units.
    pub(super) fn of_transaction(&self, name: &str, table: &Table, with_indexes: bool) -> Value {
        let mut json = self.to_json(name, table, with_indexes);
        double(&mut json, "WriteCapacityUnits");
        json
    }
}

/// What a repeated transaction has consumed of a table: it reads its items again.
pub(super) fn reread(name: &str, sizes: impl Iterator<Item = usize>, with_table: bool) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "an item has at most 100 units")]
    let units = sizes.map(|size| size.div_ceil(READ_UNIT).max(1) as f64).sum::<f64>() * 2.0;
    let mut json = units_of_table(name, units, with_table.then_some(units));
    double(&mut json, "ReadCapacityUnits");
    json
}

/// Adds the units under another name, wherever there are any.
fn double(json: &mut Value, name: &str) {
    let Some(members) = json.as_object_mut() else { return };
    members.values_mut().for_each(|part| double(part, name));
    if let Some(units) = members.get("CapacityUnits").cloned() {
        members.insert(name.to_owned(), units);
    }
}
