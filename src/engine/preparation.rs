//! What happens before the first call, and again while the target does not know everything.

use std::future::{pending, poll_fn};
use std::mem;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use tokio::time::{Instant, sleep_until};

use super::health::Watch;
use super::input::FreshEntries;
use super::outcome::{DeliveryEnd, Ledger};
use crate::contract::{ErasedTarget, Fault, Limits};
use crate::guarded::{guarded, panicked};
use crate::options::DeliveryOptions;
use crate::report::Cause;
use crate::time_limit::later;
use crate::time_limit::{passed, within};

/// While the target does not know everything, it prepares again this long after the last time.
const AGAIN: Duration = Duration::from_secs(30);

/// What the preparation has found out.
pub(super) struct PreparationResult {
    pub(super) limits: Limits,
    /// Since when the preparation has failed, if its first attempt was not successful.
    pub(super) failing_since: Option<Instant>,
}

/// Lets the target prepare, if there is anything to deliver. Returns an error when the delivery ends before its first call.
///
/// If the preparation takes longer than the delivery may try, a batch or a stream ends, but its first attempt may take as long as
/// that of a call. Entries of a producer whose time is used up are handed back, and the preparation continues for the others.
pub(super) async fn prepare<E: Send + Sync + 'static>(
    target: &Arc<dyn ErasedTarget<E>>,
    fresh: &mut FreshEntries<'_, E>,
    ledger: &mut Ledger<E>,
    options: &DeliveryOptions,
    watch: &mut Watch,
) -> Result<PreparationResult, DeliveryEnd> {
    let deadline = OptionFuture::from(options.deadline.map(sleep_until));
    let preparation = async {
        if !has_entry(fresh).await {
            return Ok(PreparationResult {
                limits: Limits::new(0, 0),
                failing_since: None,
            });
        }
        let begun = Instant::now();
        let fault = || fault_of(&**target);
        let late = || fault().unwrap_or_else(|| Fault::new("the preparation was not answered"));
        let failed_before = fault().is_some();
        let mut failing_since = None;
        let mut preparing = pin!(watch.over(options, fault, AssertUnwindSafe(target.prepare()).catch_unwind()));
        let mut preparing = poll_fn(|context| {
            let polled = preparing.poll_unpin(context);
            if polled.is_pending() && !failed_before && failing_since.is_none() && fault().is_some() {
                failing_since = Some(Instant::now());
            }
            polled
        });
        let prepared = if options.counts_from_hand_over {
            let mut expired = pin!(hand_back_expired(target, fresh, ledger, options, begun, &late));
            tokio::select! {
                biased;
                prepared = &mut preparing => prepared,
                () = &mut expired => return Err(DeliveryEnd::Outage { lasted: begun.elapsed(), fault: late() }),
            }
        } else {
            let mut prepared = within(options.patience(), Pin::new(&mut preparing)).await;
            if prepared.is_none() && (failed_before || fault().is_none()) {
                let first_attempt = later(begun, options.attempt_timeout);
                let rest = first_attempt.saturating_duration_since(Instant::now());
                prepared = within(rest, Pin::new(&mut preparing)).await;
            }
            let Some(prepared) = prepared else {
                return Err(DeliveryEnd::Outage {
                    lasted: begun.elapsed(),
                    fault: late(),
                });
            };
            prepared
        };
        prepared.map_err(|panic| DeliveryEnd::Stopped(panicked("the target's `prepare`", &*panic)))?;
        let limits = limits_of(&**target).map_err(DeliveryEnd::Stopped)?;
        Ok(PreparationResult { limits, failing_since })
    };
    tokio::select! {
        biased;
        () = options.cancellation.cancelled() => Err(DeliveryEnd::Cancelled),
        Some(()) = deadline => Err(DeliveryEnd::DeadlineReached),
        prepared = preparation => prepared,
    }
}

/// Waits for an entry. Returns whether there is one: the input may end without any.
async fn has_entry<E>(fresh: &mut FreshEntries<'_, E>) -> bool {
    while !fresh.has_next() {
        if fresh.has_ended() {
            return false;
        }
        poll_fn(|context| fresh.poll_news(context)).await;
    }
    true
}

/// Hands back entries of a producer whose time is used up, until the input has ended and none is left.
async fn hand_back_expired<E: Send + Sync + 'static>(
    target: &Arc<dyn ErasedTarget<E>>,
    fresh: &mut FreshEntries<'_, E>,
    ledger: &mut Ledger<E>,
    options: &DeliveryOptions,
    begun: Instant,
    fault: &impl Fn() -> Fault,
) {
    while has_entry(fresh).await {
        let handed_over = fresh.next_handed_over().unwrap_or(begun);
        let expiry = later(handed_over, options.patience());
        passed(expiry.saturating_duration_since(Instant::now())).await;
        let (now, fault) = (Instant::now(), fault());
        while let Some(expired) = fresh.pop_expired(now, options.patience()) {
            let cause = Cause::Outage {
                lasted: now - begun,
                fault: fault.clone(),
            };
            ledger.hand_back(expired, cause);
        }
        ledger.hand_back_awaited(target, options.attempt_timeout);
        while ledger.handing_back().0 > 0 && ledger.next_handed_back().now_or_never().flatten().is_some() {}
    }
}

/// Lets the target of a running delivery prepare again, as long as it does not know everything, and sees what others have let it know.
pub(super) struct RepeatedPreparation<E> {
    target: Arc<dyn ErasedTarget<E>>,
    limits: KnownLimits,
    next: Instant,
    preparing: Option<BoxFuture<'static, Result<(), Fault>>>,
}

/// The limits that the delivery goes by.
struct KnownLimits {
    limits: Option<Limits>,
    /// When the target is asked for them again.
    next: Instant,
}

impl KnownLimits {
    fn of(limits: Option<Limits>) -> Self {
        Self {
            limits,
            next: later(Instant::now(), AGAIN),
        }
    }
}

impl<E: 'static> RepeatedPreparation<E> {
    pub(super) fn new(target: Arc<dyn ErasedTarget<E>>) -> Self {
        Self {
            target,
            limits: KnownLimits::of(None),
            next: later(Instant::now(), AGAIN),
            preparing: None,
        }
    }

    /// The limits, if they are other ones than before: another delivery of the same target may have let it prepare. Looks again after a
    /// while.
    ///
    /// An error is a panic of the target.
    pub(super) fn changed_limits(&mut self, now: Instant) -> Result<Option<Limits>, Fault> {
        if now < self.limits.next {
            return Ok(None);
        }
        let limits = limits_of(&*self.target)?;
        let before = mem::replace(&mut self.limits, KnownLimits::of(Some(limits)));
        Ok((before.limits != Some(limits)).then_some(limits))
    }

    /// Ready when the target has prepared again, with its limits; never when it knows everything. Cancel-safe.
    ///
    /// An error is a panic of the target.
    pub(super) async fn prepared(&mut self) -> Result<Limits, Fault> {
        if fault_of(&*self.target).is_none() && self.preparing.is_none() {
            return pending().await;
        }
        sleep_until(self.next).await;
        let target = &self.target;
        let preparing = self.preparing.get_or_insert_with(|| {
            let target = Arc::clone(target);
            let preparing = async move { target.prepare().await };
            let caught = AssertUnwindSafe(preparing).catch_unwind();
            caught
                .map(|prepared| prepared.map_err(|panic| panicked("the target's `prepare`", &*panic)))
                .boxed()
        });
        let prepared = preparing.await;
        self.preparing = None;
        self.next = later(Instant::now(), AGAIN);
        let limits = prepared.and_then(|()| limits_of(&*self.target))?;
        self.limits = KnownLimits::of(Some(limits));
        Ok(limits)
    }
}

fn fault_of<E>(target: &dyn ErasedTarget<E>) -> Option<Fault> {
    guarded("the target's `preparation_fault`", || target.preparation_fault()).ok()?
}

fn limits_of<E>(target: &dyn ErasedTarget<E>) -> Result<Limits, Fault> {
    guarded("the target's `limits`", || target.limits())
}
