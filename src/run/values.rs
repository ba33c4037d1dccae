//! Values as the input of a delivery: each is converted into an entry as it is read.

use std::any::type_name;
use std::error::Error;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use crate::contract::{ErasedTarget, Fault, Identity};
use crate::disposition::Disposition;
use crate::engine::{self, Confirmation, Confirms, Delivered, DynInput, Incoming, Input};
use crate::guarded::{destination, guarded};
use crate::invalid::{ConversionError, InvalidEntry};
use crate::metrics::Metrics;
use crate::options::DeliveryOptions;
use crate::progress::Progress;
use crate::report::{Cause, Causes, Undelivered};
use crate::shutdown::joined;

/// Converts a value into an entry.
pub(super) type Convert<V, E> = dyn Fn(&V) -> Result<E, Box<dyn Error + Send + Sync>> + Send + Sync;

/// The most values that are converted in a row when none of them becomes an entry.
const AT_ONCE: usize = 128;

/// Delivers every value of the input, or hands it back.
pub(super) async fn deliver<V: Send + Sync + 'static, E: Send + Sync + 'static>(
    target: Arc<dyn ErasedTarget<E>>,
    values: DynInput<'_, V>,
    convert: &Convert<V, E>,
    options: DeliveryOptions,
) -> Delivered<V> {
    let metrics = Metrics::of(&destination(&*target), None);
    let started = Instant::now();
    let mut values = ConvertedInput::new(values, convert, options.progress.clone(), metrics);
    let span = engine::delivery_span(&*target);
    let delivered = engine::deliver_in(&span, target, &mut values, options).await;
    let mut delivered = values.into_delivered(delivered).instrument(span.clone()).await;
    delivered.report.elapsed = started.elapsed();
    delivered.recorded_in(&span)
}

struct ConvertedInput<'a, 'b, V, E> {
    input: DynInput<'a, V>,
    convert: &'b Convert<V, E>,
    /// The number of values so far that are handed back and became no entry.
    unconverted: u64,
    /// The value that is being converted. It is still here if the conversion panicked.
    current: Option<Incoming<V>>,
    returned: ReturnedValues<V>,
    /// Values that became no entry and are being handed back: in tasks, because a handler of another entry may wait for theirs.
    unsent: JoinSet<()>,
    progress: Progress,
    metrics: Metrics,
}

/// Values that are handed back without a receipt or handler to take them.
type ReturnedValues<V> = Arc<Mutex<Vec<Undelivered<V>>>>;

impl<'a, 'b, V: Send + Sync + 'static, E> ConvertedInput<'a, 'b, V, E> {
    fn new(input: DynInput<'a, V>, convert: &'b Convert<V, E>, progress: Progress, metrics: Metrics) -> Self {
        Self {
            unconverted: 0,
            current: None,
            returned: ReturnedValues::default(),
            unsent: JoinSet::new(),
            input,
            convert,
            progress,
            metrics,
        }
    }

    /// Converts the value into an entry. `None` if that fails: then the value is handed back.
    fn entry(&mut self, incoming: Incoming<V>) -> Option<Incoming<E>> {
        let value = &self.current.insert(incoming).entry;
        let converted = (self.convert)(value);
        let Incoming {
            entry,
            position,
            confirmation,
            handed_over,
        } = self.current.take()?;
        let beside = SourceValue {
            value: Box::new(entry),
            position,
            confirmation,
            returned: Arc::clone(&self.returned),
        };
        match converted {
            Ok(entry) => Some(Incoming {
                entry,
                position,
                confirmation: Some(Confirmation::to(beside)),
                handed_over,
            }),
            Err(error) => {
                let invalid = InvalidEntry::Unconvertible {
                    type_name: type_name::<V>(),
                    error: ConversionError::new(error),
                };
                self.hand_back(beside, Cause::Invalid(invalid));
                None
            }
        }
    }

    /// Hands back a value that becomes no entry.
    fn hand_back(&mut self, beside: SourceValue<V>, cause: Cause) {
        self.unconverted += 1;
        self.metrics.handed_back(&cause, 1);
        self.progress.figures().undelivered.fetch_add(1, Relaxed);
        self.unsent.spawn(beside.unsent(cause));
    }

    /// Waits until one more value was handed back; `None` when none is being handed back.
    async fn next_handed_back(&mut self) -> Option<()> {
        let ended = self.unsent.join_next().await?;
        joined(ended).await;
        Some(())
    }

    /// Hands back the values that the delivery has not read, without converting them. `true` if no value is left.
    fn poll_hand_back_unread(&mut self, context: &mut Context<'_>, cause: &Cause) -> Poll<bool> {
        for _ in 0..AT_ONCE {
            ready!(self.poll_room(context));
            let Poll::Ready(unread) = self.input.unread() else {
                ready!(self.input.poll_answer());
                return Poll::Ready(false);
            };
            let Some(incoming) = unread else {
                return Poll::Ready(true);
            };
            self.hand_back_whole(incoming, cause.clone());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Ready when there are not too many values that are being handed back: handlers may take long, and the values that wait for
    /// them take memory.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(Some(ended)) = self.unsent.poll_join_next(context) {
            if let Err(Ok(panic)) = ended.map_err(JoinError::try_into_panic) {
                resume_unwind(panic);
            }
        }
        if self.unsent.len() < AT_ONCE {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn hand_back_whole(&mut self, incoming: Incoming<V>, cause: Cause) {
        let beside = SourceValue {
            value: Box::new(incoming.entry),
            position: incoming.position,
            confirmation: incoming.confirmation,
            returned: Arc::clone(&self.returned),
        };
        self.hand_back(beside, cause);
    }

    /// Hands back the value whose conversion panicked, and those behind it. The input itself is sound. `true` if no value is
    /// left.
    async fn hand_back_from(&mut self, panicked: Incoming<V>, fault: &Fault) -> bool {
        self.input.ends_early();
        if let Some(confirmation) = &panicked.confirmation {
            confirmation.panicked();
        }
        let cause = Cause::Stopped(fault.clone());
        self.hand_back_whole(panicked, cause.clone());
        let rest = poll_fn(|context| {
            let polled = guarded("the input", || self.poll_hand_back_unread(context, &cause));
            polled.unwrap_or(Poll::Ready(false))
        });
        rest.await
    }

    /// The result of the delivery, in values.
    async fn into_delivered(mut self, mut delivered: Delivered<E>) -> Delivered<V> {
        if let Some(panicked) = self.current.take() {
            let stopped = &mut delivered.stopped;
            let fault = stopped.get_or_insert_with(|| Fault::new("the input panicked")).clone();
            delivered.report.finished = self.hand_back_from(panicked, &fault).await;
        }
        while self.next_handed_back().await.is_some() {}
        delivered.report.undelivered += self.unconverted;
        let mut undelivered = std::mem::take(&mut *self.returned.lock().unwrap_or_else(PoisonError::into_inner));
        undelivered.sort_by_key(|undelivered| undelivered.position);
        Delivered {
            report: delivered.report,
            undelivered,
            taken: Causes::default(),
            ending: delivered.ending,
            stopped: delivered.stopped,
            pace: delivered.pace,
        }
    }
}

impl<V: Send + Sync + 'static, E> Input for ConvertedInput<'_, '_, V, E> {
    type Entry = E;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<E>>> {
        for _ in 0..AT_ONCE {
            ready!(self.poll_room(context));
            match ready!(self.input.poll_next(context)) {
                None => return Poll::Ready(None),
                Some(incoming) => {
                    if let Some(entry) = self.entry(incoming) {
                        return Poll::Ready(Some(entry));
                    }
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_hand_back(&mut self, context: &mut Context<'_>, cause: &Cause) -> Poll<bool> {
        self.poll_hand_back_unread(context, cause)
    }

    fn want(&mut self, entries: usize) {
        self.input.want(entries);
    }

    fn poll_answer(&mut self) -> Poll<()> {
        self.input.poll_answer()
    }

    fn known(&self) -> usize {
        self.input.known()
    }

    fn hurried(&self) -> u64 {
        self.input.hurried()
    }

    fn stop(&self) -> Option<Fault> {
        self.input.stop()
    }

    fn ends_early(&self) {
        self.input.ends_early();
    }
}

/// The value that an entry was made from, kept next to the entry until its outcome is known.
///
/// Converting it again for each attempt would take less memory. But the target may have completed the entry with a
/// deduplication id or a key in S3, which must be the same in each attempt.
struct SourceValue<V> {
    value: Box<V>,
    position: u64,
    /// The receipt or handler that waits for the outcome of the value.
    confirmation: Option<Confirmation<V>>,
    returned: ReturnedValues<V>,
}

impl<V> SourceValue<V> {
    /// The value is handed back without an attempt.
    async fn unsent(self, cause: Cause) {
        let attempts = 0;
        self.hand_back(cause, attempts, false).await;
    }

    async fn hand_back(self, cause: Cause, attempts: u32, may_have_been_delivered: bool) {
        let undelivered = Undelivered {
            entry: self.value,
            position: self.position,
            cause,
            attempts,
            may_have_been_delivered,
        };
        let left = match self.confirmation {
            Some(confirmation) => confirmation.hand_back(undelivered).await,
            None => Some(undelivered),
        };
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        returned.extend(left);
    }
}

impl<V: Send + Sync + 'static, E> Confirms<E> for SourceValue<V> {
    fn resolve(self: Box<Self>, _: &E, fate: Disposition) {
        if let Some(confirmation) = self.confirmation {
            confirmation.resolve(&self.value, fate);
        }
    }

    fn identity(&self) -> Option<Identity> {
        self.confirmation.as_ref()?.identity()
    }

    fn panicked(&self) {
        if let Some(confirmation) = &self.confirmation {
            confirmation.panicked();
        }
    }

    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>> {
        let Undelivered {
            cause,
            attempts,
            may_have_been_delivered,
            ..
        } = undelivered;
        let handed_back = (*self).hand_back(cause, attempts, may_have_been_delivered);
        handed_back.map(|()| None).boxed()
    }
}
