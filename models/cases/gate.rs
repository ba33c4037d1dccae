//! The queue in front of the shared strategy.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::{join_all, select};
use tokio::task::{spawn, yield_now};
use tokio::time::{Instant, clock, sleep};

use super::strategies::{Closed, Limited, Paced};
use crate::backoff::{Outcome, Waiter};
use crate::pace::{Departure, Gate, Permit, QueuedUp};

const CALLERS: usize = 3;

async fn permit(place: &mut QueuedUp, waiter: Waiter) -> Permit {
    poll_fn(|context| place.poll_permit(context, &waiter)).await
}

fn answer(departure: Departure) {
    let outcome = Outcome::new(departure.sent_at().into_std(), Instant::now().into_std()).with_accepted(1);
    departure.answered(&outcome, &mut [], None);
}

/// Waits for a permit, makes a call of one entry, and ends it.
async fn call(gate: Arc<Gate>) {
    let mut place = QueuedUp::at(&gate);
    let permit = permit(&mut place, Waiter::new(1)).await;
    drop(place);
    let departure = permit.depart(1);
    yield_now().await;
    answer(departure);
}

async fn all(tasks: impl IntoIterator<Item = tokio::task::JoinHandle<()>>) {
    for ended in join_all(tasks).await {
        ended.expect("no task is aborted");
    }
}

/// With at most one call in flight, the end of each lets the next one leave.
pub async fn the_end_of_a_call_lets_the_next_one_leave() {
    let gate = Arc::new(Gate::new(Limited::to(1)));
    all((0..CALLERS).map(|_| spawn(call(Arc::clone(&gate))))).await;
}

/// The same while one caller is dropped as it waits, one does not use its permit, one drops its call, and one takes a permit only
/// if it gets one without waiting.
pub async fn callers_that_are_dropped_hold_up_no_other() {
    let gate = Arc::new(Gate::new(Limited::to(1)));
    let gone = spawn({
        let gate = Arc::clone(&gate);
        async move {
            let mut place = QueuedUp::at(&gate);
            let _ = select(pin!(permit(&mut place, Waiter::new(1))), pin!(yield_now())).await;
        }
    });
    let unused = spawn({
        let gate = Arc::clone(&gate);
        async move {
            let mut place = QueuedUp::at(&gate);
            drop(permit(&mut place, Waiter::new(1)).await);
        }
    });
    let dropped = spawn({
        let gate = Arc::clone(&gate);
        async move {
            let mut place = QueuedUp::at(&gate);
            drop(permit(&mut place, Waiter::new(1)).await.depart(1));
        }
    });
    let at_once = spawn({
        let gate = Arc::clone(&gate);
        async move {
            if let Some(permit) = Permit::at_once(&gate, &Waiter::new(1)) {
                answer(permit.depart(1));
            }
        }
    });
    let caller = spawn(call(Arc::clone(&gate)));
    all([gone, unused, dropped, at_once, caller]).await;
}

/// Calls leave in the order of the queue, and a later one passes none of them.
pub async fn calls_leave_in_the_order_of_the_queue() {
    let strategy = Arc::new(Limited::to(1));
    let gate = Arc::new(Gate::new(Arc::clone(&strategy)));
    let first = Permit::at_once(&gate, &Waiter::new(100))
        .expect("nothing is in flight")
        .depart(1);
    let places = (0..CALLERS).map(|number| {
        let waiter = Waiter::new(number + 1);
        let mut place = QueuedUp::at(&gate);
        let polled = place.poll_permit(&mut Context::from_waker(Waker::noop()), &waiter);
        assert!(matches!(polled, Poll::Pending), "a call is in flight");
        spawn(async move {
            let permit = permit(&mut place, waiter).await;
            drop(place);
            let departure = permit.depart(1);
            yield_now().await;
            answer(departure);
        })
    });
    let places: Vec<_> = places.collect();
    let late = spawn({
        let gate = Arc::clone(&gate);
        async move {
            if let Some(permit) = Permit::at_once(&gate, &Waiter::new(CALLERS + 1)) {
                answer(permit.depart(1));
            }
        }
    });
    yield_now().await;
    answer(first);
    all(places.into_iter().chain([late])).await;
    let admitted = &strategy.state.lock().unwrap().admitted;
    let in_line: Vec<_> = admitted.iter().filter(|entries| **entries <= CALLERS).collect();
    assert!(in_line.is_sorted(), "overtaken: {admitted:?}");
    let of_late = admitted.iter().position(|entries| *entries == CALLERS + 1);
    assert!(
        of_late.is_none_or(|place| place == admitted.len() - 1),
        "a call that was not in the queue passed others: {admitted:?}"
    );
}

/// The first in the queue is no longer polled, like a suspended arm of a `select!`: the queue skips it.
pub async fn a_caller_that_is_not_polled_is_skipped() {
    let gate = Arc::new(Gate::new(Limited::to(1)));
    let first = Permit::at_once(&gate, &Waiter::new(1))
        .expect("nothing is in flight")
        .depart(1);
    let mut still = QueuedUp::at(&gate);
    let polled = still.poll_permit(&mut Context::from_waker(Waker::noop()), &Waiter::new(1));
    assert!(matches!(polled, Poll::Pending), "a call is in flight");
    let caller = spawn(call(Arc::clone(&gate)));
    yield_now().await;
    answer(first);
    all([caller]).await;
    // The strategy says an hour.
    assert!(
        clock::elapsed() < Duration::from_secs(1),
        "it waits for a caller that is not polled"
    );
}

/// One call leaves every ten milliseconds: none is late.
pub async fn a_call_leaves_as_soon_as_the_pace_allows() {
    let interval = Duration::from_millis(10);
    let gate = Arc::new(Gate::new(Paced::by(interval)));
    all((0..CALLERS).map(|_| spawn(call(Arc::clone(&gate))))).await;
    let least = interval * u32::try_from(CALLERS - 1).expect("they are few");
    assert_eq!(clock::elapsed(), least, "a wake-up was lost");
}

/// Calls that wait for a strategy that lets none leave are let through when it is reset.
pub async fn a_reset_reaches_all_that_wait() {
    let gate = Arc::new(Gate::new(Closed::default()));
    let callers: Vec<_> = (0..CALLERS).map(|_| spawn(call(Arc::clone(&gate)))).collect();
    yield_now().await;
    gate.reset();
    all(callers).await;
}

/// The service has named a wait of an hour, and accepts a call that left later: those that wait leave at once.
pub async fn the_end_of_a_named_wait_reaches_all_that_wait() {
    let moment = Duration::from_millis(1);
    let gate = Arc::new(Gate::new(Limited::to(CALLERS + 2)));
    let leave = || {
        Permit::at_once(&gate, &Waiter::new(1))
            .expect("few are in flight")
            .depart(1)
    };
    let rejected = leave();
    sleep(moment).await;
    let accepted = leave();
    rejected.hold(Duration::from_hours(1));
    drop(rejected);
    let callers: Vec<_> = (0..CALLERS).map(|_| spawn(call(Arc::clone(&gate)))).collect();
    yield_now().await;
    answer(accepted);
    all(callers).await;
    assert_eq!(clock::elapsed(), moment, "a wake-up was lost");
}
