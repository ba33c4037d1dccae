//! The clock of the model.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{Either, select};

pub mod clock {
    //! Moves on from timer to timer.

    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::task::Waker;
    use std::time::Duration;

    #[derive(Default)]
    struct Clock {
        elapsed: Duration,
        has_ended: bool,
        next_timer: u64,
        timers: BTreeMap<(Duration, u64), Waker>,
    }

    thread_local! {
        // All tasks of an execution are on one thread of the machine.
        static CLOCK: RefCell<Clock> = RefCell::default();
        static EPOCH: std::time::Instant = std::time::Instant::now();
    }

    pub(crate) fn restart() {
        let before = CLOCK.take();
        drop(before);
    }

    /// Time that has passed in this execution.
    pub fn elapsed() -> Duration {
        CLOCK.with_borrow(|clock| clock.elapsed)
    }

    pub(super) fn epoch() -> std::time::Instant {
        EPOCH.with(|epoch| *epoch)
    }

    pub(super) fn number() -> u64 {
        CLOCK.with_borrow_mut(|clock| {
            clock.next_timer += 1;
            clock.next_timer
        })
    }

    pub(super) fn set(due: Duration, number: u64, waker: Waker) {
        CLOCK.with_borrow_mut(|clock| clock.timers.insert((due, number), waker));
    }

    pub(super) fn unset(due: Duration, number: u64) {
        let waker = CLOCK.with_borrow_mut(|clock| clock.timers.remove(&(due, number)));
        drop(waker);
    }

    pub(crate) fn stop() {
        CLOCK.with_borrow_mut(|clock| clock.has_ended = true);
    }

    /// A thread of the model.
    pub(crate) fn run() {
        while !CLOCK.with_borrow(|clock| clock.has_ended) {
            let next = CLOCK.with_borrow_mut(|clock| {
                let ((due, _), waker) = clock.timers.pop_first()?;
                clock.elapsed = clock.elapsed.max(due);
                Some(waker)
            });
            if let Some(waker) = next {
                waker.wake();
                shuttle::thread::yield_now();
            } else {
                wait_for_timers();
            }
        }
    }

    /// Without a timer only another task can go on. If none can, the execution is a deadlock.
    fn wait_for_timers() {
        let mut turns = 0;
        while CLOCK.with_borrow(|clock| clock.timers.is_empty() && !clock.has_ended) {
            turns += 1;
            assert!(turns < MOST_TURNS, "deadlock: no task can go on, and no timer runs");
            shuttle::thread::yield_now();
        }
    }

    /// Turns without a timer after which it is taken for a deadlock, since other tasks would have run in between.
    const MOST_TURNS: usize = 10_000;
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(std::time::Instant);

impl Instant {
    pub fn now() -> Self {
        Self(clock::epoch() + clock::elapsed())
    }

    pub fn into_std(self) -> std::time::Instant {
        self.0
    }

    pub fn from_std(instant: std::time::Instant) -> Self {
        Self(instant)
    }

    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }

    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(time).map(Self)
    }

    /// Since the beginning of the execution.
    fn offset(self) -> Duration {
        self.0.saturating_duration_since(clock::epoch())
    }
}

impl From<std::time::Instant> for Instant {
    fn from(instant: std::time::Instant) -> Self {
        Self(instant)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, time: Duration) -> Self {
        Self(self.0 - time)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

#[derive(Debug)]
pub struct Sleep {
    deadline: Instant,
    number: u64,
}

pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep {
        deadline,
        number: clock::number(),
    }
}

pub fn sleep(time: Duration) -> Sleep {
    let now = Instant::now();
    sleep_until(now.checked_add(time).unwrap_or(now + FAR))
}

const FAR: Duration = Duration::from_hours(24 * 365 * 30);

impl Sleep {
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    pub fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        clock::unset(self.deadline.offset(), self.number);
        self.deadline = deadline;
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline.cmp(&Instant::now()) != Ordering::Greater {
            return Poll::Ready(());
        }
        clock::set(self.deadline.offset(), self.number, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        clock::unset(self.deadline.offset(), self.number);
    }
}

pub async fn timeout<F: Future>(time: Duration, future: F) -> Result<F::Output, error::Elapsed> {
    match select(pin!(future), sleep(time)).await {
        Either::Left((output, _)) => Ok(output),
        Either::Right(((), _)) => Err(error::Elapsed),
    }
}

pub mod error {
    use super::fmt;

    #[derive(Debug)]
    pub struct Elapsed;

    impl fmt::Display for Elapsed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("deadline has elapsed")
        }
    }

    impl std::error::Error for Elapsed {}
}
