//! Units: of what is written and read, and in answers.

use std::collections::BTreeMap;

use aws_batch_simulator::item_size;
use serde_json::{Value, json};

/// Bytes that a write unit covers.
const WRITE_UNIT: usize = 1_024;
/// Bytes that a read unit covers.
const READ_UNIT: usize = 4_096;

/// The units of a write of this item. What is not an item takes one unit: the emulator refuses it.
pub(super) fn write_units(item: &Value) -> f64 {
    units(item_size(item).unwrap_or_default(), WRITE_UNIT)
}

/// The units of a read of this many bytes.
pub(super) fn read_units(bytes: usize, is_consistent: bool) -> f64 {
    units(bytes, READ_UNIT) * if is_consistent { 1.0 } else { 0.5 }
}

#[expect(clippy::cast_precision_loss, reason = "a call has 16 MiB at most")]
fn units(bytes: usize, unit: usize) -> f64 {
    bytes.div_ceil(unit).max(1) as f64
}

/// What an answer says that a table and its indexes have consumed. `name` is as in the request.
pub(super) fn said(answer: &Value, name: &str) -> Option<f64> {
    of_table(answer, name)?["CapacityUnits"].as_f64()
}

/// What an answer says that a table has consumed without its indexes. `None` if it is not divided by indexes.
pub(super) fn said_without_indexes(answer: &Value, name: &str) -> Option<f64> {
    of_table(answer, name)?["Table"]["CapacityUnits"].as_f64()
}

/// The units that a call has taken of a table and of its indexes by name.
#[derive(Default)]
pub(super) struct Used<'a> {
    /// As in the request.
    pub(super) name: &'a str,
    /// Without the local indexes.
    pub(super) of_table: f64,
    pub(super) of_globals: BTreeMap<&'a str, f64>,
    pub(super) of_locals: BTreeMap<&'a str, f64>,
}

impl Used<'_> {
    pub(super) fn all(&self) -> f64 {
        self.of_table + self.of_globals.values().chain(self.of_locals.values()).sum::<f64>()
    }
}

fn of_table<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().find(|table| table["TableName"] == name),
        Value::Object(_) => Some(&answer["ConsumedCapacity"]),
        _ => None,
    }
}

/// What only an answer that is divided by indexes has.
const PARTS: [&str; 3] = ["Table", "GlobalSecondaryIndexes", "LocalSecondaryIndexes"];

const UNITS: [&str; 3] = ["CapacityUnits", "ReadCapacityUnits", "WriteCapacityUnits"];

/// The consumed capacity of the answer: as it was asked for, with the units that were charged.
pub(super) fn show<'a>(answer: &mut Value, mode: Option<&str>, is_list: bool, used: impl Iterator<Item = Used<'a>>) {
    let Some(members) = answer.as_object_mut() else { return };
    let Some(mode) = mode else {
        members.remove("ConsumedCapacity");
        return;
    };
    let all: Vec<Value> = used
        .map(|used| {
            let mut shown = of_table(answer, used.name)
                .cloned()
                .unwrap_or_else(|| json!({"TableName": used.name}));
            let members = shown.as_object_mut().into_iter();
            members.for_each(|members| members.retain(|member, _| !PARTS.contains(&member.as_str())));
            let indexes = [
                ("GlobalSecondaryIndexes", &used.of_globals),
                ("LocalSecondaryIndexes", &used.of_locals),
            ];
            // Answers to transactions repeat the units under a name of their kind.
            let is_repeated = |name: &&str| *name == "CapacityUnits" || !shown[*name].is_null();
            let names: Vec<&str> = UNITS.into_iter().filter(is_repeated).collect();
            let part = |units: f64| names.iter().map(|name| (*name, json!(units))).collect::<Value>();
            for name in &names {
                shown[*name] = json!(used.all());
            }
            if mode == "INDEXES" {
                shown["Table"] = part(used.of_table);
                for (kind, indexes) in indexes {
                    for (name, units) in indexes {
                        shown[kind][name] = part(*units);
                    }
                }
            }
            shown
        })
        .collect();
    answer["ConsumedCapacity"] = if is_list {
        Value::Array(all)
    } else {
        all.into_iter().next().unwrap_or(Value::Null)
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn used(name: &str, of_table: f64) -> Used<'_> {
        Used {
            name,
            of_table,
            ..Used::default()
        }
    }

    proptest! {
        /// Units cover the bytes, and not a unit more.
        #[test]
        fn units_cover_the_bytes(text in "[a-z]{0,5000}") {
            let item = json!({"k": {"S": text}});
            let bytes = 1 + text.len();
            let size = f64::from(u32::try_from(bytes).unwrap());
            let writes = write_units(&item);
            prop_assert!(writes * 1_024.0 >= size && (writes - 1.0) * 1_024.0 < size);
            let reads = read_units(bytes, true);
            prop_assert!(reads * 4_096.0 >= size && (reads - 1.0) * 4_096.0 < size);
            prop_assert!((read_units(bytes, false) * 2.0 - reads).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_no_item_takes_a_unit() {
        for item in [json!(null), json!({}), json!({"a": {"N": "many"}}), json!([1])] {
            assert!((write_units(&item) - 1.0).abs() < 1e-9, "{item}");
        }
    }

    #[test]
    fn consumed_capacity_is_shown_as_it_was_asked_for() {
        let with = |mode| {
            let said = json!({"TableName": "orders", "CapacityUnits": 1.0, "LocalSecondaryIndexes": {}});
            let mut answer = json!({ "ConsumedCapacity": said });
            show(&mut answer, mode, false, [used("orders", 3.0)].into_iter());
            answer
        };
        assert_eq!(with(None), json!({}));
        assert_eq!(
            with(Some("TOTAL"))["ConsumedCapacity"],
            json!({"TableName": "orders", "CapacityUnits": 3.0})
        );
        assert_eq!(with(Some("INDEXES"))["ConsumedCapacity"]["Table"]["CapacityUnits"], 3.0);
        let mut answer = json!({});
        show(
            &mut answer,
            Some("TOTAL"),
            true,
            [used("a", 1.0), used("b", 2.0)].into_iter(),
        );
        assert_eq!(
            answer["ConsumedCapacity"][1],
            json!({"TableName": "b", "CapacityUnits": 2.0})
        );
    }
}
