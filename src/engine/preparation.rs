//! What happens before the first call.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures::FutureExt;
use futures::future::OptionFuture;
use tokio::time::sleep_until;

use super::health::Watch;
use super::input::{Fresh, Input};
use super::outcome::Ending;
use crate::guarded::{guarded, panicked};
use crate::options::DeliveryOptions;
use crate::targets::{BatchTarget, Limits};
use crate::time_limit::within;

/// Lets the target prepare, if there is anything to deliver, and returns its limits. Returns an error when the delivery
/// ends before its first call.
pub(super) async fn prepare<T, I>(
    target: &T,
    fresh: &mut Fresh<I>,
    options: &DeliveryOptions,
    watch: &mut Watch,
) -> Result<Limits, Ending>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    let deadline = OptionFuture::from(options.deadline.map(sleep_until));
    // The preparation may take as long as an attempt, even when entries may be tried for less.
    let patience = options.patience().max(options.attempt_timeout);
    let preparation = async {
        while !fresh.has_next() {
            if fresh.has_ended() {
                return Ok(Limits::new(0, 0));
            }
            poll_fn(|context| fresh.poll_news(context)).await;
        }
        let limits = guarded("the target's `limits`", || target.limits())?;
        let preparing = AssertUnwindSafe(target.prepare()).catch_unwind();
        let fault = || guarded("the target's `preparation_fault`", || target.preparation_fault()).ok()?;
        // If the preparation timed out, the answer to the first call tells what is wrong.
        if let Some(Err(panic)) = within(patience, pin!(watch.over(options, fault, preparing))).await {
            return Err(panicked("the target's `prepare`", &*panic));
        }
        let strategy = &options.gate.strategy;
        if strategy.counts_units()
            && let Some(units) = guarded("the target's `throughput`", || target.throughput())?
        {
            strategy.expect_throughput(units);
        }
        Ok(limits)
    };
    tokio::select! {
        biased;
        () = options.cancellation.cancelled() => Err(Ending::Cancelled),
        Some(()) = deadline => Err(Ending::DeadlineReached),
        prepared = preparation => prepared.map_err(Ending::Stopped),
    }
}
