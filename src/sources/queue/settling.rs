//! The task that deletes settled messages, keeps the others hidden, and makes released ones visible.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures::future::{BoxFuture, OptionFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{sleep, sleep_until};

use super::held::HeldMessages;
use crate::delivery::Delivery;
use crate::moment::Moment;
use crate::options::DeliveryOptions;
use crate::producer::Producer;
use crate::report::Cause;
use crate::services::sqs::{SqsDeletions, SqsVisibility, VisibilityChange, max_receive_count};
use crate::time_limit::within;

/// Deletions are tried for as long as the entries of a delivery: meanwhile the messages are kept hidden.
const DELETIONS_GIVE_UP_AFTER: Duration = Duration::from_secs(15 * 60);

/// How long the first receive waits for the redrive policy of the queue: as long as a delivery for something that it can do without.
const UP_FRONT: Duration = Duration::from_secs(2);

/// How often the redrive policy is asked for.
const LOOKS_AGAIN: Duration = Duration::from_secs(60 * 60);

/// The same after a call that failed.
const LOOKS_AGAIN_AFTER_FAILURE: Duration = Duration::from_secs(5 * 60);

/// A call that was answered.
enum AnsweredChange {
    Deleted(u64, Result<(), Cause>),
    Released(u64, Result<(), Cause>),
    Renewed(u64, Moment, Duration, Result<(), Cause>),
}

/// Settles what is held until everything is settled.
pub(super) async fn settle(
    held: Arc<HeldMessages>,
    client: Client,
    queue_url: String,
    visibility: Duration,
    window: usize,
) {
    let options = |give_up_after| {
        let options = DeliveryOptions::default().give_up_after(give_up_after);
        options.buffer(window.clamp(1, 100_000))
    };
    let deletions = Delivery::new(SqsDeletions::new(client.clone(), &queue_url))
        .options(options(DELETIONS_GIVE_UP_AFTER))
        .on_undelivered(|_| async {})
        .producer();
    let mut looking = pin!(look_for_policy(&held, client.clone(), &queue_url));
    // What comes later than the timeout is of no use.
    let changes = Delivery::new(SqsVisibility::new(client, &queue_url))
        .options(options(visibility))
        .on_undelivered(|_| async {})
        .producer();
    let mut underway = FuturesUnordered::new();
    loop {
        let work = held.take_work();
        for (number, handle) in work.deletions {
            underway.push(delete(&deletions, number, handle));
        }
        for (number, handle, delay) in work.releases {
            underway.push(release(&changes, number, handle, delay));
        }
        for (number, handle, timeout) in work.renewals {
            underway.push(renew(&changes, number, handle, timeout));
        }
        if work.is_over {
            break;
        }
        let next = OptionFuture::from(work.next.map(sleep_until));
        tokio::select! {
            Some(done) = underway.next() => has_done(&held, done),
            () = held.work.notified() => {}
            () = &mut looking => {}
            Some(()) = pin!(next) => {}
        }
    }
    held.ended.cancel();
}

/// Asks how often a message of the queue is received before it becomes a dead letter, repeatedly: that may be changed while messages are
/// received.
async fn look_for_policy(held: &HeldMessages, client: Client, queue_url: &str) {
    loop {
        let asked = pin!(max_receive_count(client.clone(), queue_url));
        let answer = within(UP_FRONT, asked).await;
        let again = if let Some(Ok(max_receives)) = answer {
            held.change(|state| state.limit_receives(max_receives));
            LOOKS_AGAIN
        } else {
            LOOKS_AGAIN_AFTER_FAILURE
        };
        held.change(|state| state.is_prepared = true);
        sleep(again).await;
    }
}

fn has_done(held: &HeldMessages, done: AnsweredChange) {
    held.change(|state| match done {
        AnsweredChange::Deleted(number, outcome) => state.deleted(number, outcome),
        AnsweredChange::Released(number, outcome) => state.released(number, outcome),
        AnsweredChange::Renewed(number, at, timeout, outcome) => state.renewed(number, at, timeout, outcome),
    });
}

fn delete(deletions: &Producer<String>, number: u64, handle: String) -> BoxFuture<'static, AnsweredChange> {
    let deletions = deletions.clone();
    async move {
        let outcome = deletions.send(handle).await;
        AnsweredChange::Deleted(number, outcome.map(drop).map_err(|undelivered| undelivered.cause))
    }
    .boxed()
}

fn release(
    changes: &Producer<VisibilityChange>,
    number: u64,
    handle: String,
    delay: Duration,
) -> BoxFuture<'static, AnsweredChange> {
    let outcome = change(changes, handle, delay);
    async move { AnsweredChange::Released(number, outcome.await) }.boxed()
}

fn renew(
    changes: &Producer<VisibilityChange>,
    number: u64,
    handle: String,
    timeout: Duration,
) -> BoxFuture<'static, AnsweredChange> {
    let at = Moment::now();
    let outcome = change(changes, handle, timeout);
    async move { AnsweredChange::Renewed(number, at, timeout, outcome.await) }.boxed()
}

fn change(
    changes: &Producer<VisibilityChange>,
    handle: String,
    timeout: Duration,
) -> impl Future<Output = Result<(), Cause>> + use<> {
    let changes = changes.clone();
    async move {
        let outcome = changes.send(VisibilityChange::new(handle, timeout)).await;
        outcome.map(drop).map_err(|undelivered| undelivered.cause)
    }
}
