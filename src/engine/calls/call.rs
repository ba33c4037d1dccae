//! One call and its answer.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;
use tracing::{Instrument, Span, debug_span};

use super::key_counts::KeyCounts;
use super::settle::{Settled, accepts_all, settle};
use crate::engine::entry::Chunk;
use crate::engine::retry::Bisection;
use crate::events::CALL;
use crate::guarded::panicked;
use crate::pace::Departure;
use crate::targets::{Answer, BatchTarget, Fault, Rejection, Verdict};

/// One call that is to be made.
pub(crate) struct Call<E> {
    pub(crate) chunk: Chunk<E>,
    /// What the chunk is a part of, when a call was refused before.
    pub(crate) bisection: Option<Bisection<E>>,
    pub(crate) departure: Departure,
}

/// What all calls of a delivery are made with.
pub(crate) struct Caller<T> {
    pub(crate) target: Arc<T>,
    pub(crate) attempt_timeout: Duration,
    /// Cancelled when calls in flight are given up.
    pub(crate) abandoned: CancellationToken,
    /// The delivery that the calls are made for.
    pub(crate) span: Span,
}

/// Makes one call and settles it. No entry is lost whatever happens to the call: a timeout, an abandonment, a panic. The
/// bisection that the chunk is a part of comes back with it.
pub(crate) async fn make<T: BatchTarget>(caller: &Caller<T>, call: Call<T::Entry>) -> Settled<T::Entry> {
    let span = debug_span!(
        target: CALL,
        parent: &caller.span,
        "call",
        sent = call.chunk.len(),
        retried = Empty,
        accepted = Empty,
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

async fn make_it<T: BatchTarget>(caller: &Caller<T>, call: Call<T::Entry>) -> Settled<T::Entry> {
    let Caller {
        target,
        attempt_timeout,
        abandoned,
        ..
    } = caller;
    let Call {
        chunk,
        bisection,
        departure,
    } = call;
    let sent_at = departure.sent_at();
    let counts_units = departure.counts_units();
    let (answer, units) = {
        // It stays where it is made: the SDK's future of a call has kilobytes, and each layer around it would move them.
        let call = pin!(async {
            if counts_units {
                target.send_metered(&chunk.entries).await
            } else {
                (target.send(&chunk.entries).await, None)
            }
        });
        let call = AssertUnwindSafe(async { timeout(*attempt_timeout, call).await }).catch_unwind();
        tokio::select! {
            biased;
            ended = call => match ended {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => (lost("attempt timeout"), None),
                Err(panic) => (Answer::Stop(panicked("the target's `send`", &*panic).may_have_been_applied()), None),
            },
            () = abandoned.cancelled() => (lost("abandoned"), None),
        }
    };
    let has_rejections = !accepts_all(&answer);
    let mut keys = KeyCounts::of(&chunk.states, |()| departure.counts_keys(has_rejections));
    let mut settled = settle(chunk, answer, sent_at, Instant::now());
    settled.bisection = bisection;
    keys.settle(&settled);
    departure.answered(&settled.cost, keys.outcomes(), units);
    settled
}

/// It is not known what became of the call.
fn lost(what: &'static str) -> Answer {
    Answer::Whole(Verdict::Rejected(
        Rejection::Connection,
        Fault::new(what).may_have_been_applied(),
    ))
}
