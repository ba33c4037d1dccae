//! The stream of the received messages.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::Message;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream, StreamExt};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::held::Held;
use super::progress::ReceiveError;
use super::settling::settle;
use super::ticket::ReceiveProgress;
use super::ticket::{Received, Ticket};
use crate::delivery::Delivery;
use crate::options::DeliveryOptions;
use crate::producer::Producer;
use crate::report::Cause;
use crate::targets::sqs::{MAX_MESSAGES, ReceiveRequest, Receives, Receiving, is_fifo};

/// How much is received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
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
    held: Arc<Held>,
    bounds: Bounds,
    calling: FuturesUnordered<BoxFuture<'static, Result<Answered, Cause>>>,
    /// How many calls may be in flight at once.
    concurrency: usize,
    /// How many calls are to be in flight: one while the queue is empty.
    wanted_calls: usize,
    /// Messages that calls in flight may bring.
    asked: usize,
    /// Messages that were received.
    received: u64,
    /// The queue is empty.
    is_empty: bool,
    has_ended: bool,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// A call that was answered.
struct Answered {
    asked: usize,
    received: usize,
    /// `None` if it was not made, because the queue had seemed empty to another call.
    left_at: Option<Instant>,
}

impl ReceivedMessages {
    pub(super) fn new(client: Client, request: ReceiveRequest, options: DeliveryOptions, bounds: Bounds) -> Self {
        let held = Arc::new(Held::new(is_fifo(&request.queue_url), request.visibility));
        let (queue_url, visibility) = (request.queue_url.clone(), request.visibility);
        let settling = settle(Arc::clone(&held), client.clone(), queue_url, visibility, bounds.window);
        tokio::spawn(settling);
        // A receive is an entry that nothing but the stream waits for, so it has the time of an entry of a stream.
        let patience = options.patience();
        let concurrency = options.concurrency;
        let cancelled = options.cancellation.clone().cancelled_owned();
        let options = options
            .give_up_after(patience)
            .buffer(concurrency)
            .call_waits(request.wait)
            // A call that is cut off may have hidden messages.
            .cancellation(CancellationToken::new());
        let delivery = Delivery::new(Receives::new(client, request))
            .options(options)
            .on_undelivered(|_| async {});
        Self {
            producer: delivery.producer(),
            held,
            bounds,
            calling: FuturesUnordered::new(),
            concurrency,
            wanted_calls: 1,
            asked: 0,
            received: 0,
            is_empty: false,
            has_ended: false,
            cancelled: Box::pin(cancelled),
        }
    }

    /// Follows the settlements, for when the stream was given to a delivery.
    pub fn progress(&self) -> ReceiveProgress {
        ReceiveProgress::of(Arc::clone(&self.held))
    }

    /// Makes the calls that are wanted.
    fn receive_on(&mut self) {
        while !self.is_empty && self.calling.len() < self.wanted_calls {
            let load = self.held.load();
            let is_enough = load.ready + self.asked >= MAX_MESSAGES * self.wanted_calls;
            let room = self.bounds.window.saturating_sub(load.underway + self.asked);
            let left = self.bounds.most.saturating_sub(self.received);
            let left = usize::try_from(left).unwrap_or(usize::MAX).saturating_sub(self.asked);
            let most = MAX_MESSAGES.min(room).min(left);
            if most == 0 || is_enough && load.ready > 0 {
                return;
            }
            self.asked += most;
            self.calling.push(receive(&self.producer, &self.held, most));
        }
    }

    fn has_received(&mut self, answered: &Answered) {
        self.asked -= answered.asked;
        self.received += answered.received as u64;
        if answered.received > 0 {
            // Also if the queue has seemed empty to another call.
            self.is_empty = false;
            self.wanted_calls = self.concurrency.min(self.wanted_calls * 2);
            return;
        }
        let Some(left_at) = answered.left_at else { return };
        self.wanted_calls = 1;
        let load = self.held.load();
        // Nothing was underway while the call has waited.
        let is_quiet = load.underway == 0 && load.active_at <= left_at;
        if let Some(idle) = self.bounds.idle
            && is_quiet
            && load.active_at.elapsed() >= idle
        {
            self.is_empty = true;
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
        self.received >= self.bounds.most && self.held.waiting() == 0
    }

    fn end(&mut self) {
        self.has_ended = true;
        self.calling = FuturesUnordered::new();
        self.held.close();
    }
}

/// Makes a call, and returns what it has brought as soon as that is held.
fn receive(
    producer: &Producer<ReceiveCall>,
    held: &Arc<Held>,
    most: usize,
) -> BoxFuture<'static, Result<Answered, Cause>> {
    let course = Arc::new(Course {
        received: AtomicUsize::new(0),
        left_at: Mutex::new(None),
    });
    let receipt = producer.try_enqueue(ReceiveCall::new(Arc::clone(held), most, Arc::clone(&course)));
    async move {
        let receipt = receipt.map_err(|undelivered| undelivered.cause)?;
        receipt.await.map_err(|undelivered| undelivered.cause)?;
        Ok(Answered {
            asked: most,
            received: course.received.load(Ordering::Acquire),
            left_at: *course.left_at(),
        })
    }
    .boxed()
}

impl Stream for ReceivedMessages {
    type Item = Result<Received, ReceiveError>;

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
            if let Some(failure) = self.held.take_failure() {
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
                    return Poll::Ready(Some(Err(ReceiveError { operation, cause })));
                }
                Poll::Ready(None) | Poll::Pending => {}
            }
            let taken = self.held.take();
            let calls = self.calling.len();
            self.receive_on();
            if let Some((number, message)) = taken {
                let ticket = Ticket::new(number, Arc::clone(&self.held));
                return Poll::Ready(Some(Ok(Received { message, ticket })));
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
        self.held.close();
    }
}

impl fmt::Debug for ReceivedMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedMessages")
            .field("bounds", &self.bounds)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

/// A receive, whose messages are held as soon as they are there.
struct ReceiveCall {
    held: Arc<Held>,
    most: usize,
    course: Arc<Course>,
    /// How often the queue had seemed empty when the call was wanted.
    times_empty: u64,
}

/// What became of a call.
struct Course {
    received: AtomicUsize,
    /// When it was made. It may have waited for its turn, and tells of the queue from then on.
    left_at: Mutex<Option<Instant>>,
}

impl Course {
    fn left_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.left_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReceiveCall {
    fn new(held: Arc<Held>, most: usize, course: Arc<Course>) -> Self {
        held.call_begins();
        Self {
            times_empty: held.times_empty(),
            held,
            most,
            course,
        }
    }
}

impl Receiving for ReceiveCall {
    fn most(&self) -> i32 {
        i32::try_from(self.most).unwrap_or(1)
    }

    fn is_wanted(&self) -> bool {
        self.held.is_open() && self.held.times_empty() == self.times_empty
    }

    fn leaves(&self) {
        *self.course.left_at() = Some(Instant::now());
    }

    fn has_received(&self, messages: Vec<Message>) {
        self.course.received.store(messages.len(), Ordering::Release);
        self.held.has_received(messages);
    }

    fn is_in_doubt(&self) {
        self.held.is_in_doubt();
    }
}

impl Drop for ReceiveCall {
    fn drop(&mut self) {
        self.held.call_ends();
    }
}
