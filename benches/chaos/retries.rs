//! Single writes and transactions as applications retry them by hand: each call is repeated until the service has said something of it,
//! and what it says is taken for the fate of the write. The SDK's own retries are off; they do the same, a few times. A transaction keeps
//! its token, as it does in the SDK's retries.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_batch_delivery::Disposition;
use aws_batch_delivery::targets::Acknowledgement;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::TransactWriteItem;
use backon::Retryable;
use futures::{StreamExt, stream};
use tokio::time::timeout;

use crate::chaos::check::Seen;
use crate::chaos::client::Access;
use crate::chaos::ledger::{Fate, Ledger};
use crate::chaos::load::{Entry, Load};
use crate::chaos::mix::Mix;
use crate::chaos::served::Served;
use crate::chaos::trial::runtime;
use crate::chaos::verdicts::{Replay, is_once};
use crate::loops::{LIMIT, full_jitter, may_pass};

/// What is wrong after the deliveries of a mix.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Wrong {
    /// Writes that are said to have failed, and were applied.
    pub(crate) failed: usize,
    /// Writes that must not be applied twice, and were.
    pub(crate) twice: usize,
}

impl Wrong {
    pub(crate) fn of(load: &Load, seen: &Seen) -> Self {
        let replay = Replay::of(load, &seen.journal);
        let mut wrong = Self::default();
        for (number, [applied, _]) in replay.applied.into_iter().enumerate() {
            wrong.failed += usize::from(seen.told.fates[number] == Fate::ConditionFailed && applied > 0);
            wrong.twice += usize::from(is_once(load, number) && applied > 1);
        }
        wrong
    }

    pub(crate) fn is_any(self) -> bool {
        self.failed + self.twice > 0
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, twice } = self;
        write!(f, "{failed} applied writes said to have failed, {twice} applied twice")
    }
}

/// What retries make of the mix, and how long they take; `None` if they exceed the time limit.
pub(crate) fn wrong(mix: &Mix) -> Option<(Wrong, Duration)> {
    let load = Arc::new(Load::of(mix));
    let served = Served::start(mix.service, &mix.faults);
    let access = Access {
        port: served.port,
        conditions: served.conditions.clone(),
        attempt_timeout: Some(mix.attempt_timeout),
        witness: None,
    };
    let (client, ledger) = (access.dynamo(), Ledger::new(load.entries.len()));
    let runtime = runtime(mix.threads);
    let workers = (0..mix.workers).map(|worker| {
        let writes = stream::iter(load.of_worker(worker));
        writes.for_each_concurrent(mix.concurrency, |entry| {
            let (client, ledger) = (&client, &ledger);
            async move { ledger.settle(entry.number, &write(client, &entry).await) }
        })
    });
    let all = futures::future::join_all(workers);
    let started = Instant::now();
    runtime.block_on(async { timeout(LIMIT, all).await }).ok()?;
    let time = started.elapsed();
    let seen = Seen {
        told: ledger.contents(),
        attempts: Vec::new(),
        arrived: served.proxy.attempts(),
        entered: Vec::new(),
        journal: served.resource.journal(),
        stored: served.resource.stored(),
        refused_calls: served.resource.refused_calls(),
    };
    Some((Wrong::of(&load, &seen), time))
}

/// An attempt that is to be repeated.
struct Again;

async fn write(client: &Client, entry: &Entry) -> Disposition {
    let actions = entry.actions();
    let token = format!("write-{}", entry.number);
    let attempt = || async {
        let told = match actions.as_slice() {
            [action] => alone(client, action.clone()).await,
            actions => together(client, actions.to_vec(), &token).await,
        };
        told.ok_or(Again)
    };
    let told = attempt.retry(full_jitter()).sleep(tokio::time::sleep).await;
    told.unwrap_or_else(|Again| unreachable!("it is repeated for as long as it takes"))
}

async fn alone(client: &Client, action: TransactWriteItem) -> Option<Disposition> {
    if let Some(put) = action.put {
        let call = client
            .put_item()
            .table_name(put.table_name)
            .set_item(Some(put.item))
            .set_condition_expression(put.condition_expression);
        return told(call.send().await);
    }
    if let Some(update) = action.update {
        let call = client
            .update_item()
            .table_name(update.table_name)
            .set_key(Some(update.key))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(update.expression_attribute_names)
            .set_expression_attribute_values(update.expression_attribute_values);
        return told(call.send().await);
    }
    let delete = action.delete.expect("each action is one of the three");
    let call = client
        .delete_item()
        .table_name(delete.table_name)
        .set_key(Some(delete.key))
        .set_condition_expression(delete.condition_expression)
        .set_expression_attribute_names(delete.expression_attribute_names)
        .set_expression_attribute_values(delete.expression_attribute_values);
    told(call.send().await)
}

/// `None` if the call is to be repeated.
fn told<O, E: ProvideErrorMetadata + fmt::Debug>(result: Result<O, SdkError<E>>) -> Option<Disposition> {
    match result {
        Ok(_) => Some(Disposition::Delivered(Acknowledgement::default())),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Some(Disposition::ConditionFailed),
        Err(error) => {
            let is_conflict = error.code() == Some("TransactionConflictException");
            assert!(is_conflict || may_pass(&error), "the call is refused: {error:?}");
            None
        }
    }
}

async fn together(client: &Client, actions: Vec<TransactWriteItem>, token: &str) -> Option<Disposition> {
    let call = client
        .transact_write_items()
        .set_transact_items(Some(actions))
        .client_request_token(token);
    let Err(error) = call.send().await else {
        return Some(Disposition::Delivered(Acknowledgement::default()));
    };
    if let Some(TransactWriteItemsError::TransactionCanceledException(canceled)) = error.as_service_error() {
        let mut codes = canceled
            .cancellation_reasons()
            .iter()
            .filter_map(|reason| reason.code());
        let is_failed = codes.any(|code| code == "ConditionalCheckFailed");
        return is_failed.then_some(Disposition::ConditionFailed);
    }
    assert!(may_pass(&error), "the call is refused: {error:?}");
    None
}
