//! An update: before it only the names of what it changes are known.

use serde_json::Value;

use super::change::Change;
use super::operation::Operation;
use super::plan::TableCall;
use super::write::replaced;

impl TableCall {
    /// Whether the new item of an update, which decides on what it takes of indexes, is asked for although the caller does not.
    pub(super) fn asks_for_the_new_item(&self) -> bool {
        let asked = self.body["ReturnValues"].as_str().unwrap_or("NONE");
        self.operation == Operation::UpdateItem && asked == "NONE" && self.tables[0].has_indexes()
    }

    /// Charges for an update as its new item shows it.
    pub(super) fn correct_the_update(&mut self, answer: &mut Value) {
        let is_asked_for = self.asks_for_the_new_item();
        if self.operation != Operation::UpdateItem || !self.tables[0].has_indexes() {
            return;
        }
        let asked = self.body["ReturnValues"].as_str();
        if (is_asked_for || asked == Some("ALL_NEW")) && answer["Attributes"].is_object() {
            let table = &self.tables[0];
            let new = &answer["Attributes"];
            let old = replaced(&self.replaced, &self.names[0].1, &table.keys, &self.body["Key"]);
            let taken = table.taken(Change::Put(new), old);
            table.give_back(false, &self.taken[0]);
            table.charge(false, &taken);
            self.entries[0].units = taken.of_pool();
            self.taken[0] = taken;
        }
        if is_asked_for && let Some(members) = answer.as_object_mut() {
            members.remove("Attributes");
        }
    }
}
