//! A secondary index: what it stores of an item, and what a write takes of it.

use std::collections::BTreeSet;

use aws_batch_simulator::Place;
use serde_json::{Map, Value};

use super::consumed::write_units;
use super::keys::Keys;

/// A global or a local index.
pub(super) struct Index {
    pub(super) name: String,
    pub(super) keys: Keys,
    /// The names of the attributes that it stores; `None`: all.
    stored: Option<BTreeSet<String>>,
}

impl Index {
    /// From its part of `DescribeTable`.
    pub(super) fn described(described: &Value, table: &Keys) -> Option<Self> {
        let keys = Keys::of(&described["KeySchema"])?;
        let projection = &described["Projection"];
        let added = projection["NonKeyAttributes"].as_array().into_iter().flatten();
        let added = added.filter_map(Value::as_str).map(str::to_owned);
        let stored = match projection["ProjectionType"].as_str() {
            Some("KEYS_ONLY" | "INCLUDE") => {
                let of_keys = keys.names().chain(table.names()).map(str::to_owned);
                Some(of_keys.chain(added).collect())
            }
            _ => None,
        };
        Some(Self {
            name: described["IndexName"].as_str()?.to_owned(),
            keys,
            stored,
        })
    }

    /// What a write that replaces one item by another takes: the places in the index, and the units. An index is charged for the
    /// change of what it stores, from "Provisioned throughput considerations for Global Secondary Indexes".
    pub(super) fn taken(&self, old: Option<&Value>, new: Option<&Value>) -> Vec<(Place, f64)> {
        let view = |item: Option<&Value>| {
            let item = item?;
            let place = self.keys.place(item)?;
            let key = self.keys.key_of(item)?;
            Some((key, place, self.view(item)))
        };
        match (view(old), view(new)) {
            (Some((_, _, before)), Some((_, _, after))) if before == after => Vec::new(),
            (Some((from, _, before)), Some((to, place, after))) if from == to => {
                vec![(place, write_units(&before).max(write_units(&after)))]
            }
            // It is deleted in one place and put in another.
            (old, new) => {
                let parts = old.into_iter().chain(new);
                parts.map(|(_, place, view)| (place, write_units(&view))).collect()
            }
        }
    }

    /// What an update may take, of which only the names of the changed attributes are known.
    pub(super) fn may_take(&self, old: Option<&Value>, changed: &BTreeSet<&str>) -> Option<(Place, f64)> {
        let has_changed_key = self.keys.names().any(|name| changed.contains(name));
        match old.and_then(|old| Some((old, self.keys.place(old)?))) {
            Some((old, place)) => {
                let is_stored = |name: &&str| self.stored.as_ref().is_none_or(|stored| stored.contains(*name));
                let is_changed = has_changed_key || changed.iter().any(is_stored);
                is_changed.then(|| (place, write_units(&self.view(old))))
            }
            // The update may add its key.
            None => has_changed_key.then(|| (Place::default(), 1.0)),
        }
    }

    /// What it stores of an item.
    fn view(&self, item: &Value) -> Value {
        let Some(stored) = &self.stored else {
            return item.clone();
        };
        let members = item.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| stored.contains(*name));
        let view: Map<String, Value> = members.map(|(name, value)| (name.clone(), value.clone())).collect();
        Value::Object(view)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::change::changed_by;
    use super::*;

    /// An index of `g` with the attribute `p`, in a table with the key `k`.
    fn index() -> Index {
        let keys = Keys::of(&json!([{"AttributeName": "k", "KeyType": "HASH"}])).unwrap();
        let described = json!({
            "IndexName": "by_g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["p"]},
        });
        Index::described(&described, &keys).unwrap()
    }

    fn item(members: &Value) -> Option<Value> {
        let mut item = members.as_object()?.clone();
        item.values_mut().for_each(|value| *value = json!({"S": value}));
        item.insert("k".to_owned(), json!({"S": "1"}));
        Some(Value::Object(item))
    }

    /// nubo-db/dynoxide#176 has these figures, measured on `DynamoDB` in August 2026.
    #[test]
    fn an_index_is_charged_for_the_change_of_what_it_stores() {
        for (old, new, units) in [
            (json!(null), json!({"g": "a", "p": "x"}), vec![1.0]),
            (json!(null), json!({"other": "x"}), vec![]),
            (json!({"g": "a", "p": "x"}), json!({"g": "a", "p": "x"}), vec![]),
            (json!({"g": "a", "o": "x"}), json!({"g": "a", "o": "y"}), vec![]),
            (json!({"g": "a", "p": "x"}), json!({"g": "a", "p": "y"}), vec![1.0]),
            (json!({"g": "a", "p": "x"}), json!({"g": "b", "p": "x"}), vec![1.0, 1.0]),
            (json!({"g": "a", "p": "x"}), json!({"p": "x"}), vec![1.0]),
            (json!({"g": "a", "p": "x"}), json!(null), vec![1.0]),
            (json!({"o": "a"}), json!(null), vec![]),
            (
                json!({"g": "a", "p": "x".repeat(1_500)}),
                json!({"g": "b", "o": "x".repeat(9_000)}),
                vec![2.0, 1.0],
            ),
        ] {
            let taken = index().taken(item(&old).as_ref(), item(&new).as_ref());
            let taken: Vec<f64> = taken.into_iter().map(|(_, units)| units).collect();
            assert_eq!(taken, units, "{old} {new}");
        }
    }

    #[test]
    fn an_update_takes_of_an_index_only_if_it_may_change_what_that_stores() {
        let names = json!({"#g": "g", "#n": "nested"});
        for (old, expression, is_taken) in [
            (json!({"g": "a"}), "SET p = :p", true),
            (json!({"g": "a"}), "SET other = :p", false),
            (json!({"g": "a"}), "SET #n.p[0] = :p, m.#g = :g", false),
            (json!({"g": "a"}), "REMOVE #g", true),
            (json!({"g": "a"}), "ADD p.q :p", true),
            (json!({"o": "a"}), "SET #g=:g", true),
            (json!({"o": "a"}), "SET p = if_not_exists(p, :p)", false),
            (json!(null), "SET other = :p, #g = :g", true),
        ] {
            let update = json!({"UpdateExpression": expression, "ExpressionAttributeNames": names});
            let taken = index().may_take(item(&old).as_ref(), &changed_by(&update));
            assert_eq!(taken.is_some(), is_taken, "{old} {expression}");
        }
        let older = json!({"AttributeUpdates": {"g": {"Action": "DELETE"}}});
        assert!(
            index()
                .may_take(item(&json!({"g": "a"})).as_ref(), &changed_by(&older))
                .is_some()
        );
    }
}
