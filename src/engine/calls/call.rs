//! One call and its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;
use tracing::{Instrument, Span, debug_span};

use super::attempt_timeout::AttemptTimeout;
use super::key_counts::KeyCounts;
use super::settle::{Acceptance, EndedCall, accepts_all, settle};
use crate::contract::{Answer, ErasedTarget, Fault, Rejection, Verdict};
use crate::engine::entry::Chunk;
use crate::engine::retry::Bisection;
use crate::events::CALL;
use crate::guarded::panicked;
use crate::metrics::Metrics;
use crate::pace::Departure;
use crate::time_limit::within;

/// One call to make.
pub(crate) struct Call<E> {
    pub(crate) chunk: Chunk<E>,
    /// The bisection that the chunk belongs to, if it is a part of a refused call.
    pub(crate) bisection: Option<Bisection<E>>,
    pub(crate) departure: Departure,
}

/// What all calls of a delivery share.
pub(crate) struct Caller<E> {
    pub(crate) target: Arc<dyn ErasedTarget<E>>,
    pub(crate) attempt_timeout: AttemptTimeout,
    /// Cancelled when calls in flight are abandoned.
    pub(crate) abandoned: CancellationToken,
    /// The span of the delivery.
    pub(crate) span: Span,
    pub(crate) metrics: Metrics,
}

/// Makes one call and settles it. The entries survive whatever happens to the call: a timeout, an abandonment, a panic. The
/// bisection of the chunk is returned with them.
pub(crate) async fn make<E: Send + Sync>(caller: &Caller<E>, call: Call<E>) -> EndedCall<E> {
    let span = debug_span!(
        target: CALL,
        parent: &caller.span,
        "call",
        sent = call.chunk.len(),
        retried = Empty,
        accepted = Empty,
        condition_failed = Empty,
        throttled = Empty,
        failed = Empty,
        refused = Empty,
        throttled_by = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    );
    if !span.is_disabled() {
        let retried = call.chunk.states.iter().filter(|state| state.history.is_some());
        span.record("retried", retried.count());
    }
    let settled = pin!(make_it(caller, call)).instrument(span.clone()).await;
    settled.record(&span);
    settled
}

async fn make_it<E: Send + Sync>(caller: &Caller<E>, call: Call<E>) -> EndedCall<E> {
    let Caller {
        target,
        attempt_timeout,
        abandoned,
        metrics,
        ..
    } = caller;
    let Call {
        chunk,
        bisection,
        departure,
    } = call;
    let sent_at = departure.sent_at();
    let counts_units = departure.counts_units();
    let mut panic = None;
    let timeout = attempt_timeout.of_call(&chunk.states, sent_at);
    let (answer, units) = {
        // A target may panic before its first wait.
        let call = pin!(async { target.send(&chunk.entries, counts_units).await });
        let call = AssertUnwindSafe(within(timeout.limit, call)).catch_unwind();
        tokio::select! {
            biased;
            ended = call => match ended {
                Ok(Some(answer)) => answer,
                Ok(None) => {
                    attempt_timeout.timed_out(timeout);
                    (lost("attempt timeout"), None)
                }
                Err(payload) => {
                    let fault = panicked("the target's `send`", &*payload).ambiguous();
                    panic = Some(fault.clone());
                    (Answer::Stop(fault), None)
                }
            },
            () = abandoned.cancelled() => (lost("abandoned"), None),
        }
    };
    let answered_at = Instant::now();
    if let Some(wait) = answer.named_wait() {
        departure.hold(wait);
    }
    if is_of_service(&answer) {
        attempt_timeout.answered(answered_at - sent_at);
    }
    let has_rejections = !accepts_all(&answer);
    let mut keys = KeyCounts::of(&chunk.states, || departure.counts_keys(has_rejections));
    // The entry is delivered, whatever its handler sees of it.
    let restore = |entry: &mut E| drop(catch_unwind(AssertUnwindSafe(|| target.restore(entry))));
    let acceptance = Acceptance {
        metrics,
        restore: &restore,
    };
    let mut settled = settle(chunk, answer, sent_at, answered_at, &acceptance);
    settled.bisection = bisection;
    settled.panic = panic;
    keys.settle(&settled);
    departure.answered(&settled.cost, keys.outcomes(), units);
    settled
}

/// Whether the service has answered, in time or not.
fn is_of_service(answer: &Answer) -> bool {
    match answer {
        Answer::Whole(Verdict::Rejected(rejection, _)) => !rejection.is_unsent() && *rejection != Rejection::Connection,
        _ => true,
    }
}

/// The answer of a call whose outcome is not known.
fn lost(what: &'static str) -> Answer {
    Answer::Whole(Verdict::Rejected(Rejection::Connection, Fault::new(what).ambiguous()))
}
