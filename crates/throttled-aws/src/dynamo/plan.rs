//! A call to tables, entry by entry.

use std::sync::Arc;

use serde_json::{Value, json};

use super::consumed::{Used, said, said_without_indexes, show};
use super::operation::Operation;
use super::refusals::{canceled, throttled};
use super::table::Table;
use super::taken::Taken;
use super::write::{TableName, Write, content, replaced, writes};
use crate::plan::{BY_FAULT, Cause, Decision, Entry, Plan};
use crate::refusal::Refusal;
use crate::registry::last_part;

/// The names of the tables of a call, each once; `None` if it takes no capacity.
pub(crate) fn tables_of(operation: &str, body: &Value) -> Option<Vec<TableName>> {
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
    let last_parts = names
        .into_iter()
        .map(|name| (name.clone(), last_part(&name).to_owned()));
    let names: Vec<TableName> = last_parts.collect();
    (!names.is_empty()).then_some(names)
}

/// A call with its tables.
pub(crate) struct TableCall {
    pub(super) operation: Operation,
    pub(super) body: Value,
    pub(super) names: Vec<TableName>,
    pub(super) tables: Vec<Arc<Table>>,
    pub(super) entries: Vec<Entry>,
    pub(super) taken: Vec<Taken>,
    /// The items that it replaces in tables with indexes, as they were read.
    pub(super) replaced: Value,
}

impl TableCall {
    /// `None` if the call has another form, or more than `DynamoDB` takes: the emulator will refuse it. `tables` are those of `names`;
    /// `replaced` is what was read by [`replaced_by`](super::replaced_by).
    pub(crate) fn new(
        operation: &str,
        body: Value,
        names: Vec<TableName>,
        tables: Vec<Arc<Table>>,
        replaced: Value,
    ) -> Option<Self> {
        let mut call = Self {
            operation: Operation::named(operation)?,
            body: Value::Null,
            names,
            tables,
            entries: Vec::new(),
            taken: Vec::new(),
            replaced,
        };
        for write in writes(call.operation, &body, &call.names)? {
            call.add_write(&write, body["ClientRequestToken"].as_str());
        }
        call.add_reads(&body)?;
        call.body = body;
        (!call.entries.is_empty() && !call.is_refused_as_a_whole()).then_some(call)
    }

    fn add_write(&mut self, write: &Write<'_>, known_as: Option<&str>) {
        let table = &self.tables[write.destination];
        let item = write.change.item();
        let old = replaced(&self.replaced, &self.names[write.destination].1, &table.keys, item);
        let mut taken = table.taken(write.change, old);
        taken.of_table *= write.factor;
        self.entries.push(Entry {
            destination: write.destination,
            action: write.change.action(),
            key: table.keys.key_of(item).unwrap_or_else(|| "?".to_owned()),
            units: taken.of_pool(),
            known_as: known_as.map(str::to_owned),
        });
        self.taken.push(taken);
    }
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
            let taken = places.iter().map(|place| &self.taken[*place]);
            let throttled = table.admit(self.operation.is_read(), taken);
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
        if self.asks_for_the_new_item() {
            body["ReturnValues"] = json!("ALL_NEW");
        }
        body
    }

    fn complete(&mut self, answer: &mut Value, decisions: &mut [Decision]) {
        let is_read = self.operation.is_read();
        if self.operation.is_batch() {
            self.mark_unprocessed(answer, decisions);
        }
        self.correct_the_update(answer);
        let mut all = Vec::new();
        for (destination, (name, _)) in self.names.iter().enumerate() {
            let of_it =
                |place: &usize| self.entries[*place].destination == destination && decisions[*place].is_accepted();
            let places: Vec<usize> = (0..self.entries.len()).filter(of_it).collect();
            let Some(first) = places.first() else { continue };
            let table = &self.tables[destination];
            let mut used = Used {
                name,
                ..Used::default()
            };
            for place in &places {
                add(&mut used, &self.taken[*place], table);
            }
            // What the emulator says about indexes of writes is not compared: many count each index of the new item.
            let (said, before) = if is_read || !table.has_indexes() {
                (said(answer, name), used.all())
            } else {
                (said_without_indexes(answer, name), used.of_table)
            };
            // Of an eventually consistent query only half a unit was charged before.
            let said = said.unwrap_or_default().max(self.units_returned(destination, answer));
            let more = said - before;
            if more > 0.0 {
                let taken = table.taken_of(self.body["IndexName"].as_str(), self.taken[*first].place, more);
                add(&mut used, &taken, table);
                table.charge(is_read, &taken);
                self.entries[*first].units += more;
            }
            all.push(used);
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
        for (entry, (taken, decision)) in self.entries.iter().zip(self.taken.iter().zip(decisions)) {
            if decision.is_accepted() {
                self.tables[entry.destination].give_back(self.operation.is_read(), taken);
            }
        }
    }
}

fn add<'a>(used: &mut Used<'a>, taken: &Taken, table: &'a Table) {
    used.of_table += taken.of_table;
    for (index, _, units) in &taken.of_globals {
        *used.of_globals.entry(&table.globals[*index].name).or_default() += units;
    }
    for (index, units) in &taken.of_locals {
        *used.of_locals.entry(&table.locals[*index].name).or_default() += units;
    }
}

fn consumption_mode(body: &Value) -> Option<&str> {
    body["ReturnConsumedCapacity"].as_str().filter(|mode| *mode != "NONE")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::Instant;

    use super::super::consumed::write_units;
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
            let names = tables_of("PutItem", &body).unwrap();
            let tables = vec![Arc::clone(&table)];
            let mut call = TableCall::new("PutItem", body, names, tables, Value::Null).unwrap();
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
            let mut call = TableCall::new("BatchWriteItem", body, names, tables, Value::Null).unwrap();
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
