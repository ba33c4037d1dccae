//! The consumed capacity in answers.

use serde_json::{Map, Value, json};

use super::table::Table;
use crate::admission::Demand;

/// Write units that a call has consumed of a table and of its indexes.
pub(super) struct Consumed {
    table: f64,
    indexes: Vec<f64>,
}

impl Consumed {
    pub(super) fn of<'a>(table: &Table, demands: impl Iterator<Item = &'a Demand>) -> Self {
        let mut consumed = Self {
            table: 0.0,
            indexes: vec![0.0; table.indexes().len()],
        };
        for demand in demands {
            consumed.table += demand.units;
            for part in &demand.indexes {
                consumed.indexes[part.index] += part.units;
            }
        }
        consumed
    }

    /// As in the answer: the units of the table and its indexes together, and each of them if requested.
    pub(super) fn to_json(&self, name: &str, table: &Table, with_indexes: bool) -> Value {
        let all = self.table + self.indexes.iter().sum::<f64>();
        let mut json = json!({"TableName": name, "CapacityUnits": all});
        if with_indexes {
            json["Table"] = json!({"CapacityUnits": self.table});
            let indexes = table.indexes().iter().zip(&self.indexes);
            let indexes: Map<String, Value> = indexes
                .filter(|(_, units)| **units > 0.0)
                .map(|(index, units)| (index.name.clone(), json!({"CapacityUnits": units})))
                .collect();
            if !indexes.is_empty() {
                json["GlobalSecondaryIndexes"] = Value::Object(indexes);
            }
        }
        json
    }
}
