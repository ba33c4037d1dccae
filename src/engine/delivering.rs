//! A delivery on its way, and how it gets ready.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::OptionFuture;
use tokio::time::{sleep_until, timeout};

use super::bisection::Bisections;
use super::call_pool::CallPool;
use super::ending::Ending;
use super::fresh::Fresh;
use super::guarded::{guarded, panicked};
use super::hand_backs::HandBacks;
use super::input::Input;
use super::key_lines::KeyLines;
use super::lanes::Lanes;
use super::ledger::Ledger;
use super::refusals::Refusals;
use super::retry_queue::RetryQueue;
use super::setup::Setup;
use super::slots::Slots;
use super::tracked_entry::Chunk;
use super::watch::{Watch, destination};
use crate::options::DeliveryOptions;
use crate::report::Undelivered;
use crate::targets::{BatchTarget, Fault, Limits};

/// One delivery on its way.
pub(super) struct Delivering<T: BatchTarget, I: Input<Entry = T::Entry>> {
    pub(super) target: Arc<T>,
    pub(super) limits: Limits,
    pub(super) options: DeliveryOptions,
    pub(super) fresh: Fresh<I>,
    pub(super) retry_queue: RetryQueue<T::Entry>,
    pub(super) lanes: Lanes<T::Entry>,
    pub(super) key_lines: KeyLines<T::Entry>,
    /// How often a key had become hot when the lines were brought in accord with that. From the first time on, entries wait by
    /// their keys.
    pub(super) hot_keys_seen: u64,
    /// The strategy paces single partition keys.
    pub(super) paces_keys: bool,
    pub(super) bisections: Bisections<T::Entry>,
    pub(super) slots: Slots,
    /// Chunks whose entries have arrived, for the next ones.
    pub(super) emptied: Vec<Chunk<T::Entry>>,
    pub(super) calls: CallPool<T>,
    pub(super) setup: Setup,
    /// That the target panicked outside of a call, if it did.
    pub(super) fault: OnceLock<Fault>,
    pub(super) refusals: Refusals,
    pub(super) ledger: Ledger<T::Entry>,
    pub(super) watch: Watch,
    pub(super) hand_backs: HandBacks<T::Entry>,
    /// What was handed back after its receipt was dropped.
    pub(super) unheard: Vec<Undelivered<T::Entry>>,
}

impl<T, I> Delivering<T, I>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    pub(super) fn new(target: Arc<T>, input: I, options: DeliveryOptions) -> Self {
        options.progress.figures().begin(&options.gate);
        Self {
            limits: Limits::new(0, 0),
            calls: CallPool::new(Arc::clone(&target), options.attempt_timeout),
            watch: Watch::new(destination(&*target)),
            target,
            fresh: Fresh::new(input),
            retry_queue: RetryQueue::new(),
            lanes: Lanes::new(),
            key_lines: KeyLines::new(),
            hot_keys_seen: 0,
            paces_keys: options.gate.paces_keys(),
            bisections: Bisections::new(),
            slots: Slots::new(options.concurrency),
            emptied: Vec::new(),
            setup: Setup::new(),
            fault: OnceLock::new(),
            refusals: Refusals::default(),
            ledger: Ledger::new(options.progress.clone()),
            hand_backs: HandBacks::new(),
            unheard: Vec::new(),
            options,
        }
    }

    /// Lets the target get ready, if there is anything to deliver. Returns why the delivery ends before it began.
    pub(super) async fn prepare(&mut self) -> Option<Ending> {
        let deadline = OptionFuture::from(self.options.deadline.map(sleep_until));
        // A single call may take as long as an attempt, however little time its entry has for retries.
        let patience = self.options.patience().max(self.options.attempt_timeout);
        let preparation = async {
            while !self.fresh.has_next() {
                if self.fresh.has_ended() {
                    return Ok(());
                }
                poll_fn(|context| self.fresh.poll_news(context)).await;
            }
            self.limits = guarded("the target's `limits`", || self.target.limits())?;
            let preparing = AssertUnwindSafe(self.target.prepare()).catch_unwind();
            let fault = || guarded("the target's `preparation_fault`", || self.target.preparation_fault()).ok()?;
            match timeout(patience, self.watch.over(&self.options, fault, preparing)).await {
                Ok(prepared) => prepared.map_err(|panic| panicked("the target's `prepare`", &*panic)),
                // The first call says what is wrong.
                Err(_) => Ok(()),
            }
        };
        tokio::select! {
            biased;
            () = self.options.cancellation.cancelled() => Some(Ending::Cancelled),
            Some(()) = deadline => Some(Ending::DeadlineReached),
            prepared = preparation => prepared.err().map(Ending::Stopped),
        }
    }

    /// Whether everything is settled.
    pub(super) fn is_done(&self) -> bool {
        let nothing_left =
            self.retry_queue.len() == 0 && self.fresh.len() + self.key_lines.len() == 0 && self.bisections.is_empty();
        nothing_left && self.calls.is_empty() && self.fresh.has_ended()
    }
}
