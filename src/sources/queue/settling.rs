//! The task that deletes settled messages, keeps the others hidden, and makes released ones visible.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures::future::{BoxFuture, OptionFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep_until};

use super::held::Held;
use crate::delivery::Delivery;
use crate::options::DeliveryOptions;
use crate::producer::Producer;
use crate::report::Cause;
use crate::targets::sqs::{SqsDeletions, SqsVisibility, VisibilityChange};

/// Deletions are tried for as long as the entries of a delivery: meanwhile the messages are kept hidden.
const DELETIONS_GIVE_UP_AFTER: Duration = Duration::from_mins(15);

/// A call that was answered.
enum Done {
    Deleted(u64, Result<(), Cause>),
    Released(u64, Result<(), Cause>),
    Renewed(u64, Instant, Duration, Result<(), Cause>),
}

/// Settles what is held until everything is settled.
pub(super) async fn settle(held: Arc<Held>, client: Client, queue_url: String, visibility: Duration, window: usize) {
    let options = |give_up_after| {
        let options = DeliveryOptions::default().give_up_after(give_up_after);
        options.buffer(window.clamp(1, 100_000))
    };
    let deletions = Delivery::new(SqsDeletions::new(client.clone(), &queue_url))
        .options(options(DELETIONS_GIVE_UP_AFTER))
        .on_undelivered(|_| async {})
        .producer();
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
        for (number, handle) in work.releases {
            underway.push(release(&changes, number, handle));
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
            Some(()) = pin!(next) => {}
        }
    }
    held.ended.cancel();
}

fn has_done(held: &Held, done: Done) {
    match done {
        Done::Deleted(number, outcome) => held.deleted(number, outcome),
        Done::Released(number, outcome) => held.released(number, outcome),
        Done::Renewed(number, at, timeout, outcome) => held.renewed(number, at, timeout, outcome),
    }
}

fn delete(deletions: &Producer<String>, number: u64, handle: String) -> BoxFuture<'static, Done> {
    let deletions = deletions.clone();
    async move {
        let outcome = deletions.send(handle).await;
        Done::Deleted(number, outcome.map(drop).map_err(|undelivered| undelivered.cause))
    }
    .boxed()
}

fn release(changes: &Producer<VisibilityChange>, number: u64, handle: String) -> BoxFuture<'static, Done> {
    let outcome = change(changes, handle, Duration::ZERO);
    async move { Done::Released(number, outcome.await) }.boxed()
}

fn renew(
    changes: &Producer<VisibilityChange>,
    number: u64,
    handle: String,
    timeout: Duration,
) -> BoxFuture<'static, Done> {
    let at = Instant::now();
    let outcome = change(changes, handle, timeout);
    async move { Done::Renewed(number, at, timeout, outcome.await) }.boxed()
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
