//! The stream of the received messages.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tracing::warn;

use super::held::{HeldMessages, HeldState, Load};
use super::receive_call::{CallCourse, ReceiveCall};
use super::settling::settle;
use super::ticket::ReceiveProgress;
use super::ticket::{Received, Ticket};
use crate::contract::{BatchTarget, Fault};
use crate::debug::debug_fields;
use crate::delivery::Delivery;
use crate::events::UNSETTLED;
use crate::options::DeliveryOptions;
use crate::producer::Producer;
use crate::report::Cause;
use crate::services::sqs::{ReceiveRequest, Receives, is_fifo};
use crate::sources::error::SourceError;
use crate::time_limit::later;

/// No message comes, and those that were handed out are neither settled nor released: after this time that is worth a warning. It is as
/// long as a handler may run in a request.
const WORTH_A_WARNING: Duration = Duration::from_secs(5 * 60);

/// Why no message comes, if messages that were handed out are neither settled nor released.
const EMPTY: &str = "the queue seems empty";
const NO_ROOM: &str = "no more messages may be received";

/// Why a queue seems empty.
const FULL: &str = "so many messages are set aside that SQS gives out no more of this queue";

/// How much is received.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveBounds {
    /// Messages that are held at most.
    pub(super) window: usize,
    /// Messages that are received at most.
    pub(super) most: u64,
    /// How long the queue is empty at the end.
    pub(super) idle: Option<Duration>,
}

/// The messages of a [`Receive`](super::Receive). After an error the stream ends.
///
/// [`Delivery::try_deliver_stream`] takes it as it is. Dropping it stops the receiving; tickets that were handed out stay good.
pub struct ReceivedMessages {
    producer: Producer<ReceiveCall>,
    held: Arc<HeldMessages>,
    bounds: ReceiveBounds,
    calling: FuturesUnordered<BoxFuture<'static, Result<AnsweredCall, Cause>>>,
    options: DeliveryOptions,
    /// How many calls are to be in flight: one while the queue is empty.
    wanted_calls: usize,
    /// Messages that calls in flight may bring.
    asked: usize,
    /// Messages that were received.
    received: u64,
    /// The queue is empty.
    is_empty: bool,
    has_ended: bool,
    /// When the last change was before the last warning.
    warned_of: Option<Instant>,
    /// Wakes the stream while no call does.
    next_look: Pin<Box<Sleep>>,
    /// What the queue is called in the log.
    destination: String,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// A call that was answered.
struct AnsweredCall {
    asked: usize,
    received: usize,
    /// `None` if it was not made, because the queue had seemed empty to another call.
    left_at: Option<Instant>,
}

impl ReceivedMessages {
    pub(super) fn new(
        client: Client,
        request: ReceiveRequest,
        options: DeliveryOptions,
        bounds: ReceiveBounds,
    ) -> Self {
        let held = Arc::new(HeldMessages::new(
            is_fifo(&request.queue_url),
            request.visibility,
            bounds.window,
        ));
        let (queue_url, visibility) = (request.queue_url.clone(), request.visibility);
        let settling = settle(Arc::clone(&held), client.clone(), queue_url, visibility, bounds.window);
        tokio::spawn(settling);
        // A receive is an entry that nothing but the stream waits for, so it has the time of an entry of a stream.
        let patience = options.patience();
        let cancelled = options.cancellation.clone().cancelled_owned();
        let own = options.clone();
        let options = options
            .give_up_after(patience)
            .buffer(own.concurrency)
            .call_waits(request.wait)
            // A call that is cut off may have hidden messages.
            .cancellation(CancellationToken::new());
        let target = Receives::new(client, request);
        let destination = target.name().into_owned();
        let delivery = Delivery::new(target).options(options);
        Self {
            producer: delivery.producer().ignoring_unclaimed(),
            held,
            bounds,
            calling: FuturesUnordered::new(),
            options: own,
            wanted_calls: 1,
            asked: 0,
            received: 0,
            is_empty: false,
            has_ended: false,
            warned_of: None,
            next_look: Box::pin(sleep_until(Instant::now())),
            destination,
            cancelled: Box::pin(cancelled),
        }
    }

    /// Follows the settlements, for when the stream was given to a delivery.
    pub fn progress(&self) -> ReceiveProgress {
        ReceiveProgress::of(Arc::clone(&self.held))
    }

    /// Makes the calls that are wanted.
    fn receive_on(&mut self) {
        while !self.is_empty && self.calling.len() < self.wanted_calls && self.held.state().is_prepared {
            let load = self.held.state().load();
            let there = load.ready + self.asked;
            let missing = load.wanted.saturating_sub(there);
            // A few are not worth a call, unless half of them is missing.
            if missing == 0 || missing < load.together && there > load.wanted / 2 {
                return;
            }
            let room = self.bounds.window.saturating_sub(load.underway + self.asked);
            let left = self.bounds.most.saturating_sub(self.received);
            let left = usize::try_from(left).unwrap_or(usize::MAX).saturating_sub(self.asked);
            let most = missing.min(load.together).min(room).min(left);
            if most == 0 {
                return;
            }
            self.asked += most;
            self.calling.push(self.receive(most));
        }
    }

    /// Makes a call, and returns what it has brought as soon as that is held.
    fn receive(&self, most: usize) -> BoxFuture<'static, Result<AnsweredCall, Cause>> {
        let course = Arc::new(CallCourse {
            received: AtomicUsize::new(0),
            left_at: Mutex::new(None),
        });
        let call = ReceiveCall::new(Arc::clone(&self.held), most, Arc::clone(&course));
        let receipt = self.producer.try_enqueue(call).map_err(|unmade| match unmade.cause {
            Cause::Closed => self.options.end().unwrap_or(Cause::Closed),
            cause => cause,
        });
        async move {
            receipt?.await.map_err(|undelivered| undelivered.cause)?;
            Ok(AnsweredCall {
                asked: most,
                received: course.received.load(Ordering::Acquire),
                left_at: *course.left_at(),
            })
        }
        .boxed()
    }

    fn has_received(&mut self, answered: &AnsweredCall) {
        self.asked -= answered.asked;
        self.received += answered.received as u64;
        if self.received >= self.bounds.most {
            self.held.change(HeldState::receives_no_more);
        }
        if answered.received > 0 {
            // Even if the queue has seemed empty to another call.
            self.is_empty = false;
            self.wanted_calls = self.options.concurrency.min(self.wanted_calls * 2);
            return;
        }
        let Some(left_at) = answered.left_at else { return };
        self.wanted_calls = 1;
        let load = self.held.state().load();
        if load.is_full {
            let fault = Fault::new("OverLimit").explained(FULL);
            self.held
                .change(|state| state.fail("ReceiveMessage", Cause::Stopped(fault)));
        }
        let Some(idle) = self.bounds.idle else { return };
        // Nothing was in progress while the call waited.
        let is_quiet = load.underway == 0 && load.active_at <= left_at;
        if is_quiet && load.active_at.elapsed() >= idle || self.is_stuck(&load, EMPTY) {
            self.is_empty = true;
        }
    }

    /// Whether messages that were handed out are neither settled nor released: a delivery without a handler of undelivered entries keeps
    /// those until it ends.
    fn is_stuck(&mut self, load: &Load, why_none_comes: &str) -> bool {
        if !load.is_held_up() {
            return false;
        }
        let stuck = load.changed_at.elapsed();
        if stuck >= WORTH_A_WARNING && self.warned_of != Some(load.changed_at) {
            self.warned_of = Some(load.changed_at);
            let (messages, seconds) = (load.handed_out, stuck.as_secs());
            warn!(
                target: UNSETTLED, destination = &*self.destination, messages, seconds,
                "{why_none_comes}, but messages that were handed out are neither settled nor released"
            );
        }
        stuck >= self.options.patience()
    }

    /// Ready when no call may be made because of messages that were handed out, those are stuck, and the stream is to end. To be polled
    /// while no call is in flight: an answer looks for itself.
    fn poll_stuck(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let load = self.held.state().load();
            if !load.is_held_up() {
                return Poll::Pending;
            }
            let is_to_end = self.bounds.idle.is_some() || self.received >= self.bounds.most;
            if self.is_stuck(&load, NO_ROOM) && is_to_end {
                return Poll::Ready(());
            }
            let warning = (self.warned_of != Some(load.changed_at)).then_some(WORTH_A_WARNING);
            let patience = is_to_end.then(|| self.options.patience());
            let Some(next) = warning.into_iter().chain(patience).min() else {
                return Poll::Pending;
            };
            let next = later(load.changed_at, next);
            if self.next_look.deadline() != next {
                self.next_look.as_mut().reset(next);
            }
            ready!(self.next_look.poll_unpin(context));
        }
    }

    /// Whether no call is in flight or wanted, and no message can become ready.
    fn is_over(&self) -> bool {
        if !self.calling.is_empty() {
            return false;
        }
        if self.is_empty {
            return true;
        }
        // The last messages wait behind others of their groups.
        self.received >= self.bounds.most && self.held.state().waiting() == 0
    }

    fn end(&mut self) {
        self.has_ended = true;
        self.calling = FuturesUnordered::new();
        self.held.change(HeldState::close);
    }
}

impl Stream for ReceivedMessages {
    type Item = Result<Received, SourceError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        self.held.stream.register(context.waker());
        if self.cancelled.poll_unpin(context).is_ready() {
            self.end();
            return Poll::Ready(None);
        }
        loop {
            let failure = self.held.state().failure.take();
            if let Some(failure) = failure {
                self.end();
                return Poll::Ready(Some(Err(failure)));
            }
            // The messages of an answer count for the window before more are asked for.
            match self.calling.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(answered))) => {
                    self.has_received(&answered);
                    continue;
                }
                Poll::Ready(Some(Err(cause))) => {
                    self.end();
                    let operation = "ReceiveMessage";
                    return Poll::Ready(Some(Err(SourceError { operation, cause })));
                }
                Poll::Ready(None) | Poll::Pending => {}
            }
            let taken = self.held.state().take();
            let calls = self.calling.len();
            self.receive_on();
            if let Some((number, message)) = taken {
                let ticket = Ticket::new(number, Arc::clone(&self.held));
                return Poll::Ready(Some(Ok(Received { message, ticket })));
            }
            if self.calling.is_empty() && self.poll_stuck(context).is_ready() {
                self.is_empty = true;
            }
            if self.is_over() {
                self.end();
                return Poll::Ready(None);
            }
            if self.calling.len() == calls {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for ReceivedMessages {
    fn drop(&mut self) {
        self.held.change(HeldState::close);
    }
}

debug_fields!(ReceivedMessages, bounds, received);

#[cfg(test)]
mod tests {
    use aws_batch_simulator::{QueueOptions, Simulator};
    use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
    use tokio::time::timeout;

    use super::*;
    use crate::sources::Receive;

    /// SQS hides 120,000 messages of a queue, and answers further receives as if it was empty.
    #[tokio::test(start_paused = true)]
    async fn a_queue_that_seems_empty_because_so_many_are_set_aside_is_an_error() {
        for (aside, is_full) in [(1_000, false), (115_000, true)] {
            let simulator = Simulator::new(1);
            let queue = simulator.queue("orders", QueueOptions::default());
            let receive = Receive::new(simulator.sqs_client(), queue.url());
            let mut messages = receive.until_empty_for(Duration::from_secs(5)).messages();
            let message = |id: u32| {
                Message::builder()
                    .message_id(id.to_string())
                    .receipt_handle(id.to_string())
            };
            messages
                .held
                .has_received((0..aside).map(|id| message(id).build()).collect());
            for _ in 0..aside {
                messages.next().await.unwrap().unwrap().ticket.set_aside();
            }
            let end = messages.next().await.map(Result::unwrap_err);
            let error = end.map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(error.contains("so many messages are set aside"), is_full, "{error}");
            assert!(messages.next().await.is_none());
        }
    }

    /// The last ones that are wanted wait behind another one of their group.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_is_kept_ends_a_receive_that_has_all_it_wants() {
        let group = MessageSystemAttributeName::MessageGroupId;
        let simulator = Simulator::new(1);
        let queue = simulator.queue("orders.fifo", QueueOptions::default());
        let receive = Receive::new(simulator.sqs_client(), queue.url());
        // No renewal of these messages, which the queue does not have.
        let receive = receive.visibility_timeout(Duration::from_secs(60 * 60));
        let mut messages = receive.max(3).messages();
        let message = |id: u32| {
            let message = Message::builder().message_id(id.to_string());
            message
                .receipt_handle(id.to_string())
                .attributes(group.clone(), "group")
                .build()
        };
        messages.held.has_received((0..3).map(message).collect());
        messages.received = 3;
        let begun = Instant::now();
        let kept = messages.next().await.unwrap().unwrap();
        assert_eq!(kept.message.message_id(), Some("0"));
        let end = timeout(Duration::from_secs(2 * 60 * 60), messages.next()).await;
        assert!(end.expect("it ends").is_none());
        assert_eq!(begun.elapsed().as_secs() / 60, 15);
    }
}
