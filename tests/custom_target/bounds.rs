//! However many entries wait, and for whatever: each end of a delivery comes within the time that the documentation names.

use std::future::{pending, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, InvalidEntry};
use futures::future::join_all;
use futures::{StreamExt, stream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::custom_target::numbers::{LIMITS, throttle};
use crate::support::cases::cases;
use crate::support::paused::paused;
use crate::support::scripted::Scripted;

const PATIENCE: Duration = Duration::from_secs(20);
const ATTEMPT: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(1);

/// The wait that the service names.
const NAMED: Duration = Duration::from_secs(30);

/// When the delivery is told to end.
const TOLD: Duration = Duration::from_secs(8);

/// What all entries wait for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wait {
    /// Each call is throttled.
    Throttled,
    /// No call can be made.
    Setup,
    /// Each call fails.
    Failing,
    /// No call is answered.
    Silent,
    /// No call is answered, and no entry is sent again.
    SilentOnce,
    /// Each call fails, and the service names a wait that is longer than the patience.
    Named,
    /// All entries have one partition key, which is throttled.
    HotKey,
    /// All entries are one lane, whose first one is throttled.
    Lane,
    /// Calls with several entries are refused, others throttled.
    Bisection,
}

impl BatchTarget for Wait {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    fn lane(&self, _: &usize) -> Option<Lane> {
        (*self == Self::Lane).then(|| Lane::exclusive("all"))
    }

    fn partition_key(&self, _: &usize) -> Option<u64> {
        (*self == Self::HotKey).then_some(1)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        sleep(Duration::from_millis(8)).await;
        let rejected = |rejection| Answer::Whole(Verdict::Rejected(rejection, Fault::new("unavailable")));
        match self {
            Self::Silent | Self::SilentOnce => pending().await,
            Self::Named => {
                let fault = Fault::new("HTTP 503").retry_after(NAMED);
                Answer::Whole(Verdict::Rejected(Rejection::Transient, fault))
            }
            Self::Setup => rejected(Rejection::Setup),
            Self::Failing => rejected(Rejection::Transient),
            Self::HotKey => Answer::Each(vec![throttle(); chunk.len()]),
            Self::Bisection if chunk.len() > 1 => Answer::Whole(Verdict::Refused(Fault::new("refused"))),
            Self::Throttled | Self::Lane | Self::Bisection => Answer::Whole(throttle()),
        }
    }
}

/// What ends the delivery.
#[derive(Debug, Clone, Copy)]
enum End {
    Patience,
    Cancelled,
    Deadline,
    /// Of a producer.
    Closed,
}

impl End {
    /// Until when all entries must be back.
    fn bound(self) -> Duration {
        match self {
            Self::Patience => PATIENCE + ATTEMPT,
            // For the calls in flight, and for the target to clean up.
            Self::Cancelled | Self::Deadline | Self::Closed => TOLD + 2 * GRACE,
        }
    }

    fn is_of(self, cause: &Cause, wait: Wait) -> bool {
        if wait == Wait::SilentOnce && matches!(cause, Cause::RetriesUsedUp { .. }) {
            return true;
        }
        match self {
            Self::Patience => matches!(cause, Cause::Outage { .. } | Cause::TimeUsedUp(_) | Cause::BufferFull),
            Self::Cancelled | Self::Closed => matches!(cause, Cause::Cancelled(_) | Cause::Closed),
            Self::Deadline => matches!(cause, Cause::DeadlineReached(_) | Cause::Closed),
        }
    }
}

fn options(wait: Wait, end: End, token: &CancellationToken) -> DeliveryOptions {
    let mut options = DeliveryOptions::default()
        .attempt_timeout(ATTEMPT)
        .grace(GRACE)
        .cancellation(token.clone());
    if wait == Wait::SilentOnce {
        options = options.retries(0);
    }
    match end {
        End::Patience => options.give_up_after(PATIENCE),
        End::Deadline => options.deadline(Instant::now() + TOLD),
        End::Cancelled | End::Closed => options,
    }
}

/// When the last of these many entries of a batch is back.
async fn of_batch(wait: Wait, end: End, count: usize) -> Duration {
    let token = CancellationToken::new();
    let started = Instant::now();
    let delivery = Delivery::new(wait).options(options(wait, end, &token));
    let told = async {
        sleep(TOLD).await;
        if matches!(end, End::Cancelled) {
            token.cancel();
        }
    };
    let (delivered, ()) = tokio::join!(delivery.deliver(0..count), told);
    let error = delivered.unwrap_err();
    assert_eq!(error.undelivered().len(), count);
    for undelivered in error.undelivered() {
        assert!(
            end.is_of(&undelivered.cause, wait),
            "{wait:?}, {end:?}: {}",
            undelivered.cause
        );
    }
    started.elapsed()
}

/// When the last of these many senders of a producer has its entry back.
async fn of_producer(wait: Wait, end: End, count: usize) -> Duration {
    let token = CancellationToken::new();
    let started = Instant::now();
    let producer = Delivery::new(wait).options(options(wait, end, &token)).producer();
    let told = async {
        sleep(TOLD).await;
        match end {
            End::Cancelled => token.cancel(),
            End::Closed => drop(producer.close_within(Duration::ZERO).await),
            End::Patience | End::Deadline => {}
        }
    };
    let sent = join_all((0..count).map(|number| producer.send(number)));
    let (sent, ()) = tokio::join!(sent, told);
    let elapsed = started.elapsed();
    for undelivered in sent.into_iter().map(Result::unwrap_err) {
        assert!(
            end.is_of(&undelivered.cause, wait),
            "{wait:?}, {end:?}: {}",
            undelivered.cause
        );
    }
    producer.close().await.unwrap();
    elapsed
}

const WAITS: [Wait; 9] = [
    Wait::Throttled,
    Wait::Setup,
    Wait::Failing,
    Wait::Silent,
    Wait::SilentOnce,
    Wait::Named,
    Wait::HotKey,
    Wait::Lane,
    Wait::Bisection,
];

const COUNTS: [usize; 4] = [1, 30, 1_000, 10_000];

/// The same for senders. Ten thousand take half a minute, so they are for where more cases are tried.
fn counts_of_senders() -> &'static [usize] {
    if cases(1) > 1 { &COUNTS } else { &COUNTS[..3] }
}

#[test]
fn every_end_of_a_batch_comes_in_time() {
    for wait in WAITS {
        for end in [End::Patience, End::Cancelled, End::Deadline] {
            for count in COUNTS {
                let elapsed = paused(of_batch(wait, end, count));
                assert!(elapsed <= end.bound(), "{count}, {wait:?}, {end:?}: {elapsed:?}");
            }
        }
    }
}

#[test]
fn every_end_of_a_producer_comes_in_time() {
    for wait in WAITS {
        for end in [End::Patience, End::Cancelled, End::Deadline, End::Closed] {
            for count in counts_of_senders() {
                let elapsed = paused(of_producer(wait, end, *count));
                assert!(elapsed <= end.bound(), "{count}, {wait:?}, {end:?}: {elapsed:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn entries_of_a_partition_key_that_accepts_nothing_are_back_together_while_others_are_delivered() {
    const DEAD: usize = 1_000;
    let answer = |_: usize, chunk: &[usize]| {
        let verdict = |number: &usize| if *number < DEAD { throttle() } else { Verdict::Accepted };
        Answer::Each(chunk.iter().map(verdict).collect())
    };
    let (mut target, _) = Scripted::new(LIMITS, |_| 1, answer);
    target.partition_key = |number| Some(if number < DEAD { 0 } else { number as u64 });
    let mixed = stream::iter((0..DEAD).flat_map(|number| [DEAD + number, number]));
    let others = stream::iter(2 * DEAD..3 * DEAD).then(|number| async move {
        sleep(Duration::from_millis(100)).await;
        number
    });
    let returned = Arc::new(Mutex::new(Vec::new()));
    let (log, started) = (Arc::clone(&returned), Instant::now());
    let delivery = Delivery::new(target)
        .options(DeliveryOptions::default().give_up_after(PATIENCE))
        .on_undelivered(move |_| {
            log.lock().unwrap().push(started.elapsed());
            ready(())
        });
    let error = delivery.deliver_stream(mixed.chain(others)).await.unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (2_000, DEAD as u64));
    let last = returned.lock().unwrap().last().copied().unwrap();
    assert!(last <= 2 * PATIENCE + ATTEMPT, "{last:?}");
}
