//! Live figures.

mod mark;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

#[cfg(feature = "spool")]
pub(crate) use self::mark::Mark;
#[cfg(not(feature = "spool"))]
use self::mark::Mark;
use self::mark::Marks;
use crate::backoff::PaceSnapshot;
use crate::pace::Gate;

/// Live figures of all deliveries that share it.
///
/// A clone shows the same figures. Reading them does not block a delivery.
///
/// ```
/// # use aws_batch_delivery::{DeliveryOptions, Progress};
/// let progress = Progress::default();
/// let options = DeliveryOptions::default().progress(&progress);
/// assert_eq!(progress.snapshot().delivered, 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress {
    figures: Arc<Figures>,
    /// The settled positions of the delivery that this clone belongs to, if it belongs to one.
    mark: Option<Arc<Mark>>,
}

/// The figures of one delivery, until it is dropped.
#[derive(Debug)]
pub(crate) struct DeliveryProgress(Progress);

/// The figures at one moment.
///
/// With the feature `serde` it can be serialized and deserialized; the delay becomes `delay_seconds`, a number.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Entries that the service accepted.
    pub delivered: u64,
    /// Entries that were not delivered.
    pub undelivered: u64,
    /// Entries that were dropped because a newer one has the same key.
    pub superseded: u64,
    /// Entries whose condition the service has evaluated and found not to hold.
    pub condition_failed: u64,
    /// The position in the input before which nothing is left to do: each entry before it was delivered or superseded, had a
    /// condition that does not hold, or was taken by a [handler of undelivered entries](crate::Delivery::on_undelivered) that has finished without an error. It
    /// only grows.
    ///
    /// Store it from time to time, and a load that is killed continues there: no entry is skipped, and those after it that
    /// were delivered are sent again. An undelivered entry that no handler took is only in the memory of the process until
    /// the error has it, so the position stays before it, even after the delivery has ended.
    /// [`Report::next_position`](crate::Report::next_position) is then where to continue, once the entries in the error are
    /// stored.
    ///
    /// `None` before the first delivery, and after several deliveries have shared the figures at the same time: each
    /// counts its own input. A [`Producer`](crate::Producer) has no such position.
    ///
    /// ```
    /// # use std::{error::Error, fs, path::Path, pin::pin, time::Duration};
    /// # use aws_batch_delivery::{Delivery, DeliveryOptions, Progress, targets::BatchTarget};
    /// # use futures::stream;
    /// # use tokio::time::interval;
    /// /// Delivers the lines that earlier runs have not delivered, however they ended.
    /// async fn load<T>(target: T, lines: Vec<String>, checkpoint: &Path) -> Result<(), Box<dyn Error + Send + Sync>>
    /// where
    ///     T: BatchTarget<Entry = String>,
    /// {
    ///     let start = fs::read_to_string(checkpoint).map_or(Ok(0), |start| start.parse())?;
    ///     let progress = Progress::default();
    ///     let delivery = Delivery::new(target).options(DeliveryOptions::default().progress(&progress));
    ///     let mut delivering = pin!(delivery.deliver_stream(stream::iter(lines.into_iter().skip(start as usize))));
    ///     let mut every_second = interval(Duration::from_secs(1));
    ///     loop {
    ///         let ended = tokio::select! {
    ///             ended = &mut delivering => Some(ended),
    ///             _ = every_second.tick() => None,
    ///         };
    ///         let settled = progress.snapshot().settled_until.unwrap_or(0);
    ///         fs::write(checkpoint, (start + settled).to_string())?;
    ///         if let Some(ended) = ended {
    ///             return Ok(ended.map(drop)?);
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// The example `load_with_dead_letters` in the repository adds a handler that keeps what the service refuses.
    pub settled_until: Option<u64>,
    /// Rejected entries that wait to be sent again.
    pub waiting: u64,
    /// Entries in calls that are not answered yet.
    pub in_flight: u64,
    /// Entries that were read and are in no call: those that were not sent yet, and those that are [waiting](Self::waiting).
    pub read_ahead: u64,
    /// Bytes of the entries that are [read ahead](Self::read_ahead), as the target measures them.
    pub read_ahead_bytes: u64,
    /// Calls answered, failed ones included.
    pub calls: u64,
    /// How often an entry was sent again.
    pub resubmitted: u64,
    /// How often an entry was rejected for lack of capacity.
    pub throttled: u64,
    /// Entries delivered per second since the last snapshot; 0 in the first one.
    pub rate: f64,
    /// The time from the answer of a call to the next call in the same slot, for the call that left last.
    #[cfg_attr(feature = "serde", serde(rename = "delay_seconds", with = "crate::report::seconds"))]
    pub delay: Duration,
    /// The state of the backoff strategy, its reason and its rate. `None` before the first delivery, after the options of
    /// the last one are dropped, and for a [strategy](crate::backoff::Pace::snapshot) that does not say. If deliveries
    /// with different strategies share the figures, the state is that of the delivery that started last.
    pub pace: Option<PaceSnapshot>,
}

#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) delivered: AtomicU64,
    pub(crate) undelivered: AtomicU64,
    pub(crate) superseded: AtomicU64,
    pub(crate) condition_failed: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) read_ahead: AtomicU64,
    pub(crate) read_ahead_bytes: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) resubmitted: AtomicU64,
    pub(crate) throttled: AtomicU64,
    pub(crate) delay_nanos: AtomicU64,
    gate: Mutex<Weak<Gate>>,
    marks: Marks,
    last_snapshot: Mutex<Option<(Instant, u64)>>,
}

impl Progress {
    /// The current figures.
    pub fn snapshot(&self) -> Snapshot {
        let figures = &*self.figures;
        let delivered = figures.delivered.load(Relaxed);
        Snapshot {
            delivered,
            undelivered: figures.undelivered.load(Relaxed),
            superseded: figures.superseded.load(Relaxed),
            condition_failed: figures.condition_failed.load(Relaxed),
            settled_until: figures.marks.settled_until(),
            waiting: figures.waiting.load(Relaxed),
            in_flight: figures.in_flight.load(Relaxed),
            read_ahead: figures.read_ahead.load(Relaxed),
            read_ahead_bytes: figures.read_ahead_bytes.load(Relaxed),
            calls: figures.calls.load(Relaxed),
            resubmitted: figures.resubmitted.load(Relaxed),
            throttled: figures.throttled.load(Relaxed),
            rate: figures.rate(delivered),
            delay: Duration::from_nanos(figures.delay_nanos.load(Relaxed)),
            pace: figures.pace(),
        }
    }

    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// A delivery begins that counts its own positions.
    pub(crate) fn begin(&self) -> DeliveryProgress {
        DeliveryProgress(Self {
            figures: Arc::clone(&self.figures),
            mark: Some(self.figures.marks.begin()),
        })
    }

    /// The entries at these positions of the delivery's input are settled.
    pub(crate) fn settle(&self, positions: Range<u64>) {
        if let Some(mark) = &self.mark {
            mark.settle(positions);
        }
    }
}

impl DeliveryProgress {
    pub(crate) fn progress(&self) -> &Progress {
        &self.0
    }
}

impl Drop for DeliveryProgress {
    fn drop(&mut self) {
        self.0.figures.marks.end();
    }
}

impl Figures {
    /// A delivery begins that this gate paces.
    pub(crate) fn begin(&self, gate: &Arc<Gate>) {
        *self.gate() = Arc::downgrade(gate);
    }

    fn pace(&self) -> Option<PaceSnapshot> {
        // The lock is released before the strategy is called.
        let gate = self.gate().upgrade()?;
        gate.strategy.snapshot()
    }

    fn gate(&self) -> MutexGuard<'_, Weak<Gate>> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
    fn rate(&self, delivered: u64) -> f64 {
        let now = Instant::now();
        let mut last = self.last_snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let (then, before) = last.replace((now, delivered)).unwrap_or((now, delivered));
        let seconds = (now - then).as_secs_f64();
        if seconds > 0.0 {
            delivered.saturating_sub(before) as f64 / seconds
        } else {
            0.0
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;
    use crate::backoff::{PaceReason, PaceState};

    #[test]
    fn a_snapshot_comes_back_as_it_was_serialized() {
        let progress = Progress::default();
        progress.figures().delivered.store(7, Relaxed);
        progress.figures().delay_nanos.store(2_500_000, Relaxed);
        let mut snapshot = progress.snapshot();
        snapshot.pace = Some(PaceSnapshot::new(PaceState::Steady, PaceReason::Drained));
        let value = serde_json::to_value(snapshot).unwrap();
        assert_eq!(
            (&value["delivered"], &value["delay_seconds"]),
            (&7.into(), &0.0025.into())
        );
        assert_eq!(
            (&value["pace"]["state"], &value["pace"]["reason"]),
            (&"steady".into(), &"drained".into())
        );
        assert_eq!(serde_json::from_value::<Snapshot>(value).unwrap(), snapshot);
    }
}
