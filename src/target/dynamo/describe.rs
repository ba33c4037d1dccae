//! How a table's key becomes known.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::key::KeySchema;
use crate::target::{Answer, Fault, Verdict, verdict};

/// Calls of `DescribeTable`. It is rarely throttled; a connection that fails three times is better reported by the writes.
const TRIES: u32 = 4;

/// The rest after the first of them, doubled after each: 0.7 s in all.
const REST: Duration = Duration::from_millis(100);

/// How long one of them may take. An ordinary one takes some 10 ms.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is known of a table's key, shared by all clones of a table. `None` inside means that nobody may tell.
#[derive(Clone, Default)]
pub(super) struct KnownKey(Arc<OnceCell<Option<KeySchema>>>);

/// Why the key is not known.
enum Unknown {
    /// It may be asked for again.
    Now(Fault),
    /// Asking again is of no use.
    Always(Fault),
}

impl KnownKey {
    pub(super) fn given(schema: KeySchema) -> Self {
        Self(Arc::new(OnceCell::new_with(Some(Some(schema)))))
    }

    pub(super) fn get(&self) -> Option<&KeySchema> {
        self.0.get()?.as_ref()
    }

    /// Asks the service for the key, unless it is known. Who asks at the same time shares the answer.
    pub(super) async fn ask(&self, client: &Client, table: &str, per_call: &Builder) {
        let asked = self.0.get_or_try_init(|| async {
            match describe(client, table, per_call).await {
                Ok(schema) => Ok(Some(schema)),
                Err(Unknown::Always(fault)) => {
                    tell(table, &fault);
                    Ok(None)
                }
                Err(Unknown::Now(fault)) => Err(fault),
            }
        });
        match asked.await {
            // The writes will say it as well, and as an error.
            Err(fault) if fault.code() == "ResourceNotFoundException" => debug!(table, "no such table"),
            Err(fault) => tell(table, &fault),
            Ok(_) => {}
        }
    }
}

fn tell(table: &str, fault: &Fault) {
    warn!(
        table,
        code = fault.code(),
        "DescribeTable failed, so that the table's key is not known and writes of one key may pass each other: allow \
         dynamodb:DescribeTable, or give the key by `key` or `key_with_sort`"
    );
}

async fn describe(client: &Client, table: &str, per_call: &Builder) -> Result<KeySchema, Unknown> {
    let mut rest = REST;
    for _ in 1..TRIES {
        match describe_once(client, table, per_call).await {
            Err(Unknown::Now(fault)) if fault.code() != "ResourceNotFoundException" => {
                debug!(table, code = fault.code(), "DescribeTable failed, and is tried again");
            }
            settled => return settled,
        }
        sleep(rest).await;
        rest *= 2;
    }
    describe_once(client, table, per_call).await
}

async fn describe_once(client: &Client, table: &str, per_call: &Builder) -> Result<KeySchema, Unknown> {
    let call = client
        .describe_table()
        .table_name(table)
        .customize()
        .config_override(per_call.clone());
    let Ok(answer) = timeout(TIMEOUT, call.send()).await else {
        return Err(Unknown::Now(Fault::new("timeout")));
    };
    match answer {
        Ok(output) => output
            .table()
            .and_then(KeySchema::described)
            .ok_or_else(|| Unknown::Now(Fault::new("no key in the description"))),
        Err(error) => Err(match verdict::of_call(error) {
            // It may be made one day.
            Answer::Stop(fault) if fault.code() == "ResourceNotFoundException" => Unknown::Now(fault),
            Answer::Stop(fault) | Answer::Whole(Verdict::Refused(fault)) => Unknown::Always(fault),
            Answer::Whole(Verdict::Rejected(_, fault)) => Unknown::Now(fault),
            Answer::Whole(Verdict::Accepted) | Answer::Each(_) => Unknown::Now(Fault::new("no description")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::DynamoTable;
    use super::super::testing::{client, put, text};
    use super::*;
    use crate::target::BatchTarget;
    use crate::target::recording::Recorder;

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
        assert_eq!(table.lane(&write), None);
        let another = table.clone();
        tokio::join!(table.prepare(), another.prepare());
        table.prepare().await;
        assert!(table.lane(&write).is_some());
        assert!(table.check(&put([("name", text("a"))])).is_err());
        assert_eq!(recorder.only_request().body, r#"{"TableName":"orders"}"#);
    }

    #[tokio::test]
    async fn a_given_key_is_not_asked_for() {
        let recorder = Recorder::answering(200, DESCRIPTION);
        let table = DynamoTable::new(client(&recorder), "orders").key("name");
        table.prepare().await;
        assert_eq!(recorder.requests(), 0);
        assert!(table.lane(&put([("name", text("a"))])).is_some());
        assert!(table.check(&put([("id", text("a"))])).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn without_permission_it_is_asked_for_once_and_goes_without() {
        for code in ["AccessDeniedException", "UnknownOperationException"] {
            let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no"}}"#);
            let (table, recorder) = prepared(400, body.leak()).await;
            table.prepare().await;
            assert_eq!(recorder.requests(), 1);
            assert_eq!(table.lane(&put([("id", text("a"))])), None);
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

    #[tokio::test(start_paused = true)]
    async fn a_passing_failure_is_tried_again_a_few_times() {
        let (table, recorder) = prepared(500, "").await;
        assert_eq!(recorder.requests(), TRIES as usize);
        table.prepare().await;
        assert_eq!(recorder.requests(), 2 * TRIES as usize);
    }
}
