//! What a run makes, which is deleted in any case.
//!
//! Everything is made in a task of its own: when the run is interrupted, the call is still awaited, so that nothing comes into being
//! after the deletion.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_sdk_dynamodb::operation::delete_table::DeleteTableError;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ProvisionedThroughput, ScalarAttributeType,
    TableStatus, Tag,
};
use aws_sdk_sqs::operation::delete_queue::DeleteQueueError;
use aws_sdk_sqs::operation::get_queue_url::GetQueueUrlError;
use aws_sdk_sqs::types::QueueAttributeName;
use futures::future::join_all;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use crate::name::{RunId, TAG};

/// How long a table may take until it is there, or is gone. A table takes seconds, rarely a minute.
const PATIENCE: Duration = Duration::from_mins(5);
/// Between two looks at a table.
const PAUSE: Duration = Duration::from_millis(500);
/// Until a queue that was created can be used, from the reference of `CreateQueue`, and as much again.
const UNTIL_USABLE: Duration = Duration::from_secs(2);
/// How often it is looked whether something is really not there that may just have been created.
const LOOKS: u32 = 5;

/// How a table is charged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Billing {
    OnDemand,
    /// Units a second.
    Provisioned {
        writes: i64,
        reads: i64,
    },
}

/// The key of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// `id`, a text.
    Id,
    /// `owner`, a text, and `number`.
    OwnerAndNumber,
}

/// A table or a queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Belonging {
    Table(String),
    Queue(String),
}

impl Belonging {
    pub(crate) fn name(&self) -> &str {
        let (Self::Table(name) | Self::Queue(name)) = self;
        name
    }
}

/// Makes tables and queues, and deletes them.
#[derive(Debug)]
pub(crate) struct Belongings {
    run: RunId,
    pub(crate) dynamo: aws_sdk_dynamodb::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    /// Where everything has tags, and is not known everywhere at once. An emulator may have no tags.
    pub(crate) is_aws: bool,
    made: Mutex<BTreeSet<Belonging>>,
    making: TaskTracker,
}

impl Belongings {
    pub(crate) fn new(run: RunId, dynamo: aws_sdk_dynamodb::Client, sqs: aws_sdk_sqs::Client, is_aws: bool) -> Self {
        Self {
            run,
            dynamo,
            sqs,
            is_aws,
            made: Mutex::default(),
            making: TaskTracker::new(),
        }
    }

    fn note(&self, belonging: Belonging) {
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(belonging);
    }

    /// Creates a table and waits until it is active. Returns its name.
    pub(crate) async fn table(&self, what: &str, key: Key, billing: Billing) -> Result<String> {
        let name = self.run.name(what);
        // Before the call: its answer may be lost.
        self.note(Belonging::Table(name.clone()));
        let tag = Tag::builder().key(TAG).value(self.run.to_string()).build()?;
        let mut call = self.dynamo.create_table().table_name(&name).tags(tag);
        for (place, (attribute, kind)) in attributes(key).iter().enumerate() {
            let role = if place == 0 { KeyType::Hash } else { KeyType::Range };
            let definition = AttributeDefinition::builder()
                .attribute_name(*attribute)
                .attribute_type(kind.clone());
            call = call.attribute_definitions(definition.build()?).key_schema(
                KeySchemaElement::builder()
                    .attribute_name(*attribute)
                    .key_type(role)
                    .build()?,
            );
        }
        call = match billing {
            Billing::OnDemand => call.billing_mode(BillingMode::PayPerRequest),
            Billing::Provisioned { writes, reads } => {
                let units = ProvisionedThroughput::builder()
                    .write_capacity_units(writes)
                    .read_capacity_units(reads);
                call.billing_mode(BillingMode::Provisioned)
                    .provisioned_throughput(units.build()?)
            }
        };
        let created = self.making.spawn(call.send()).await?;
        created.map_err(|error| failed("CreateTable", &name, error))?;
        self.is_active(&name).await?;
        Ok(name)
    }

    async fn is_active(&self, name: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let described = self.dynamo.describe_table().table_name(name).send().await;
            let status = match described {
                Ok(output) => output.table.and_then(|table| table.table_status),
                // For a moment after its creation it may not be known everywhere.
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(DescribeTableError::is_resource_not_found_exception) =>
                {
                    None
                }
                Err(error) => return Err(failed("DescribeTable", name, error)),
            };
            if status == Some(TableStatus::Active) {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{name} is not active after {PATIENCE:?}: it is {status:?}");
            }
            sleep(PAUSE).await;
        }
    }

    /// Creates a queue. Returns its URL.
    pub(crate) async fn queue(&self, what: &str, is_fifo: bool) -> Result<String> {
        let name = self.run.name(what) + if is_fifo { ".fifo" } else { "" };
        self.note(Belonging::Queue(name.clone()));
        let mut call = self
            .sqs
            .create_queue()
            .queue_name(&name)
            .tags(TAG, self.run.to_string());
        if is_fifo {
            call = call.attributes(QueueAttributeName::FifoQueue, "true");
        }
        let created = self.making.spawn(call.send()).await?;
        let created = created.map_err(|error| failed("CreateQueue", &name, error))?;
        if self.is_aws {
            sleep(UNTIL_USABLE).await;
        }
        created
            .queue_url
            .with_context(|| format!("the answer to CreateQueue {name} has no URL"))
    }

    /// Deletes everything that this run has made so far. Returns what is left, each with the reason.
    pub(crate) async fn delete_all(&self) -> Vec<(Belonging, anyhow::Error)> {
        // What is just being made is made first. The time limits of the client end this.
        self.making.close();
        self.making.wait().await;
        self.making.reopen();
        let made: Vec<_> = self
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect();
        let left = self.delete(&made).await;
        let mut noted = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        noted.retain(|belonging| left.iter().any(|(left, _)| left == belonging));
        left
    }

    /// Deletes these, all at the same time. Returns what is left.
    pub(crate) async fn delete(&self, belongings: &[Belonging]) -> Vec<(Belonging, anyhow::Error)> {
        let deletions = belongings.iter().map(async |belonging| {
            let deleted = match belonging {
                Belonging::Table(name) => self.delete_table(name).await,
                Belonging::Queue(name) => self.delete_queue(name).await,
            };
            deleted.err().map(|error| (belonging.clone(), error))
        });
        join_all(deletions).await.into_iter().flatten().collect()
    }

    /// Deletes a table and waits until it is gone.
    async fn delete_table(&self, name: &str) -> Result<()> {
        self.begin_to_delete_table(name).await?;
        self.is_gone(name).await
    }

    /// Begins the deletion of a table. A table that is being created cannot be deleted yet.
    async fn begin_to_delete_table(&self, name: &str) -> Result<()> {
        let (deadline, mut looks) = (Instant::now() + PATIENCE, self.looks());
        loop {
            let deleted = self.dynamo.delete_table().table_name(name).send().await;
            let Err(error) = deleted else { return Ok(()) };
            match error.as_service_error() {
                Some(DeleteTableError::ResourceNotFoundException(_)) => {
                    looks -= 1;
                    if looks == 0 {
                        return Ok(());
                    }
                    sleep(UNTIL_USABLE).await;
                }
                Some(DeleteTableError::ResourceInUseException(_) | DeleteTableError::LimitExceededException(_))
                    if Instant::now() < deadline =>
                {
                    // Another process may have begun to delete it.
                    if self.is_deleting(name).await {
                        return Ok(());
                    }
                    sleep(PAUSE).await;
                }
                _ => return Err(failed("DeleteTable", name, error)),
            }
        }
    }

    fn looks(&self) -> u32 {
        if self.is_aws { LOOKS } else { 1 }
    }

    async fn is_deleting(&self, name: &str) -> bool {
        let described = self.dynamo.describe_table().table_name(name).send().await;
        described.is_ok_and(|output| output.table.and_then(|table| table.table_status) == Some(TableStatus::Deleting))
    }

    async fn is_gone(&self, name: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let described = self.dynamo.describe_table().table_name(name).send().await;
            match described {
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(DescribeTableError::is_resource_not_found_exception) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(failed("DescribeTable", name, error)),
                Ok(_) => sleep(PAUSE).await,
            }
        }
        bail!("{name} is being deleted, and still there after {PATIENCE:?}")
    }

    async fn delete_queue(&self, name: &str) -> Result<()> {
        let mut looks = self.looks();
        let url = loop {
            match self.sqs.get_queue_url().queue_name(name).send().await {
                Ok(output) => break output.queue_url,
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(GetQueueUrlError::is_queue_does_not_exist) =>
                {
                    looks -= 1;
                    if looks == 0 {
                        return Ok(());
                    }
                    sleep(UNTIL_USABLE).await;
                }
                Err(error) => return Err(failed("GetQueueUrl", name, error)),
            }
        };
        let url = url.with_context(|| format!("the answer to GetQueueUrl {name} has no URL"))?;
        match self.sqs.delete_queue().queue_url(url).send().await {
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(DeleteQueueError::is_queue_does_not_exist) =>
            {
                Ok(())
            }
            deleted => deleted.map(|_| ()).map_err(|error| failed("DeleteQueue", name, error)),
        }
    }
}

fn attributes(key: Key) -> &'static [(&'static str, ScalarAttributeType)] {
    match key {
        Key::Id => &[("id", ScalarAttributeType::S)],
        Key::OwnerAndNumber => &[("owner", ScalarAttributeType::S), ("number", ScalarAttributeType::N)],
    }
}

pub(crate) fn failed(operation: &str, name: &str, error: impl Into<anyhow::Error>) -> anyhow::Error {
    error.into().context(format!("{operation} {name}"))
}

#[cfg(test)]
mod tests {
    use throttled_aws::{Config, Server};

    use super::*;
    use crate::place::Place;

    async fn emulator() -> Server {
        Server::alone(Config::default(), "127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn what_is_being_made_is_deleted_as_well() {
        let server = emulator().await;
        let place = Place::emulator("emulator", &server.endpoint()).await;
        let making = place.belongings.table("bucket", Key::Id, Billing::OnDemand);
        // It is given up as soon as the call was made.
        tokio::select! {
            biased;
            _ = making => panic!("too fast"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(place.belongings.making.len(), 1);
        assert!(place.belongings.delete_all().await.is_empty());
        assert_eq!(place.belongings.making.len(), 0, "it is made, and then deleted");
        let listed = place.dynamo.list_tables().send().await.unwrap();
        assert!(listed.table_names().is_empty(), "{listed:?}");
    }
}
