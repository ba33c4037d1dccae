//! How to deliver: pace, concurrency and time limits.

use std::sync::Arc;
use std::time::Duration;

use futures::future::OptionFuture;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::backoff::{Adaptive, BackoffStrategy};
use crate::debug::debug_fields;
use crate::pace::Gate;
use crate::progress::Progress;
use crate::report::Cause;

/// Calls in flight. At a round trip of 10 ms they carry 40,000 writes/s to DynamoDB, the default quota of a table.
const CONCURRENCY: usize = 16;

/// The largest concurrency. Each call takes a connection, and an address has 65,536 ports.
const MAX_CONCURRENCY: usize = 1 << 16;

/// How long one entry is tried. Auto scaling reacts after minutes of throttling, and an incident of a service may take ten
/// minutes. A bulk load usually has no other place for the entry, so giving up earlier does not help.
const GIVE_UP_AFTER: Duration = Duration::from_secs(15 * 60);

/// How long one entry of a producer is tried. Usually a client waits for the task that waits for the entry, for up to a
/// minute: the idle timeout of AWS's load balancers. It is enough for a call that times out after 30 s and for a second
/// call. Other producers give up after 30 s (KPL's `RecordTtl`) and 2 min (Kafka's `delivery.timeout.ms`).
const PRODUCER_GIVES_UP_AFTER: Duration = Duration::from_secs(60);

/// How long one call may take. The largest one is 16 MiB, which takes 13 s at 10 Mbit/s.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long calls in flight may take after the delivery was asked to end. A call usually takes some 10 ms.
const GRACE: Duration = Duration::from_secs(1);

/// How long an entry waits for others that could share its call: as long as a usual call takes, so it at most doubles the
/// latency of an entry.
const LINGER: Duration = Duration::from_millis(10);

/// Entries in the buffer of a producer: 40 full calls of DynamoDB or 100 of SQS, more than are in flight by default.
const BUFFER: usize = 1_000;

/// Entries that may wait. With sorted input of 5,000 items for each partition key, they cover six keys; the load then takes
/// 1.2 times the possible time instead of 5.8 (`cargo bench --bench pacing -- --real --scenario sorted`).
const READ_AHEAD: usize = 30_000;

/// The same in bytes: four calls of the largest size among the services.
const READ_AHEAD_BYTES: usize = 64 << 20;

/// How to deliver.
///
/// Clones share one backoff strategy and so one pace: clone the options into every worker that sends to the same table or
/// queue. Options that were created separately do not share anything.
///
/// Calls of deliveries that share a strategy leave in order of arrival. A delivery that is not polled when it is next
/// (another arm of a `select!` is awaited, for example) is skipped after a quarter of a second.
///
/// ```
/// # use aws_batch_delivery::{DeliveryOptions, backoff::Exponential};
/// let options = DeliveryOptions::default()
///     .backoff(Exponential::full_jitter())
///     .concurrency(4)
///     .retries(5);
/// let for_another_worker = options.clone();
/// ```
///
/// A value that cannot work, such as a concurrency of 0, panics where it is set, as in tokio and the standard library:
/// before anything is sent, and with the line of the caller. Check values that come from a configuration first.
///
/// # Default
/// - backoff: [`Adaptive`]
/// - concurrency: 16 calls in flight
/// - retries: as many as there is time for
/// - give up after: 15 minutes for an entry, 1 minute in a [`Producer`](crate::Producer)
/// - attempt timeout: 30 s for a call
/// - grace: 1 s
/// - linger: 10 ms
/// - buffer: 1,000 entries
/// - read ahead: 30,000 entries and 64 MiB
/// - no deadline, no cancellation
///
/// These defaults outlast minutes of throttling. A delivery ends early only for a refusal that no retry can change.
#[derive(Clone)]
#[must_use]
pub struct DeliveryOptions {
    pub(crate) gate: Arc<Gate>,
    pub(crate) concurrency: usize,
    pub(crate) retries: Option<u32>,
    /// `None` for the default, which differs for a producer.
    pub(crate) give_up_after: Option<Duration>,
    /// Whether the time of an entry begins when it is submitted, as in a producer, and not with its first attempt.
    pub(crate) counts_from_hand_over: bool,
    pub(crate) attempt_timeout: Duration,
    /// How long a call may wait for its answer without being regarded as stalled, because the service lets it wait.
    pub(crate) call_waits: Duration,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) grace: Duration,
    pub(crate) progress: Progress,
    pub(crate) last_write_wins: bool,
    pub(crate) linger: Duration,
    pub(crate) buffer: usize,
    pub(crate) read_ahead: usize,
    pub(crate) read_ahead_bytes: usize,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            gate: Arc::new(Gate::new(Adaptive::default())),
            concurrency: CONCURRENCY,
            retries: None,
            give_up_after: None,
            counts_from_hand_over: false,
            attempt_timeout: ATTEMPT_TIMEOUT,
            call_waits: Duration::ZERO,
            deadline: None,
            cancellation: CancellationToken::new(),
            grace: GRACE,
            progress: Progress::default(),
            last_write_wins: false,
            linger: LINGER,
            buffer: BUFFER,
            read_ahead: READ_AHEAD,
            read_ahead_bytes: READ_AHEAD_BYTES,
        }
    }
}

impl DeliveryOptions {
    /// The strategy that paces the calls. Later clones of the options share it.
    ///
    /// Default: [`Adaptive`].
    pub fn backoff(mut self, strategy: impl BackoffStrategy) -> Self {
        self.gate = Arc::new(Gate::new(strategy));
        self
    }

    /// At most this many units of capacity a second of a table, or entries elsewhere, for all deliveries with clones of these
    /// options together: where a table or a queue is shared with others. Default: as many as the service takes.
    ///
    /// It is short for `backoff(Adaptive::default().max_rate(rate))`, so it replaces an earlier strategy, and
    /// [`Adaptive`] with more settings is given by [`backoff`](Self::backoff).
    ///
    /// ```
    /// # use aws_batch_delivery::DeliveryOptions;
    /// let options = DeliveryOptions::default().max_rate(500.0);
    /// ```
    ///
    /// # Panics
    /// When the rate is below 1, infinite or not a number.
    #[track_caller]
    pub fn max_rate(self, rate: f64) -> Self {
        self.backoff(Adaptive::default().max_rate(rate))
    }

    /// How many calls of one delivery may be in flight at once. Default: 16.
    ///
    /// # Panics
    /// When it is 0 or above 65,536, the number of ports of a machine.
    #[track_caller]
    pub fn concurrency(mut self, calls: usize) -> Self {
        assert!(
            (1..=MAX_CONCURRENCY).contains(&calls),
            "the concurrency must be from 1 to {MAX_CONCURRENCY}, but is {calls}"
        );
        self.concurrency = calls;
        self
    }

    /// How often one entry may be sent again after it was rejected; 0 means never. Default: as often as its time allows.
    ///
    /// Each entry is counted separately; a fresh one that tops up a chunk of leftovers starts at zero. When a call is
    /// refused as a whole and its halves are sent, or when a call could not be made and is known not to have left, its
    /// entries are not counted as rejected.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// How long to try before entries are handed back; [`Duration::MAX`] for no limit. Default: 15 minutes, and 1 minute for
    /// the entries of a [`Producer`](crate::Producer), because a task waits for each of them, and often a client for the
    /// task.
    ///
    /// - **In a producer** the time of an entry begins when it is submitted. The buffer, retries and outages are part of
    ///   it, so its outcome is known after this time and one [attempt](Self::attempt_timeout), however many entries wait.
    /// - **In a batch or a stream** there are two limits. When nothing at all was accepted for this long, for any cause,
    ///   the delivery ends: every entry that was read is handed back with [`Cause::Outage`](crate::Cause::Outage). While
    ///   others are accepted, an entry may be tried for this long from its first attempt on; the time of an entry that is
    ///   held behind an earlier one of its key or group begins when that one is settled. Use [`deadline`](Self::deadline)
    ///   to limit the whole delivery.
    ///
    /// An entry whose retry delay is longer than its remaining time is handed back at once.
    pub fn give_up_after(mut self, patience: Duration) -> Self {
        self.give_up_after = Some(patience);
        self
    }

    /// How long one call may take before it counts as failed. Its entries are then sent again, and are marked as possibly
    /// delivered if they are handed back. Default: 30 s.
    ///
    /// A service that is slower stores the entries of each call and answers too late. So the timeout doubles when calls have
    /// timed out, up to 16 times its length and no longer than its entries may still be [tried](Self::give_up_after). It
    /// halves with each answer that comes within half of it.
    ///
    /// Time in which the process was frozen (a Lambda function between invocations, a laptop that is closed) does not count:
    /// calls in flight then have 5 s, or their timeout if that is shorter, for answers that have arrived meanwhile.
    ///
    /// # Panics
    /// When it is zero.
    #[track_caller]
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        assert!(!timeout.is_zero(), "the attempt timeout must be longer than zero");
        self.attempt_timeout = timeout;
        self
    }

    /// When to stop, even if entries are left. Default: never.
    ///
    /// Calls in flight have the [`grace`](Self::grace) period to end; all other entries are handed back.
    pub fn deadline(mut self, at: impl Into<Instant>) -> Self {
        self.deadline = Some(at.into());
        self
    }

    /// Stops the delivery when the token is cancelled.
    ///
    /// Calls in flight have the [`grace`](Self::grace) period to end; all other entries are handed back.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// How long calls in flight may continue after a cancellation, the deadline or an error that stops the delivery.
    /// Entries without an answer are then handed back as possibly delivered. Default: 1 s.
    ///
    /// Then the target has the same time to [clean up](crate::targets::BatchTarget::clean_up), and after that a handler of
    /// [undelivered entries](crate::Delivery::on_undelivered) to finish. So a delivery ends within three grace periods, and
    /// within one if it has neither.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long an entry may wait for others to fill its call when entries arrive slowly: from a stream or a
    /// [`Producer`](crate::Producer), or because they are held behind entries of their key or group that are in flight.
    /// Zero: not at all. Default: 10 ms.
    ///
    /// A full call leaves at once; so do the last entries when the input has ended. In a producer an entry waits at most
    /// half of [`give_up_after`](Self::give_up_after).
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// How many entries a [`Producer`](crate::Producer) buffers before its delivery has read them. When the buffer is full,
    /// senders wait. Default: 1,000.
    ///
    /// # Panics
    /// When it is 0.
    #[track_caller]
    pub fn buffer(mut self, entries: usize) -> Self {
        assert!(entries > 0, "the buffer must hold at least 1 entry");
        self.buffer = entries.min(Semaphore::MAX_PERMITS);
        self
    }

    /// How many entries of a delivery may wait in memory before it stops reading: rejected ones, those held behind earlier
    /// ones of their key or group, and those read ahead. Default: 30,000, within
    /// [`read_ahead_bytes`](Self::read_ahead_bytes). The entries of the next call are always read.
    ///
    /// While no partition key is hot, a delivery reads only until the next call is full. Once a key is hot, it reads ahead
    /// up to this limit and mixes many keys in each call. Otherwise sorted input would load one hot key after another, each
    /// at the speed of one partition, while the other partitions are idle. The limit is high enough if it covers the
    /// entries of several keys; [`Snapshot::read_ahead`](crate::Snapshot::read_ahead) shows the current number.
    ///
    /// # Panics
    /// When it is 0.
    #[track_caller]
    pub fn read_ahead(mut self, entries: usize) -> Self {
        assert!(entries > 0, "the entries read ahead must be at least 1, but are 0");
        self.read_ahead = entries;
        self
    }

    /// How many bytes of entries may [wait in memory](Self::read_ahead), as the target measures them. For writes to a table
    /// that is an estimate of what their attributes take on the heap, several times their size for DynamoDB if they are many
    /// and small. Default: 64 MiB.
    ///
    /// # Panics
    /// When it is 0.
    #[track_caller]
    pub fn read_ahead_bytes(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "the bytes read ahead must be at least 1, but are 0");
        self.read_ahead_bytes = bytes;
        self
    }

    /// The counters to update.
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// Drops a waiting entry instead of sending it when a newer one writes the same key, and counts it as
    /// [superseded](crate::Report::superseded). Default: every entry is sent, in the order of the input.
    ///
    /// Entries in flight are not recalled. A dropped entry stays dropped even if the newer one is refused or handed back.
    /// The option affects targets whose entries overwrite each other: writes to DynamoDB, not messages of a queue.
    pub fn last_write_wins(mut self) -> Self {
        self.last_write_wins = true;
        self
    }

    /// Completes when the delivery is asked to end: by its cancellation, or at its deadline.
    pub(crate) async fn ended(&self) {
        let deadline = OptionFuture::from(self.deadline.map(sleep_until));
        tokio::select! {
            () = self.cancellation.cancelled() => {}
            Some(()) = deadline => {}
        }
    }

    /// Why the delivery has been asked to end, if it has.
    pub(crate) fn end(&self) -> Option<Cause> {
        if self.cancellation.is_cancelled() {
            return Some(Cause::Cancelled(None));
        }
        let is_over = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        is_over.then_some(Cause::DeadlineReached(None))
    }

    /// How long one entry may be tried.
    pub(crate) fn patience(&self) -> Duration {
        self.give_up_after.unwrap_or(GIVE_UP_AFTER)
    }

    /// For calls that the service answers only after up to this time when it has nothing to return.
    #[cfg(feature = "sqs")]
    pub(crate) fn call_waits(mut self, wait: Duration) -> Self {
        self.attempt_timeout = self.attempt_timeout.max(wait + ATTEMPT_TIMEOUT / 3);
        self.call_waits = wait;
        self
    }

    /// The same options, with a producer's defaults.
    pub(crate) fn for_producer(mut self) -> Self {
        self.give_up_after.get_or_insert(PRODUCER_GIVES_UP_AFTER);
        self.counts_from_hand_over = true;
        self.linger = self.linger.min(self.patience() / 2);
        self
    }

    /// The same options for entries that are on disk: they wait as long as it takes.
    #[cfg(feature = "spool")]
    pub(crate) fn without_giving_up(mut self) -> Self {
        self.give_up_after = Some(Duration::MAX);
        self.retries = None;
        self
    }

    /// Reports that the service is back: waiting entries leave at once and their delays start over, in all deliveries that
    /// share the strategy. Earlier attempts still count. Entries in flight are not affected.
    ///
    /// Must not be called by the strategy itself, which would deadlock.
    pub fn reset_backoff(&self) {
        self.gate.reset();
    }
}

debug_fields!(
    options: DeliveryOptions,
    concurrency = options.concurrency,
    retries = options.retries,
    give_up_after = options.patience(),
    attempt_timeout = options.attempt_timeout,
    deadline = options.deadline,
    grace = options.grace,
    linger = options.linger,
    buffer = options.buffer,
    read_ahead = options.read_ahead,
    read_ahead_bytes = options.read_ahead_bytes,
    last_write_wins = options.last_write_wins,
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::testing::assert_refused;

    #[test]
    fn setters_chain() {
        let options = DeliveryOptions::default()
            .concurrency(64)
            .retries(5)
            .attempt_timeout(Duration::from_secs(3))
            .buffer(1);
        assert_eq!((options.concurrency, options.retries, options.buffer), (64, Some(5), 1));
    }

    #[test]
    fn a_value_that_cannot_work_panics_where_it_is_set() {
        for wrong in [0, 65_537] {
            let message = assert_refused("concurrency", || DeliveryOptions::default().concurrency(wrong));
            assert_eq!(
                message,
                format!("the concurrency must be from 1 to 65536, but is {wrong}")
            );
        }
        assert_refused("attempt timeout", || {
            DeliveryOptions::default().attempt_timeout(Duration::ZERO)
        });
        assert_refused("buffer", || DeliveryOptions::default().buffer(0));
        assert_refused("entries read ahead", || DeliveryOptions::default().read_ahead(0));
        assert_refused("bytes read ahead", || DeliveryOptions::default().read_ahead_bytes(0));
    }
}
