//! A call to tables, entry by entry.

use std::sync::Arc;

use aws_batch_simulator::{Demand, Place, item_size};
use serde_json::{Value, json};

use super::consumed::{Used, read_units, said, said_of_indexes, show, write_units};
use super::operation::Operation;
use super::refusals::{canceled, throttled};
use super::table::Table;
use crate::plan::{BY_FAULT, Cause, Decision, Entry, Plan};
use crate::refusal::Refusal;
use crate::registry::last_part;

/// The actions of a transaction.
const ACTIONS: [&str; 4] = ["Put", "Update", "Delete", "ConditionCheck"];

/// The names of the tables of a call as they are in it, each once; `None` if it takes no capacity.
pub(crate) fn tables_of(operation: &str, body: &Value) -> Option<Vec<String>> {
    let mut names: Vec<String> = match Operation::named(operation)? {
        operation if operation.is_batch() => body["RequestItems"].as_object()?.keys().cloned().collect(),
        Operation::TransactWriteItems => {
            let actions = body["TransactItems"].as_array()?.iter();
            let names = actions.map(|action| Some(content(action)?.1["TableName"].as_str()?.to_owned()));
            names.collect::<Option<Vec<String>>>()?
        }
        _ => vec![body["TableName"].as_str()?.to_owned()],
    };
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then_some(names)
}

/// The name and the content of an action of a transaction.
fn content(action: &Value) -> Option<(&'static str, &Value)> {
    ACTIONS.into_iter().find_map(|name| Some((name, action.get(name)?)))
}

/// A call with its tables.
pub(crate) struct TableCall {
    pub(super) operation: Operation,
    pub(super) body: Value,
    /// As in the request, and without the path of an ARN.
    pub(super) names: Vec<(String, String)>,
    pub(super) tables: Vec<Arc<Table>>,
    pub(super) entries: Vec<Entry>,
    pub(super) demands: Vec<Demanded>,
}

/// What an entry takes.
pub(super) struct Demanded {
    demand: Demand,
    /// The same with negative units.
    pub(super) given_back: Demand,
    /// In the table.
    place: Place,
    /// The units of all indexes together, which the demand has as well.
    of_indexes: f64,
}

impl TableCall {
    /// `None` if the call has another form, which the emulator will refuse. `tables` are those of `names`.
    pub(crate) fn new(operation: &str, body: Value, names: Vec<String>, tables: Vec<Arc<Table>>) -> Option<Self> {
        let names = names
            .into_iter()
            .map(|name| (name.clone(), last_part(&name).to_owned()))
            .collect();
        let mut call = Self {
            operation: Operation::named(operation)?,
            body: Value::Null,
            names,
            tables,
            entries: Vec::new(),
            demands: Vec::new(),
        };
        call.read(&body)?;
        call.body = body;
        (!call.entries.is_empty()).then_some(call)
    }

    fn read(&mut self, body: &Value) -> Option<()> {
        match self.operation {
            Operation::BatchWriteItem => {
                for place in 0..self.names.len() {
                    for write in body["RequestItems"][&self.names[place].0].as_array()? {
                        match (write.get("PutRequest"), write.get("DeleteRequest")) {
                            (Some(put), None) => self.write(place, "put", &put["Item"], write_units(&put["Item"])),
                            (None, Some(delete)) => self.write(place, "delete", &delete["Key"], 1.0),
                            _ => return None,
                        }
                    }
                }
            }
            Operation::BatchGetItem => {
                for place in 0..self.names.len() {
                    let of_table = &body["RequestItems"][&self.names[place].0];
                    for key in of_table["Keys"].as_array()? {
                        self.read_of(place, key, is_consistent(of_table));
                    }
                }
            }
            Operation::TransactWriteItems => {
                for action in body["TransactItems"].as_array()? {
                    let (name, content) = content(action)?;
                    let place = self.names.iter().position(|(name, _)| content["TableName"] == **name)?;
                    // Two units for each, from "Transactions: how it works".
                    match name {
                        "Put" => self.write(place, "put", &content["Item"], 2.0 * write_units(&content["Item"])),
                        "Update" => self.write(place, "update", &content["Key"], 2.0),
                        "Delete" => self.write(place, "delete", &content["Key"], 2.0),
                        _ => self.write(place, "check", &content["Key"], 2.0),
                    }
                }
            }
            Operation::PutItem => self.write(0, "put", &body["Item"], write_units(&body["Item"])),
            Operation::UpdateItem => self.write(0, "update", &body["Key"], 1.0),
            Operation::DeleteItem => self.write(0, "delete", &body["Key"], 1.0),
            Operation::GetItem => self.read_of(0, &body["Key"], is_consistent(body)),
            // The partition is not known from the request; what was read is charged afterwards.
            Operation::Query | Operation::Scan => self.read_of(0, &Value::Null, false),
        }
        Some(())
    }

    fn write(&mut self, destination: usize, action: &'static str, item: &Value, units: f64) {
        let table = &self.tables[destination];
        self.demands.push(Demanded {
            demand: table.demand(item, units),
            given_back: table.demand(item, -units),
            place: table.place(item),
            of_indexes: table.units_of_indexes(item, units),
        });
        let key = table.keys.key_of(item).unwrap_or_else(|| "?".to_owned());
        self.entries.push(Entry {
            destination,
            action,
            key,
            units,
        });
    }

    fn read_of(&mut self, destination: usize, key: &Value, is_consistent: bool) {
        let units = read_units(0, is_consistent);
        let table = &self.tables[destination];
        self.demands.push(Demanded {
            demand: table.read_demand(key, units),
            given_back: table.read_demand(key, -units),
            place: table.place(key),
            of_indexes: 0.0,
        });
        self.entries.push(Entry {
            destination,
            action: "read",
            key: String::new(),
            units,
        });
    }

    /// The units of what a table has returned.
    fn units_returned(&self, place: usize, answer: &Value) -> f64 {
        let size = |item: &Value| item_size(item).unwrap_or_default();
        let items = |list: &Value| list.as_array().into_iter().flatten().map(size).collect::<Vec<usize>>();
        match self.operation {
            Operation::BatchGetItem => {
                let name = &self.names[place].0;
                let is_consistent = is_consistent(&self.body["RequestItems"][name]);
                // Each item for itself.
                items(&answer["Responses"][name])
                    .into_iter()
                    .map(|bytes| read_units(bytes, is_consistent))
                    .sum()
            }
            Operation::GetItem => read_units(size(&answer["Item"]), is_consistent(&self.body)),
            Operation::Query | Operation::Scan => {
                read_units(items(&answer["Items"]).into_iter().sum(), is_consistent(&self.body))
            }
            _ => 0.0,
        }
    }
}

fn is_consistent(request: &Value) -> bool {
    request["ConsistentRead"] == true
}

impl Plan for TableCall {
    fn service(&self) -> &'static str {
        "dynamodb"
    }

    fn destinations(&self) -> Vec<&str> {
        self.names.iter().map(|(_, name)| name.as_str()).collect()
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn admit(&mut self, decisions: &mut [Decision]) {
        for (destination, table) in self.tables.iter().enumerate() {
            let of_it =
                |place: &usize| self.entries[*place].destination == destination && decisions[*place].is_accepted();
            let places: Vec<usize> = (0..self.entries.len()).filter(of_it).collect();
            let demands: Vec<Demand> = places.iter().map(|place| self.demands[*place].demand.clone()).collect();
            let throttled = table.admit(self.operation.is_read(), &demands);
            for (place, throttling) in places.into_iter().zip(throttled) {
                if let Some(throttling) = throttling {
                    decisions[place] = Decision::Throttled(throttling);
                }
            }
        }
    }

    fn refusal(&self, decisions: &[Decision]) -> Option<Refusal> {
        let is_refused = |decision: &Decision| !decision.is_accepted();
        if self.operation == Operation::TransactWriteItems {
            let tables = self.entries.iter().map(|entry| &*self.tables[entry.destination]);
            return decisions
                .iter()
                .any(is_refused)
                .then(|| canceled(tables.zip(decisions)));
        }
        // A call with one entry has no list of those that failed.
        if !self.operation.is_batch()
            && let Some(Decision::Failed { code, .. }) = decisions.first()
        {
            return Some(Refusal::by_fault(500, code.as_deref(), self.service()));
        }
        // A fault may leave everything unprocessed, the capacity answers with an error then.
        let throttlings = self
            .entries
            .iter()
            .zip(decisions)
            .filter_map(|(entry, decision)| match decision {
                Decision::Throttled(throttling) if throttling.cause != Cause::Fault || !self.operation.is_batch() => {
                    Some((&*self.tables[entry.destination], *throttling))
                }
                _ => None,
            });
        let is_error = decisions.iter().all(is_refused) && throttlings.clone().next().is_some();
        is_error.then(|| throttled(throttlings, self.operation.is_read()))
    }

    fn throttle(&self) -> Refusal {
        throttled(
            self.tables.iter().map(|table| (&**table, BY_FAULT)),
            self.operation.is_read(),
        )
    }

    fn request(&self, decisions: &[Decision]) -> Value {
        let is_divided = self.operation.is_batch() && !decisions.iter().all(Decision::is_accepted);
        let members = self.body.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| !is_divided || *name != "RequestItems");
        let mut body: Value = members.map(|(name, value)| (name.clone(), value.clone())).collect();
        if is_divided {
            body["RequestItems"] = Value::Object(self.parts(decisions, Decision::is_accepted));
        }
        // The units of the table alone are not in a total.
        if matches!(consumption_mode(&body), None | Some("TOTAL")) {
            body["ReturnConsumedCapacity"] = json!("INDEXES");
        }
        body
    }

    fn complete(&mut self, answer: &mut Value, decisions: &mut [Decision]) {
        let is_read = self.operation.is_read();
        if self.operation.is_batch() {
            self.mark_unprocessed(answer, decisions);
        }
        let mut all = Vec::new();
        for (destination, (name, _)) in self.names.iter().enumerate() {
            let of_it =
                |place: &usize| self.entries[*place].destination == destination && decisions[*place].is_accepted();
            let places: Vec<usize> = (0..self.entries.len()).filter(of_it).collect();
            let Some(first) = places.first() else { continue };
            let charged: f64 = places.iter().map(|place| self.entries[*place].units).sum();
            // What writes take of indexes was charged to the indexes; reads have one pool.
            let of_indexes = if is_read {
                0.0
            } else {
                let charged = places.iter().map(|place| self.demands[*place].of_indexes).sum();
                said_of_indexes(answer, name).unwrap_or(charged)
            };
            let said = said(answer, name).unwrap_or_default() - of_indexes;
            // Of an eventually consistent query only half a unit was charged before.
            let used = said.max(charged).max(self.units_returned(destination, answer));
            let place = self.demands[*first].place;
            self.tables[destination].charge(is_read, place, used - charged);
            let first = *first;
            self.entries[first].units += used - charged;
            all.push(Used {
                name,
                of_table: used,
                of_indexes,
            });
        }
        let mode = consumption_mode(&self.body).map(str::to_owned);
        let is_list = self.operation.is_batch() || self.operation == Operation::TransactWriteItems;
        show(answer, mode.as_deref(), is_list, all.into_iter());
        if self.operation.is_batch() {
            self.add_unprocessed(answer, decisions);
        }
        // Nothing may have been forwarded.
        if self.operation == Operation::BatchGetItem && answer["Responses"].is_null() {
            answer["Responses"] = json!({});
        }
    }

    fn give_back(&mut self, decisions: &[Decision]) {
        for (entry, (demanded, decision)) in self.entries.iter().zip(self.demands.iter().zip(decisions)) {
            if decision.is_accepted() {
                self.tables[entry.destination].give_back(self.operation.is_read(), &demanded.given_back);
            }
        }
    }
}

fn consumption_mode(body: &Value) -> Option<&str> {
    body["ReturnConsumedCapacity"].as_str().filter(|mode| *mode != "NONE")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::Instant;

    use super::*;
    use crate::config::TableLimits;

    fn described() -> Value {
        json!({"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]})
    }

    fn limits(units: f64) -> TableLimits {
        TableLimits {
            write_units: Some(units),
            starts_full: true,
            partitions: Some(0),
            ..TableLimits::default()
        }
    }

    fn table(units: f64) -> Arc<Table> {
        Arc::new(Table::described(&described(), &limits(units), 1, Instant::now()).unwrap())
    }

    fn write(table: usize, id: usize, bytes: usize) -> Value {
        json!({"PutRequest": {"Item": {"id": {"S": format!("{table}-{id}")}, "text": {"S": "x".repeat(bytes)}}}})
    }

    fn sorted(batch: &Value) -> Vec<String> {
        let lists = batch.as_object().into_iter().flatten();
        let mut all: Vec<String> = lists
            .flat_map(|(name, list)| {
                list.as_array()
                    .unwrap()
                    .iter()
                    .map(move |write| format!("{name} {write}"))
            })
            .collect();
        all.sort();
        all
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_back_is_that_of_the_table_and_of_its_indexes() {
        let index = json!({
            "IndexName": "by_id",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"WriteCapacityUnits": 1, "ReadCapacityUnits": 1},
        });
        let mut described = described();
        described["GlobalSecondaryIndexes"] = json!([index]);
        // The table has 25 units, and the index is to have ten.
        let table = Table::described(&described, &limits(0.0), 1, Instant::now()).unwrap();
        let table = Arc::new(table);
        tokio::time::advance(std::time::Duration::from_secs(10)).await;
        for number in 0..30 {
            let body = json!({"TableName": "table-0", "Item": {"id": {"N": number.to_string()}}});
            let names = vec!["table-0".to_owned()];
            let mut call = TableCall::new("PutItem", body, names, vec![Arc::clone(&table)]).unwrap();
            let mut decisions = [Decision::Accepted];
            call.admit(&mut decisions);
            assert!(decisions[0].is_accepted(), "{number}: {decisions:?}");
            call.give_back(&decisions);
        }
    }

    proptest! {
        /// What is forwarded and what is unprocessed are the call, and what is consumed are the units of what is forwarded.
        #[test]
        fn a_batch_is_divided_and_its_units_are_counted(
            sizes in prop::collection::vec((0_usize..3, 0_usize..6_000), 1..25),
            capacity in 25_u32..100,
        ) {
            let mut items = json!({});
            for (id, (table, bytes)) in sizes.iter().enumerate() {
                let list = &mut items[format!("table-{table}")];
                if list.is_null() {
                    *list = json!([]);
                }
                list.as_array_mut().unwrap().push(write(*table, id, *bytes));
            }
            let body = json!({"RequestItems": items, "ReturnConsumedCapacity": "TOTAL"});
            let names = tables_of("BatchWriteItem", &body).unwrap();
            let tables = names.iter().map(|_| table(f64::from(capacity) / 300.0)).collect();
            let mut call = TableCall::new("BatchWriteItem", body, names, tables).unwrap();
            let mut decisions = vec![Decision::Accepted; call.entries().len()];
            call.admit(&mut decisions);
            prop_assume!(call.refusal(&decisions).is_none());
            let forwarded = call.request(&decisions)["RequestItems"].clone();
            let mut answer = json!({});
            call.complete(&mut answer, &mut decisions);
            let mut divided = [sorted(&forwarded), sorted(&answer["UnprocessedItems"])].concat();
            divided.sort();
            prop_assert_eq!(divided, sorted(&items));
            for consumed in answer["ConsumedCapacity"].as_array().unwrap() {
                let name = consumed["TableName"].as_str().unwrap();
                let writes = forwarded[name].as_array().unwrap();
                let units: f64 = writes.iter().map(|write| write_units(&write["PutRequest"]["Item"])).sum();
                prop_assert_eq!(&consumed["CapacityUnits"], &json!(units));
                // No more than the bucket held.
                prop_assert!(units <= f64::from(capacity) + 0.01, "{} of {}", units, capacity);
            }
        }
    }
}
