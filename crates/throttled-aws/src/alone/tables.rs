//! `CreateTable`, `UpdateTable`, `DeleteTable`, `ListTables` and `DescribeTable`.

use std::collections::BTreeMap;

use aws_batch_simulator::{IndexOptions, KeyType, Simulator, TableOptions};
use serde_json::{Value, json};

use super::step::Step;
use crate::config::{AttributeType, Config, KeyAttribute};
use crate::refusal::Refusal;
use crate::registry::last_part;

const DESCRIBE: &str = "DynamoDB_20120810.DescribeTable";
/// Tables on a page at most, from the reference of `ListTables`.
const PAGE: usize = 100;

/// The billing mode and the units of each table, which only its description shows.
pub(super) struct Tables(BTreeMap<String, Billing>);

#[derive(Debug, Clone, Default)]
struct Billing {
    /// `ProvisionedThroughput`; null: on demand.
    provisioned: Value,
    /// Those of each of its indexes by name; null: on demand.
    indexes: BTreeMap<String, Value>,
}

impl Tables {
    /// The tables of the file that have a key.
    pub(super) fn of(config: &Config, simulator: &Simulator) -> Self {
        let mut tables = BTreeMap::new();
        for (name, limits) in config.tables.iter().filter(|(name, _)| *name != "*") {
            let Some(key) = &limits.key else { continue };
            let kind = |key: &KeyAttribute| match key.kind {
                AttributeType::S => KeyType::S,
                AttributeType::N => KeyType::N,
                AttributeType::B => KeyType::B,
            };
            let mut options = TableOptions::key(&key.name, kind(key));
            if let Some(key) = &limits.sort_key {
                options = options.sort_key(&key.name, kind(key));
            }
            simulator.table(name, options);
            let units = limits
                .write_units
                .map(|writes| throughput(writes, limits.read_units.unwrap_or(3.0 * writes)));
            let billing = Billing {
                provisioned: units.unwrap_or_default(),
                ..Billing::default()
            };
            tables.insert(name.clone(), billing);
        }
        Self(tables)
    }

    pub(super) fn step(&mut self, operation: &str, request: &Value, simulator: &Simulator) -> Result<Step, Refusal> {
        let name = last_part(request["TableName"].as_str().unwrap_or_default()).to_owned();
        match operation {
            "CreateTable" => self.create(&name, request, simulator),
            "UpdateTable" => {
                let billing = self.0.get_mut(&name).ok_or_else(not_found)?;
                let mut updates = request["GlobalSecondaryIndexUpdates"].as_array().into_iter().flatten();
                if updates.any(|update| update.get("Update").is_none()) {
                    return Err(invalid(
                        "throttled-aws --alone neither adds nor removes indexes of a table: name them in CreateTable",
                    ));
                }
                if let Some(index) = updated(request).find_map(|update| billing.lacks(update)) {
                    return Err(invalid(&format!("table {name} has no index {index} to update")));
                }
                billing.update(request);
                Ok(self.described(&name, "TableDescription"))
            }
            "DeleteTable" => {
                let described = self.described(&name, "TableDescription");
                self.0.remove(&name);
                let simulator = simulator.clone();
                // It is described before it is gone.
                Ok(match described {
                    Step::Ask(target, request, change) => Step::Ask(
                        target,
                        request,
                        Box::new(move |value| {
                            simulator.remove_table(&name);
                            let mut value = change(value)?;
                            value["TableDescription"]["TableStatus"] = "DELETING".into();
                            Ok(value)
                        }),
                    ),
                    other => other,
                })
            }
            "DescribeTable" if self.0.contains_key(&name) => Ok(self.described(&name, "Table")),
            "ListTables" => Ok(Step::Answer(self.list(request))),
            _ => Ok(Step::Pass),
        }
    }

    fn create(&mut self, name: &str, request: &Value, simulator: &Simulator) -> Result<Step, Refusal> {
        let is_name = |name: &str| {
            (3..=255).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        };
        if !is_name(name) {
            return Err(invalid(
                "TableName must be 3 to 255 characters of a-z, A-Z, 0-9, '_', '-' and '.'",
            ));
        }
        if self.0.contains_key(name) {
            return Err(Refusal::new(
                "ResourceInUseException",
                format!("Table already exists: {name}"),
            ));
        }
        if request["LocalSecondaryIndexes"]
            .as_array()
            .is_some_and(|indexes| !indexes.is_empty())
        {
            return Err(invalid("throttled-aws --alone has no local secondary indexes"));
        }
        let (key, sort) = keys(request, &request["KeySchema"])?;
        let mut options = TableOptions::key(key.0, key.1);
        if let Some((name, kind)) = sort {
            options = options.sort_key(name, kind);
        }
        for index in request["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
            let (key, sort) = keys(request, &index["KeySchema"])?;
            let mut of_index = IndexOptions::key(key.0, key.1);
            if let Some((name, kind)) = sort {
                of_index = of_index.sort_key(name, kind);
            }
            options = options.index(index["IndexName"].as_str().unwrap_or_default(), of_index);
        }
        simulator.table(name, options);
        let mut billing = Billing::default();
        billing.update(request);
        self.0.insert(name.to_owned(), billing);
        Ok(self.described(name, "TableDescription"))
    }

    /// The description of the simulator with its billing.
    fn described(&self, name: &str, member: &'static str) -> Step {
        let billing = self.0.get(name).cloned().unwrap_or_default();
        let change = move |mut value: Value| {
            let mut table = value["Table"].take();
            let mode = if billing.provisioned.is_null() {
                "PAY_PER_REQUEST"
            } else {
                "PROVISIONED"
            };
            table["BillingModeSummary"] = json!({"BillingMode": mode});
            let shown = |units: &Value| {
                if units.is_null() {
                    throughput(0.0, 0.0)
                } else {
                    units.clone()
                }
            };
            table["ProvisionedThroughput"] = shown(&billing.provisioned);
            for index in table["GlobalSecondaryIndexes"].as_array_mut().into_iter().flatten() {
                let name = index["IndexName"].as_str().unwrap_or_default();
                index["ProvisionedThroughput"] = shown(billing.indexes.get(name).unwrap_or(&Value::Null));
            }
            Ok(json!({ member: table }))
        };
        Step::Ask(DESCRIBE, json!({"TableName": name}), Box::new(change))
    }

    fn list(&self, request: &Value) -> Value {
        let after = request["ExclusiveStartTableName"].as_str().unwrap_or_default();
        let most = request["Limit"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(PAGE)
            .clamp(1, PAGE);
        let mut names: Vec<&String> = self.0.keys().filter(|name| name.as_str() > after).collect();
        let has_more = names.len() > most;
        names.truncate(most);
        let mut answer = json!({ "TableNames": names });
        if let (true, Some(last)) = (has_more, names.last()) {
            answer["LastEvaluatedTableName"] = json!(last);
        }
        answer
    }
}

impl Billing {
    fn update(&mut self, request: &Value) {
        let units = |of: &Value| {
            let unit = |kind: &str| of["ProvisionedThroughput"][format!("{kind}CapacityUnits")].as_f64();
            Some(throughput(unit("Write")?, unit("Read")?))
        };
        if request["BillingMode"] == "PAY_PER_REQUEST" {
            self.provisioned = Value::Null;
            self.indexes.values_mut().for_each(|units| *units = Value::Null);
        } else if let Some(units) = units(request) {
            self.provisioned = units;
        }
        let created = request["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
        for index in created.chain(updated(request)) {
            if let Some(name) = index["IndexName"].as_str() {
                let known = self.indexes.entry(name.to_owned()).or_default();
                *known = units(index).unwrap_or_else(|| known.take());
            }
        }
    }

    /// The name of an index that is to be updated and is not there.
    fn lacks<'a>(&self, update: &'a Value) -> Option<&'a str> {
        let name = update["IndexName"].as_str().unwrap_or_default();
        (!self.indexes.contains_key(name)).then_some(name)
    }
}

/// The indexes that a request updates.
fn updated(request: &Value) -> impl Iterator<Item = &Value> {
    let updates = request["GlobalSecondaryIndexUpdates"].as_array().into_iter().flatten();
    updates.filter_map(|update| update.get("Update"))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "units a second, far below the largest number"
)]
fn throughput(writes: f64, reads: f64) -> Value {
    let (writes, reads) = (writes as i64, reads as i64);
    json!({"NumberOfDecreasesToday": 0, "ReadCapacityUnits": reads, "WriteCapacityUnits": writes})
}

type Key = (String, KeyType);

/// The partition key and the sort key of a schema.
fn keys(request: &Value, schema: &Value) -> Result<(Key, Option<Key>), Refusal> {
    let attribute = |role: &str| {
        let keys = schema.as_array()?.iter();
        let name = keys
            .filter(|key| key["KeyType"] == role)
            .find_map(|key| key["AttributeName"].as_str())?;
        let mut definitions = request["AttributeDefinitions"].as_array()?.iter();
        let definition = definitions.find(|definition| definition["AttributeName"] == name)?;
        Some((name.to_owned(), kind(definition["AttributeType"].as_str()?)?))
    };
    let key = attribute("HASH")
        .ok_or_else(|| invalid("KeySchema needs a HASH key that is among the AttributeDefinitions"))?;
    let has_sort = schema.as_array().is_some_and(|keys| keys.len() > 1);
    let sort = attribute("RANGE");
    if has_sort && sort.is_none() {
        return Err(invalid(
            "the second key of KeySchema is a RANGE key that is among the AttributeDefinitions",
        ));
    }
    Ok((key, sort))
}

fn kind(name: &str) -> Option<KeyType> {
    Some(match name {
        "S" => KeyType::S,
        "N" => KeyType::N,
        "B" => KeyType::B,
        _ => return None,
    })
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(
        "ValidationException",
        format!("One or more parameter values were invalid: {message}"),
    )
}

fn not_found() -> Refusal {
    Refusal::new("ResourceNotFoundException", "Requested resource not found")
}
