//! A table of DynamoDB.

use std::sync::Arc;

use aws_batch_delivery::targets::dynamo::{DynamoTable, DynamoWrites, ItemWrite, item_size};
use aws_batch_simulator::Simulator;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{TableDescription, WriteRequest};

use super::destination::{Access, Destination, Measured, NOT_PERMITTED, Settings, not_looked_up, simulated_settings};
use super::simulated::Simulated;
use crate::connection::{Connection, LookupTime, region_of_arn, settings};
use crate::format::Key;
use crate::outcome::Failure;

/// Bytes of an item that one write unit writes.
const WRITE_UNIT: usize = 1_024;

/// The unit of the capacity for writes.
const UNIT: &str = "write units";

/// The option that names a table, where there is but one.
const OPTION: &str = "--table";

/// The names of settings that are compared only if both runs know them, because `DescribeTable` may not be permitted.
pub(crate) const OF_DESCRIPTION: [&str; 5] = [TABLE_ARN, SOURCE[0], SOURCE[1], TARGET[0], TARGET[1]];

pub(crate) const TABLE_ARN: &str = "table's ARN";

/// The ARN and the id of a table that is read, and of one that its items are written to. A table that is created again has another id.
const SOURCE: [&str; 2] = ["ARN of the source", "id of the source"];
const TARGET: [&str; 2] = ["ARN of the target", "id of the target"];

/// The table with this name or ARN, and its key: as given, or as the table says. `None` if it may not be asked.
pub(crate) async fn table(
    name: &str,
    key: Option<Key>,
    access: &Access,
) -> Result<(Destination<DynamoTable>, Option<Key>), Failure> {
    let (client, key, settings, simulated) = client(name, key, access).await?;
    let destination = Destination {
        name: name.to_owned(),
        target: target(client, name, key.as_ref()),
        measure,
        unit: UNIT,
        settings,
        simulated,
    };
    Ok((destination, key))
}

/// The same table, for writes with conditions and updates.
pub(crate) fn item_writes(destination: Destination<DynamoTable>) -> Result<Destination<DynamoWrites>, Failure> {
    if destination.simulated.is_some() {
        let words = "a simulated table keeps no items, so it has nothing to compare with a condition or to update";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    Ok(Destination {
        name: destination.name,
        target: destination.target.into(),
        measure: |write: &ItemWrite| Measured::in_units(write.attributes().map_or(0, item_size), WRITE_UNIT),
        unit: destination.unit,
        settings: destination.settings,
        simulated: None,
    })
}

/// The client, the table's key if it is known, and the settings that identify the service and the table.
async fn client(
    name: &str,
    key: Option<Key>,
    access: &Access,
) -> Result<(Client, Option<Key>, Settings, Option<Arc<Simulated>>), Failure> {
    let connection = access.connection.within(region_of_arn(name), "the table")?;
    if let Some(rate) = access.simulate {
        let Some(key) = key else {
            let words = "a simulated table needs its key: --key year:N,title:S";
            return Err(Failure::WrongUse(words.to_owned()));
        };
        let simulated = Simulated::table(name, &key, rate);
        let client = simulated.simulator.dynamo_client();
        return Ok((client, Some(key), simulated_settings(rate), Some(Arc::new(simulated))));
    }
    if let (true, Some(_)) = (access.is_dry_run, &key) {
        return Ok((Simulator::new(1).dynamo_client(), key, Vec::new(), None));
    }
    let config = connection.config().await?;
    let client = Client::new(&config);
    let mut settings = settings(&config);
    let key = if key.is_some() {
        key
    } else {
        let (key, arn) = described(&client, name, connection.lookup_time).await?;
        settings.extend(arn.map(|arn| (TABLE_ARN, arn)));
        key
    };
    Ok((client, key, settings, None))
}

/// A table that is read.
pub(crate) struct Existing {
    pub(crate) client: Client,
    /// The simulator that has the table, if one has.
    simulated: Option<Arc<Simulated>>,
    /// `None` if `DescribeTable` is not permitted.
    description: Option<TableDescription>,
    /// What identifies the service.
    pub(crate) settings: Settings,
}

impl Existing {
    pub(crate) fn key(&self) -> Option<Key> {
        self.description.as_ref().and_then(Key::of_table)
    }

    /// The same table as a destination, if a simulator has it.
    pub(crate) fn simulated_destination(&self, name: &str, key: &Key) -> Option<Destination<DynamoTable>> {
        Some(Destination {
            name: name.to_owned(),
            target: target(self.client.clone(), name, Some(key)),
            measure,
            unit: UNIT,
            settings: self.settings.clone(),
            simulated: Some(Arc::clone(self.simulated.as_ref()?)),
        })
    }

    pub(crate) fn arn(&self) -> Option<&str> {
        self.description.as_ref()?.table_arn()
    }

    /// What identifies it as the table that is read.
    pub(crate) fn as_source(&self) -> Settings {
        self.identity(SOURCE)
    }

    /// What identifies it as the table that is written.
    pub(crate) fn as_target(&self) -> Settings {
        self.identity(TARGET)
    }

    fn identity(&self, [arn, id]: [&'static str; 2]) -> Settings {
        // Each run simulates a table of its own.
        let described = self.description.as_ref().filter(|_| self.simulated.is_none());
        let known = |(name, value): (_, Option<&str>)| Some((name, value?.to_owned()));
        let of_table = described.map(|table| [(arn, table.table_arn()), (id, table.table_id())]);
        of_table.into_iter().flatten().filter_map(known).collect()
    }

    /// Its items and their bytes, as of up to six hours ago.
    pub(crate) fn size(&self) -> Option<(u64, u64)> {
        let described = self.description.as_ref()?;
        let count = |count: Option<i64>| u64::try_from(count.unwrap_or_default()).unwrap_or_default();
        Some((count(described.item_count()), count(described.table_size_bytes())))
    }
}

/// The table with this name or ARN, which the option gives, and which is read.
pub(crate) async fn existing(name: &str, connection: &Connection, option: &str) -> Result<Existing, Failure> {
    let connection = connection.within(region_of_arn(name), "the table")?;
    let config = connection.config().await?;
    let client = Client::new(&config);
    Ok(Existing {
        description: description(&client, name, option, connection.lookup_time).await?,
        client,
        simulated: None,
        settings: settings(&config),
    })
}

/// The table of a simulator, which is read.
pub(crate) async fn existing_in(simulated: Simulated, name: &str, settings: Settings) -> Result<Existing, Failure> {
    let client = simulated.simulator.dynamo_client();
    Ok(Existing {
        description: description(&client, name, OPTION, LookupTime::default()).await?,
        client,
        simulated: Some(Arc::new(simulated)),
        settings,
    })
}

/// The key and the ARN of a table; `None` if `DescribeTable` is not permitted.
async fn described(client: &Client, table: &str, time: LookupTime) -> Result<(Option<Key>, Option<String>), Failure> {
    let described = description(client, table, OPTION, time).await?;
    let arn = described.as_ref().and_then(|table| table.table_arn());
    Ok((described.as_ref().and_then(Key::of_table), arn.map(ToOwned::to_owned)))
}

/// The description of a table; `None` if `DescribeTable` is not permitted.
async fn description(
    client: &Client,
    table: &str,
    option: &str,
    time: LookupTime,
) -> Result<Option<TableDescription>, Failure> {
    let what = format!("the table {table}");
    let ask = client.describe_table().table_name(table).send();
    let error = match time.wait(&what, ask).await? {
        Ok(answer) => return Ok(answer.table),
        Err(error) => error,
    };
    match error.code() {
        Some(code) if NOT_PERMITTED.contains(&code) => Ok(None),
        Some("ResourceNotFoundException") => Err(Failure::WrongUse(format!(
            "there is no table {table} in this account and region: check {option}, --region and --profile"
        ))),
        _ => Err(not_looked_up(&what, error)),
    }
}

pub(super) fn target(client: Client, table: &str, key: Option<&Key>) -> DynamoTable {
    let target = DynamoTable::new(client, table);
    match key {
        None => target,
        Some(Key { partition, sort: None }) => target.key(&partition.name),
        Some(Key {
            partition,
            sort: Some(sort),
        }) => target.key_with_sort(&partition.name, &sort.name),
    }
}

/// The size of an item, and a write unit for each started KiB. The units of a delete depend on the item in the table.
fn measure(write: &WriteRequest) -> Measured {
    let bytes = match (write.put_request(), write.delete_request()) {
        (Some(put), _) => item_size(put.item()),
        (_, Some(delete)) => item_size(delete.key()),
        _ => 0,
    };
    Measured::in_units(bytes, WRITE_UNIT)
}
