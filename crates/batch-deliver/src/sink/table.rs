//! A table of DynamoDB.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::targets::dynamo::{DynamoTable, DynamoWrites, ItemWrite, item_size};
use aws_batch_simulator::Simulator;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{TableDescription, TableStatus, WriteRequest};
use tokio::time::sleep;

use super::destination::{Access, Destination, EntrySize, NOT_PERMITTED, Settings, not_looked_up, simulated_settings};
use super::recognized::{ACCOUNT, KEY, SOURCE_ARN, SOURCE_ID, TABLE_ARN, TABLE_ID, UNKNOWN, of_source};
use super::simulated::SimulatedService;
use crate::connection::{AnswerLimit, Connection, LookupTime, Site, account_of_arn, region_of_arn, settings};
use crate::console;
use crate::format::Key;
use crate::outcome::Failure;

/// Bytes of an item that one write unit writes.
const WRITE_UNIT: usize = 1_024;

/// The unit of the capacity for writes.
const UNIT: &str = "write units";

/// The name of the service in AWS's configuration.
const SERVICE: &str = "DynamoDB";

/// The option that names a table, where there is but one.
const OPTION: &str = "--table";

/// The interval at which a table is looked at that is being created.
const EVERY: Duration = Duration::from_secs(1);

/// The table with this name or ARN, and its key: as given, or as the table says. `None` if it may not be asked.
pub(crate) async fn table(
    name: &str,
    key: Option<Key>,
    access: &Access,
) -> Result<(Destination<DynamoTable>, Option<Key>), Failure> {
    let is_given = key.is_some();
    if access.refuses_unindexed && is_given {
        return Err(without_indexes("leave out --key"));
    }
    let table = Box::pin(reached(name, key.as_ref(), access)).await?;
    // A table whose key is known is asked by the target as well, for its indexes and its throughput.
    let mut target = target(table.client.clone(), name, key.as_ref());
    let key = key.or_else(|| table.key());
    if access.refuses_unindexed {
        if key.is_none() {
            return Err(without_indexes("allow dynamodb:DescribeTable"));
        }
        target = target.refuse_unindexed();
    }
    if (access.is_dry_run || access.refuses_unindexed) && !is_given {
        let what = format!("the table {name}");
        let lookup_time = access.connection.lookup_time;
        lookup_time.wait(&what, Box::pin(target.prepare())).await?;
    }
    Ok((table.with_target(name, target, key.as_ref()), key))
}

fn without_indexes(advice: &str) -> Failure {
    Failure::WrongUse(format!("--refuse-unindexed needs the indexes of the table: {advice}"))
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
        measure: |_, write: &ItemWrite| EntrySize::in_units(write.attributes().map_or(0, item_size), WRITE_UNIT),
        content: None,
        unit: destination.unit,
        settings: destination.settings,
        site: destination.site,
        simulated: None,
        vectors: destination.vectors,
    })
}

/// How a table is reached that is written to. It is not described if its key is given and no journal is to recognize it.
async fn reached(name: &str, key: Option<&Key>, access: &Access) -> Result<ExistingTable, Failure> {
    let connection = access.connection.within(region_of_arn(name), "the table")?;
    match (access.simulate, key) {
        (Some(_), None) => {
            let words = "a simulated table needs its key: --key year:N,title:S";
            Err(Failure::WrongUse(words.to_owned()))
        }
        (Some(rate), Some(key)) => {
            let simulated = SimulatedService::table(name, key, rate);
            let client = simulated.simulator.dynamo_client();
            let settings = simulated_settings(rate);
            Ok(ExistingTable::within(client, Some(simulated), settings))
        }
        (None, Some(_)) if access.is_dry_run => {
            let client = Simulator::new(1).dynamo_client();
            Ok(ExistingTable::within(client, None, Vec::new()))
        }
        _ => {
            let is_described = key.is_none() || access.has_journal;
            let table = of_service(name, &connection, OPTION, is_described).await?;
            Ok(table.with_account(access.has_journal).await)
        }
    }
}

/// The client of the service.
fn client(config: &SdkConfig) -> Client {
    Client::from_conf(Builder::from(config).interceptor(AnswerLimit).build())
}

/// What identifies a table, by these names. One that is created again has another id.
fn identity(described: Option<&TableDescription>, [arn, id]: [&'static str; 2]) -> Settings {
    let Some(table) = described else {
        return vec![(id, UNKNOWN.to_owned())];
    };
    let known = |(name, value): (_, Option<&str>)| Some((name, value?.to_owned()));
    let created = table.creation_date_time().map(|time| time.secs().to_string());
    let id_or_time = (id, table.table_id().or(created.as_deref()));
    [(arn, table.table_arn()), id_or_time]
        .into_iter()
        .filter_map(known)
        .collect()
}

/// A table that is read, or written to.
pub(crate) struct ExistingTable {
    pub(crate) client: Client,
    /// The simulator that has the table, if one has.
    simulated: Option<Arc<SimulatedService>>,
    /// `None` if `DescribeTable` is not permitted, or was not needed.
    description: Option<TableDescription>,
    /// What identifies the service.
    pub(crate) settings: Settings,
    /// Where it is; `None` if it is within this process.
    pub(crate) site: Option<Site>,
    /// The account that has it, once it is [asked for](Self::with_account) or if it is in the table's ARN.
    account: Option<String>,
}

impl ExistingTable {
    /// One that is not outside of this process.
    fn within(client: Client, simulated: Option<SimulatedService>, settings: Settings) -> Self {
        Self {
            client,
            simulated: simulated.map(Arc::new),
            description: None,
            settings,
            site: None,
            account: None,
        }
    }

    /// The same, with the account for a journal, which is asked for if the table may not be described.
    pub(crate) async fn with_account(self, has_journal: bool) -> Self {
        let account = match &self.site {
            Some(site) if has_journal => site.account().await,
            _ => self.account,
        };
        Self { account, ..self }
    }

    pub(crate) fn key(&self) -> Option<Key> {
        self.description.as_ref().and_then(Key::of_table)
    }

    /// The same table as a destination. It is asked for its indexes and its throughput if it may be described; otherwise this is its
    /// key.
    pub(crate) fn destination(&self, name: &str, key: &Key) -> Destination<DynamoTable> {
        let given = self.description.is_none().then_some(key);
        self.with_target(name, target(self.client.clone(), name, given), Some(key))
    }

    /// The same table as the destination of this target. Its key may be unknown.
    fn with_target(&self, name: &str, target: DynamoTable, key: Option<&Key>) -> Destination<DynamoTable> {
        Destination {
            name: name.to_owned(),
            vectors: Some(target.clone()),
            target,
            measure,
            content: None,
            unit: UNIT,
            settings: self.as_target(key),
            site: self.site.clone(),
            simulated: self.simulated.clone(),
        }
    }

    /// What identifies it as the table that is written to, and its service.
    fn as_target(&self, key: Option<&Key>) -> Settings {
        let mut settings = self.settings.clone();
        settings.push((KEY, key.map_or_else(|| UNKNOWN.to_owned(), Key::to_string)));
        // Each run simulates a table of its own.
        if self.simulated.is_none() {
            settings.extend(identity(self.description.as_ref(), [TABLE_ARN, TABLE_ID]));
            settings.extend(self.account.clone().map(|account| (ACCOUNT, account)));
        }
        settings
    }

    /// Whether both are one table.
    pub(crate) fn is_same(&self, name: &str, other: &Self, other_name: &str) -> bool {
        let is_same = match (self.arn(), other.arn()) {
            (Some(arn), Some(other)) => arn == other,
            _ => name == other_name,
        };
        // Emulators have the same ARNs, and each simulated table is another one.
        is_same && self.settings == other.settings && self.simulated.is_none()
    }

    pub(crate) fn arn(&self) -> Option<&str> {
        self.description.as_ref()?.table_arn()
    }

    /// What identifies it as the table that is read, and its service.
    pub(crate) fn as_source(&self) -> Settings {
        let account = self.account.clone().map(|account| (ACCOUNT, account));
        let service = self
            .settings
            .iter()
            .cloned()
            .chain(account)
            .map(|(name, value)| (of_source(name), value));
        // Each run simulates a table of its own.
        let table = match self.simulated {
            Some(_) => Vec::new(),
            None => identity(self.description.as_ref(), [SOURCE_ARN, SOURCE_ID]),
        };
        service.chain(table).collect()
    }

    /// Its items and their bytes, as of up to six hours ago.
    pub(crate) fn size(&self) -> Option<(u64, u64)> {
        let described = self.description.as_ref()?;
        let count = |count: Option<i64>| u64::try_from(count.unwrap_or_default()).unwrap_or_default();
        Some((count(described.item_count()), count(described.table_size_bytes())))
    }
}

/// The table with this name or ARN, which the option gives, and which is read.
pub(crate) async fn existing(name: &str, connection: &Connection, option: &str) -> Result<ExistingTable, Failure> {
    of_service(name, connection, option, true).await
}

/// The table of the service with this name or ARN, which the option gives. It is described if that is needed.
async fn of_service(
    name: &str,
    connection: &Connection,
    option: &str,
    is_described: bool,
) -> Result<ExistingTable, Failure> {
    let connection = connection.within(region_of_arn(name), "the table")?;
    let config = connection.config().await?;
    let client = client(&config);
    let description = if is_described {
        description(&client, name, option, connection.lookup_time).await?
    } else {
        None
    };
    let arn = description.as_ref().and_then(TableDescription::table_arn);
    let account = account_of_arn(arn.unwrap_or(name));
    Ok(ExistingTable {
        site: Some(connection.site(&config, SERVICE, account)),
        account: account.map(ToOwned::to_owned),
        description,
        client,
        simulated: None,
        settings: settings(&config, SERVICE),
    })
}

/// The table of a simulator, which is read.
pub(crate) async fn existing_in(
    simulated: SimulatedService,
    name: &str,
    settings: Settings,
) -> Result<ExistingTable, Failure> {
    let client = simulated.simulator.dynamo_client();
    Ok(ExistingTable {
        description: description(&client, name, OPTION, LookupTime::default()).await?,
        ..ExistingTable::within(client, Some(simulated), settings)
    })
}

/// The description of a table; `None` if `DescribeTable` is not permitted.
async fn description(
    client: &Client,
    table: &str,
    option: &str,
    time: LookupTime,
) -> Result<Option<TableDescription>, Failure> {
    let what = format!("the table {table}");
    let is_creating = AtomicBool::new(false);
    let asked = time.wait(&what, async {
        loop {
            let answer = client.describe_table().table_name(table).send().await;
            let described = answer.as_ref().ok().and_then(|answer| answer.table());
            if described.and_then(TableDescription::table_status) != Some(&TableStatus::Creating) {
                return answer;
            }
            // Until it is there, writes are answered as if there were no such table.
            if !is_creating.swap(true, Relaxed) {
                console::print(&format!("{what} is being created: waiting for it"));
            }
            sleep(EVERY).await;
        }
    });
    let error = match asked.await {
        Err(_) if is_creating.load(Relaxed) => {
            return Err(Failure::Failed(format!("{what} is still being created after {time}")));
        }
        Err(failure) => return Err(failure),
        Ok(Ok(answer)) => return not_deleted(answer.table, &what),
        Ok(Err(error)) => error,
    };
    match error.code() {
        Some(code) if NOT_PERMITTED.contains(&code) => Ok(None),
        Some("ResourceNotFoundException") => Err(Failure::WrongUse(format!(
            "there is no table {table} in this account and region: check {option}, --region and --profile"
        ))),
        _ => Err(not_looked_up(&what, error)),
    }
}

/// The description, unless the table is about to be gone.
fn not_deleted(described: Option<TableDescription>, what: &str) -> Result<Option<TableDescription>, Failure> {
    match described.as_ref().and_then(TableDescription::table_status) {
        Some(TableStatus::Deleting) => Err(Failure::WrongUse(format!("{what} is being deleted"))),
        _ => Ok(described),
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

/// The size of an item, and its write units: one for each started KiB, in which vectors of a vector index count 4 bytes for each
/// dimension. The units of a delete depend on the item in the table.
fn measure(table: &DynamoTable, write: &WriteRequest) -> EntrySize {
    let bytes = match (write.put_request(), write.delete_request()) {
        (Some(put), _) => item_size(put.item()),
        (_, Some(delete)) => item_size(delete.key()),
        _ => 0,
    };
    let units = table.units(write);
    EntrySize { bytes, units }
}
