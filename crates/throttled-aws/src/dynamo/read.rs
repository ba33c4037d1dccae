//! What a read takes: before it a unit or half of one, afterwards what it has returned.

use aws_batch_simulator::{Place, item_size};
use serde_json::Value;

use super::consumed::read_units;
use super::operation::Operation;
use super::plan::TableCall;
use crate::plan::Entry;

impl TableCall {
    /// Adds the reads of a call, if it reads. `None` if it has another form.
    pub(super) fn add_reads(&mut self, body: &Value) -> Option<()> {
        match self.operation {
            Operation::BatchGetItem => {
                for place in 0..self.names.len() {
                    let of_table = &body["RequestItems"][&self.names[place].0];
                    for key in of_table["Keys"].as_array()? {
                        let position = self.tables[place].place(key);
                        self.add_read(place, position, None, is_consistent(of_table));
                    }
                }
            }
            Operation::GetItem => {
                let position = self.tables[0].place(&body["Key"]);
                self.add_read(0, position, None, is_consistent(body));
            }
            // What was read is charged afterwards.
            Operation::Query | Operation::Scan => {
                let position = self.tables[0].place_of_page(body);
                self.add_read(0, position, body["IndexName"].as_str(), false);
            }
            _ => {}
        }
        Some(())
    }

    fn add_read(&mut self, destination: usize, place: Place, index: Option<&str>, is_consistent: bool) {
        let units = read_units(0, is_consistent);
        let table = &self.tables[destination];
        self.taken.push(table.taken_of(index, place, units));
        self.entries.push(Entry {
            destination,
            action: "read",
            key: String::new(),
            units,
            known_as: None,
        });
    }

    /// The units of what a table has returned.
    pub(super) fn units_returned(&self, place: usize, answer: &Value) -> f64 {
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
