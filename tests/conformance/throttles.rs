//! A throttle slows the pace down, whatever the service calls it.

use std::sync::Mutex;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::conformance::{Fixture, Reply, Statement};
use aws_batch_delivery::targets::Limits;
use tokio::time::Instant;

/// Entries of a call, in all services, so that a delivery has many calls.
const FULL_CALL: usize = 10;

/// Entries that the bucket accepts in a second, where calls carry many and where each is a call: a call takes the SDK a millisecond here.
const CAPACITY: usize = 1_000;
const CAPACITY_OF_SINGLE: usize = 200;

/// Seconds of the capacity of a delivery. The search for the capacity costs the same for any number of them.
const SECONDS: usize = 5;

/// Answers a call with the entries of these numbers.
pub(crate) type Answer = Box<dyn Fn(&[usize]) -> Reply + Send + Sync>;

/// A service with a token bucket.
struct Bucket {
    /// Whether a call that does not fit is throttled as a whole.
    whole_calls: bool,
    capacity: f64,
    /// The tokens at this time.
    level: Mutex<(f64, Instant)>,
}

impl Bucket {
    fn call(&self, numbers: &[usize]) -> Reply {
        let mut level = self.level.lock().unwrap();
        let now = Instant::now();
        let tokens = (level.0 + self.capacity * (now - level.1).as_secs_f64()).min(self.capacity);
        let fitting = (1..=numbers.len()).take_while(|count| float(*count) <= tokens).count();
        let is_throttled = self.whole_calls && fitting < numbers.len();
        let taken = if is_throttled { 0 } else { fitting };
        *level = (tokens - float(taken), now);
        if is_throttled {
            return Reply::Whole(Statement::Throttled);
        }
        let said = |place| {
            if place < taken {
                Statement::Accepted
            } else {
                Statement::Throttled
            }
        };
        Reply::Each {
            said: (0..numbers.len()).map(said).collect(),
            strangers: 0,
        }
    }
}

/// With the default strategy, a bucket that throttles with this code rejects at most 5% of what it accepts, whether it throttles
/// single entries or whole calls.
pub(crate) async fn paces<F: Fixture>(code: &str, fixture: &F, target: impl Fn(Answer, Limits) -> F::Target) {
    for whole_calls in [false, true] {
        let target = |answer| target(answer, Limits::new(FULL_CALL, 100_000));
        fills_a_bucket(code, fixture, target, whole_calls, CAPACITY).await;
    }
}

/// The same of a target whose calls have one entry each.
pub(crate) async fn paces_single<F: Fixture>(code: &str, fixture: &F, target: impl Fn(Answer) -> F::Target) {
    fills_a_bucket(code, fixture, target, true, CAPACITY_OF_SINGLE).await;
}

async fn fills_a_bucket<F: Fixture>(
    code: &str,
    fixture: &F,
    target: impl Fn(Answer) -> F::Target,
    whole_calls: bool,
    capacity: usize,
) {
    let bucket = Bucket {
        whole_calls,
        capacity: float(capacity),
        level: Mutex::new((0.0, Instant::now())),
    };
    let target = target(Box::new(move |numbers: &[usize]| bucket.call(numbers)));
    let entries: Vec<_> = (0..SECONDS * capacity).map(|number| fixture.entry(number, 1)).collect();
    let count = entries.len();
    let report = Delivery::new(target).deliver(entries).await.unwrap();
    let what = if whole_calls { "calls" } else { "entries" };
    assert_eq!(report.delivered, count as u64);
    assert!(
        report.resubmitted * 20 <= report.delivered,
        "{code} for {what}: {} were sent again to deliver {count}",
        report.resubmitted
    );
}

fn float(entries: usize) -> f64 {
    u32::try_from(entries).map_or(f64::INFINITY, f64::from)
}
