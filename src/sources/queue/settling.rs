//! The task that deletes settled messages, keeps the others hidden, and makes released ones visible.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures::future::{BoxFuture, OptionFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{sleep, sleep_until};

use super::held::{HeldMessages, HeldState};
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

/// Notes the answer to a call.
type AnsweredChange = Box<dyn FnOnce(&mut HeldState) + Send>;

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
            underway.push(send(&deletions, handle, move |state, outcome| {
                state.deleted(number, outcome);
            }));
        }
        for (number, handle, delay) in work.releases {
            let change = VisibilityChange::new(handle, delay);
            underway.push(send(&changes, change, move |state, outcome| {
                state.released(number, outcome);
            }));
        }
        for (number, handle, timeout) in work.renewals {
            let (change, at) = (VisibilityChange::new(handle, timeout), Moment::now());
            underway.push(send(&changes, change, move |state, outcome| {
                state.renewed(number, at, timeout, outcome);
            }));
        }
        if work.is_over {
            break;
        }
        let next = OptionFuture::from(work.next.map(sleep_until));
        tokio::select! {
            Some(answered) = underway.next() => held.change(answered),
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

/// Sends an entry, and then notes what has become of it.
fn send<E: Send + Sync + 'static>(
    producer: &Producer<E>,
    entry: E,
    note: impl FnOnce(&mut HeldState, Result<(), Cause>) + Send + 'static,
) -> BoxFuture<'static, AnsweredChange> {
    let producer = producer.clone();
    async move {
        let outcome = producer.send(entry).await;
        let outcome = outcome.map(drop).map_err(|undelivered| undelivered.cause);
        let answered: AnsweredChange = Box::new(move |state| note(state, outcome));
        answered
    }
    .boxed()
}
