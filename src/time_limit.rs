//! Time limits that do not blame a service for time in which this process was not running.
//!
//! A process may be frozen: a Lambda function between invocations, a laptop that is closed, a `SIGSTOP`. When it continues,
//! every timer is over, and answers that have arrived meanwhile are still in the socket.

use std::future::pending;
use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

/// A timer that fires this much later than it was due was held up: the process was frozen, or its threads were blocked. A
/// busy runtime is late by milliseconds.
const HELD_UP: Duration = Duration::from_secs(1);

/// What is waited for has this long, or its whole limit if that is shorter, from the moment at which the process continues. An
/// answer in the socket takes milliseconds; one that has to be transmitted again takes a second or two.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The end of a limit is this long at most, and is waited for in steps. Before each step the runtime has looked at its
/// sockets, and a task that reads an answer from one has had a turn.
const END: Duration = Duration::from_millis(20);

/// The steps of the [end](END) of a limit: the connection is read, the answer is passed on, its body is read, and one more.
const STEPS: u32 = 4;

/// Whether a moment at which something was due has passed without this process.
pub(crate) fn is_held_up(due: Instant, now: Instant) -> bool {
    now.saturating_duration_since(due) > HELD_UP
}

/// Awaits the future for at most `limit`; `None` if it takes longer. The future is always asked before time counts as over.
///
/// It is pinned by the caller, because it may be several kilobytes large and would otherwise be moved.
pub(crate) async fn within<F: Future>(limit: Duration, mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut passed = pin!(passed(limit));
    tokio::select! {
        biased;
        ended = &mut future => Some(ended),
        () = &mut passed => None,
    }
}

/// Waits until `limit` has passed. If the process was frozen meanwhile, it waits for the [grace](GRACE) from then on.
pub(crate) async fn passed(limit: Duration) {
    let step = END.min(limit / STEPS) / STEPS;
    let end = step * STEPS;
    let mut rest = limit.saturating_sub(end);
    loop {
        let Some(due) = Instant::now().checked_add(rest) else {
            return pending().await;
        };
        sleep_until(due).await;
        if !is_held_up(due, Instant::now()) {
            break;
        }
        rest = GRACE.min(limit).saturating_sub(end);
    }
    for _ in 0..STEPS {
        sleep(step).await;
    }
}

/// About 30 years: the furthest moment that tokio's timers support.
const FAR: Duration = Duration::from_secs(24 * 365 * 30 * 60 * 60);

/// `delay` after `now`, or the furthest moment that the clock supports.
pub(crate) fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay.min(FAR)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::task::yield_now;
    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_limit_is_kept_to_the_millisecond() {
        for millis in [1, 7, 100, 3_000, 30_000] {
            let (limit, started) = (Duration::from_millis(millis), Instant::now());
            assert_eq!(within(limit, pin!(pending::<()>())).await, None);
            let took = started.elapsed();
            assert!(
                took >= limit && took < limit + Duration::from_millis(5),
                "{limit:?}: {took:?}"
            );
        }
    }

    /// The limit of a future that ends `turns` turns of the runtime after it was frozen for `freeze`.
    async fn after_freeze(freeze: Duration, turns: u32) -> Option<()> {
        let (answer, answered) = oneshot::channel();
        let waiting = tokio::spawn(async { within(LIMIT, pin!(async { answered.await.unwrap() })).await });
        yield_now().await;
        advance(freeze).await;
        for _ in 0..turns {
            yield_now().await;
        }
        answer.send(()).unwrap();
        waiting.await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_there_after_a_freeze_is_read_before_the_limit_counts() {
        for freeze in [
            LIMIT.mul_f64(0.999),
            LIMIT,
            LIMIT + HELD_UP / 2,
            2 * LIMIT,
            1_000 * LIMIT,
        ] {
            for turns in 0..3 {
                assert!(after_freeze(freeze, turns).await.is_some(), "{freeze:?}, {turns}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_after_a_freeze_has_the_grace_and_no_more() {
        let waiting = tokio::spawn(async { within(LIMIT, pin!(pending::<()>())).await });
        yield_now().await;
        advance(33 * LIMIT).await;
        let went_on = Instant::now();
        assert_eq!(waiting.await.unwrap(), None);
        let waited = went_on.elapsed();
        assert!(waited + END > GRACE && waited < GRACE + END, "{waited:?}");
    }
}
