//! Asks for the key of a table, and its throughput.

use tracing::{debug, warn};

use super::calls::DynamoCalls;
use super::index_keys::IndexKeys;
use super::key::KeySchema;
use super::throughput;
use super::vectors::VectorIndexes;
use crate::contract::{Advice, Fault, Lookup, LookupError};
use crate::events::LOOKUP;

/// What is known of a table.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) key: KeySchema,
    pub(super) index_keys: IndexKeys,
    pub(super) vectors: VectorIndexes,
    /// Write units a second, as far as the service reported them.
    pub(super) throughput: Option<f64>,
}

impl Description {
    /// The caller gave the key, and the service is not asked.
    pub(super) fn given(key: KeySchema) -> Lookup<Self> {
        Lookup::given(Self {
            key,
            index_keys: IndexKeys::default(),
            vectors: VectorIndexes::default(),
            throughput: None,
        })
    }
}

/// The code of a table that does not exist.
pub(super) const NO_TABLE: &str = "ResourceNotFoundException";

/// What a table is asked for.
pub(super) fn lookup() -> Lookup<Description> {
    Lookup::by("DescribeTable")
}

/// Asks the service for the table's key, unless it is known.
pub(super) async fn ask(description: &Lookup<Description>, calls: &DynamoCalls, table: &str, destination: &str) {
    let Err(fault) = description.ask(|| describe(calls, table)).await else {
        return;
    };
    let code = fault.code();
    if code == NO_TABLE {
        // The writes will fail with the same error, so no warning is needed.
        return debug!(target: LOOKUP, destination, code, "no such table");
    }
    let advice = match LookupError::advice(&fault) {
        Advice::Permit => "allow dynamodb:DescribeTable, or give the key",
        Advice::DoWithout => "give the key",
        Advice::Wait => "it is asked again later; give the key to avoid the call",
    };
    warn!(
        target: LOOKUP,
        destination,
        code,
        advice,
        "DescribeTable failed: without the table's key, one call at a time is made to keep the order"
    );
}

async fn describe(calls: &DynamoCalls, table: &str) -> Result<Description, LookupError> {
    let output = calls.describe(table).await?;
    let description = output.table().and_then(|table| {
        Some(Description {
            key: KeySchema::described(table)?,
            index_keys: IndexKeys::described(table),
            vectors: VectorIndexes::described(table),
            throughput: throughput::described(table),
        })
    });
    description.ok_or_else(|| LookupError::NotNow(Fault::new("no key in the description")))
}

#[cfg(test)]
mod tests {
    use super::super::DynamoTable;
    use super::super::testing::{client, put, text};
    use crate::aws::recording::Recorder;
    use crate::contract::{BatchTarget, Lane};

    const DESCRIPTION: &str = r#"{"Table":{
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}"#;

    async fn prepared(status: u16, body: &'static str) -> (DynamoTable, Recorder) {
        let recorder = Recorder::answering(status, body);
        let table = DynamoTable::new(client(&recorder), "orders");
        table.prepare().await;
        (table, recorder)
    }

    #[tokio::test]
    async fn the_service_is_asked_once_however_many_deliveries_begin() {
        let recorder = Recorder::answering(200, DESCRIPTION);
        let table = DynamoTable::new(client(&recorder), "orders");
        let write = put([("id", text("a"))]);
        assert_eq!(table.lane(&write), Some(Lane::unknown()));
        let another = table.clone();
        tokio::join!(table.prepare(), another.prepare());
        table.prepare().await;
        assert_ne!(table.lane(&write), Some(Lane::unknown()));
        assert!(table.check(&put([("name", text("a"))])).is_err());
        assert_eq!(recorder.only_request().body, r#"{"TableName":"orders"}"#);
    }

    #[tokio::test]
    async fn a_given_key_is_not_asked_for() {
        let recorder = Recorder::answering(200, DESCRIPTION);
        let table = DynamoTable::new(client(&recorder), "orders").key("name");
        table.prepare().await;
        assert_eq!(recorder.requests(), 0);
        assert_ne!(table.lane(&put([("name", text("a"))])), Some(Lane::unknown()));
        assert!(table.check(&put([("id", text("a"))])).is_err());
    }

    #[tokio::test]
    async fn the_description_has_the_throughput_as_well() {
        const PROVISIONED: &str = r#"{"Table":{
            "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
            "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
            "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":700}}}"#;
        let (table, _) = prepared(200, PROVISIONED).await;
        assert_eq!(table.throughput(), Some(700.0));
        let (table, _) = prepared(200, DESCRIPTION).await;
        assert_eq!(table.throughput(), None);
        assert_eq!(table.key("id").throughput(), None);
    }

    /// Before the index, with it, and without it again.
    #[tokio::test(start_paused = true)]
    async fn an_index_that_is_added_or_removed_is_found_when_a_write_is_refused() {
        const WITH_INDEX: &str = r#"{"Table":{
            "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
            "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"at","AttributeType":"N"}],
            "GlobalSecondaryIndexes":[{"IndexName":"g","KeySchema":[{"AttributeName":"at","KeyType":"HASH"}]}]}}"#;
        const REFUSED: &str =
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"Type mismatch for Index Key"}"#;
        let answers = [
            (200, DESCRIPTION),
            (400, REFUSED),
            (200, WITH_INDEX),
            (200, DESCRIPTION),
        ];
        let recorder = Recorder::answering_in_turn(answers);
        let table = DynamoTable::new(client(&recorder), "orders");
        let write = put([("id", text("a")), ("at", text("x"))]);
        table.prepare().await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert!(table.check(&write).is_ok() && table.preparation_fault().is_none());
        table.send(std::slice::from_ref(&write)).await;
        assert!(table.preparation_fault().is_some(), "the delivery prepares again");
        table.prepare().await;
        assert!(table.check(&write).is_err());
        table.prepare().await;
        assert_eq!(recorder.requests(), 3, "the newest answer is not a minute old");
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert!(table.preparation_fault().is_some());
        table.prepare().await;
        assert!(table.check(&write).is_ok() && table.preparation_fault().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn without_permission_the_service_is_asked_once() {
        for code in ["AccessDeniedException", "UnknownOperationException"] {
            let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no"}}"#);
            let (table, recorder) = prepared(400, body.leak()).await;
            table.prepare().await;
            assert_eq!(recorder.requests(), 1);
            assert_eq!(table.lane(&put([("id", text("a"))])), Some(Lane::unknown()));
            assert!(table.check(&put([("id", text("a"))])).is_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_table_is_asked_for_again_by_the_next_delivery() {
        let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}"#;
        let (table, recorder) = prepared(400, body).await;
        assert_eq!(recorder.requests(), 1);
        table.prepare().await;
        assert_eq!(recorder.requests(), 2);
    }
}
