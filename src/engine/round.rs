//! One call and its answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::cases::Case;
use super::guarded::panicked;
use super::settle::{Settled, settle};
use super::ticket::Chunk;
use super::turn::Departure;
use crate::target::{Answer, BatchTarget, Fault, Rejection, Verdict};

/// Makes one call and settles it. No entry is lost whatever happens to the call: a timeout, an abandonment, a panic. The case
/// that the chunk is a part of comes back with it.
pub(crate) async fn round<T: BatchTarget>(
    target: Arc<T>,
    mut chunk: Chunk<T::Entry>,
    case: Option<Case<T::Entry>>,
    departure: Departure,
    attempt_timeout: Duration,
    abandoned: CancellationToken,
) -> Settled<T::Entry> {
    let sent_at = departure.sent_at();
    chunk.tickets.iter_mut().for_each(|ticket| ticket.sent(sent_at));
    let counts_units = departure.counts_units();
    let call = async {
        if counts_units {
            target.send_metered(&chunk.entries).await
        } else {
            (target.send(&chunk.entries).await, None)
        }
    };
    let call = AssertUnwindSafe(async { timeout(attempt_timeout, call).await }).catch_unwind();
    let (answer, units) = tokio::select! {
        biased;
        ended = call => match ended {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => (lost("attempt timeout"), None),
            Err(panic) => (Answer::Stop(panicked("the target", &*panic).may_have_been_applied()), None),
        },
        () = abandoned.cancelled() => (lost("abandoned"), None),
    };
    let mut settled = settle(chunk, answer, sent_at, Instant::now());
    settled.case = case;
    departure.answered(&settled.cost, units);
    settled
}

/// Nobody knows what became of the call.
fn lost(what: &'static str) -> Answer {
    Answer::Whole(Verdict::Rejected(
        Rejection::Connection,
        Fault::new(what).may_have_been_applied(),
    ))
}
