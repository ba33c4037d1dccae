//! One delivery to a service under test, and the check of its result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{Fixture, Plan, Service, Statement};
use crate::backoff::Exponential;
use crate::contract::{BatchTarget, Limits};
use crate::delivery::Delivery;
use crate::disposition::Disposition;
use crate::options::DeliveryOptions;
use crate::report::{Cause, Undelivered};

/// Checks the target with `cases` random deliveries, and with one at each limit.
///
/// Run it on a paused clock, `#[tokio::test(start_paused = true)]`, unless the target makes its calls over sockets. The
/// cases are the same in every run.
///
/// # Panics
/// When the target breaks its contract. The message names the case, the entry and what happened to it.
pub async fn check<F: Fixture>(fixture: F, cases: u64) {
    // In the futures of their callers they would take kilobytes.
    Box::pin(at_the_limits(&fixture)).await;
    for case in 0..cases {
        Box::pin(at_random(&fixture, case)).await;
    }
}

/// Entries that are delivered to check the limits, in calls: two full calls and a part of one.
const BEYOND_THE_LIMIT: f64 = 2.5;

/// Byte limits above this are not tried: the entries would not fit the memory.
const LARGEST_TRIAL: usize = 1 << 30;

/// Checks that calls are split by the number of entries and by their bytes, and that an entry that is too large is handed
/// back.
async fn at_the_limits<F: Fixture>(fixture: &F) {
    let service = Service::new(Plan::default(), 0);
    let limits = fixture.target(service.clone(), None).limits();
    let most = limits.entries.max(1);
    let count = scaled(most, BEYOND_THE_LIMIT);
    let entries = (0..count).map(|number| (number, 0)).collect();
    let outcome = deliver(fixture, &service, None, entries, 0).await;
    outcome.assert_kept(&service, &limits, "as many entries as fill two calls and a half");
    let fullest = service.calls().iter().map(Vec::len).max().unwrap_or_default();
    let largest = outcome.sizes.values().copied().max().unwrap_or_default();
    let full = most.min(limits.bytes / largest.max(1));
    assert!(
        fullest >= full,
        "the fullest call had {fullest} entries, and {full} fit into one"
    );
    if limits.bytes <= LARGEST_TRIAL {
        at_the_limit_of_bytes(fixture, limits).await;
        assert_sizes_grow(fixture).await;
    }
}

async fn at_the_limit_of_bytes<F: Fixture>(fixture: &F, limits: Limits) {
    // Entries so large that fewer than a full call's number fill the bytes of a call.
    let service = Service::new(Plan::default(), 0);
    let bytes = (limits.bytes / 4).min(limits.entry_bytes.saturating_sub(1_024));
    let count = scaled(limits.bytes / bytes.max(1), BEYOND_THE_LIMIT).min(limits.entries.max(1).saturating_mul(4));
    let entries = (0..count).map(|number| (number, bytes)).collect();
    let outcome = deliver(fixture, &service, None, entries, 0).await;
    outcome.assert_kept(&service, &limits, "entries of a quarter of a call");

    let service = Service::new(Plan::default(), 0);
    let entries = vec![(0, 0), (1, limits.bytes + 1), (2, 0)];
    let outcome = deliver(fixture, &service, None, entries, 0).await;
    assert_eq!(
        service.record(1).sent,
        0,
        "an entry that is larger than a call was sent"
    );
    let causes = outcome.handed_back.get(&1);
    assert!(
        causes.is_some_and(|entry| matches!(entry.cause, Cause::Invalid(_))),
        "an entry that is larger than a call is not invalid"
    );
    assert_eq!(
        outcome.delivered, 2,
        "the neighbours of an entry that is larger than a call"
    );
}

/// The calls are checked with the sizes of the target itself, so these must distinguish a large entry from a small one.
async fn assert_sizes_grow<F: Fixture>(fixture: &F) {
    let target = fixture.target(Service::new(Plan::default(), 0), None);
    target.prepare().await;
    let size = |bytes| target.check(&fixture.entry(1, bytes)).ok();
    if let (Some(small), Some(large)) = (size(0), size(200)) {
        assert!(
            large >= small.saturating_add(100),
            "an entry with 200 bytes more counts {large} bytes instead of {small}"
        );
    }
}

/// A delivery of random size, to a service with random failures.
async fn at_random<F: Fixture>(fixture: &F, case: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(case);
    let entries = random.random_range(1..60);
    let is_poisoned = |_: &usize| random.random_bool(0.05);
    let can_refuse = fixture.refuses_calls() || fixture.entry_replies().contains(&Statement::Refused);
    let poisoned: Vec<usize> = (0..entries).filter(is_poisoned).filter(|_| can_refuse).collect();
    let plan = Plan {
        entry_replies: fixture.entry_replies().to_vec(),
        answers_for_unsent_entries: fixture.answers_for_unsent_entries(),
        refuses_calls: fixture.refuses_calls()
            && (random.random_bool(0.5) || !fixture.entry_replies().contains(&Statement::Refused)),
        trouble: random.random_range(0.0..0.6),
        poisoned: poisoned.clone(),
        patience: 40,
    };
    let service = Service::new(plan, case);
    let of_service = fixture.target(service.clone(), None).limits();
    let limits = Limits {
        entries: random.random_range(1..=of_service.entries.clamp(1, 12)),
        ..of_service
    };
    let sizes = (0..entries)
        .map(|number| (number, random.random_range(0..200)))
        .collect();
    let outcome = deliver(fixture, &service, Some(limits), sizes, random.random_range(1..6)).await;
    let case = format!("case {case}");
    outcome.assert_kept(&service, &limits, &case);
    for number in 0..entries {
        let is_poisoned = poisoned.contains(&number);
        let is_back = outcome.handed_back.get(&number);
        match is_back {
            // Its condition does not hold because of another writer, or because of an earlier attempt whose answer was lost.
            Some(entry) if service.record(number).settled == Some(Statement::ConditionFailed) => assert!(
                entry.may_have_been_delivered,
                "{case}: entry {number} was handed back although its condition is known not to hold: {}",
                entry.cause
            ),
            Some(entry) => assert!(
                is_poisoned && matches!(entry.cause, Cause::Refused(_)),
                "{case}: valid entry {number} was handed back: {}",
                entry.cause
            ),
            None => assert!(
                !is_poisoned,
                "{case}: entry {number}, which is never taken, counts as delivered"
            ),
        }
    }
}

/// The result of a delivery.
struct TrialResult<E> {
    entries: usize,
    sizes: HashMap<usize, usize>,
    delivered: u64,
    /// The entries whose conditions do not hold.
    condition_failed: Vec<usize>,
    handed_back: HashMap<usize, Undelivered<E>>,
}

async fn deliver<F: Fixture>(
    fixture: &F,
    service: &Service,
    limits: Option<Limits>,
    entries: Vec<(usize, usize)>,
    concurrency: usize,
) -> TrialResult<<F::Target as BatchTarget>::Entry> {
    let target = fixture.target(service.clone(), limits);
    let entries: Vec<_> = entries
        .into_iter()
        .map(|(number, bytes)| fixture.entry(number, bytes))
        .collect();
    let count = entries.len();
    let strategy = Exponential::full_jitter()
        .initial(Duration::from_millis(10))
        .max(Duration::from_millis(50));
    let mut options = DeliveryOptions::default().backoff(strategy).retries(1_000);
    if concurrency > 0 {
        options = options.concurrency(concurrency);
    }
    target.prepare().await;
    let sizes = entries
        .iter()
        .filter_map(|entry| Some((fixture.number(entry), target.check(entry).ok()?)));
    let sizes = sizes.collect();
    let numbers: Vec<usize> = entries.iter().map(|entry| fixture.number(entry)).collect();
    let failed: Arc<Mutex<Vec<u64>>> = Arc::default();
    let failing = Arc::clone(&failed);
    let delivery = Delivery::new(target)
        .options(options)
        .on_delivered(move |position, _, disposition| {
            if *disposition == Disposition::ConditionFailed {
                failing.lock().unwrap_or_else(PoisonError::into_inner).push(position);
            }
        });
    let mut handed_back = HashMap::new();
    let report = match delivery.deliver(entries).await {
        Ok(report) => report,
        Err(mut error) => {
            for entry in error.take_undelivered() {
                let number = fixture.number(&entry.entry);
                assert!(
                    handed_back.insert(number, entry).is_none(),
                    "entry {number} was handed back twice"
                );
            }
            error.report
        }
    };
    let failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
    let number_at = |position: &u64| {
        usize::try_from(*position)
            .ok()
            .and_then(|place| numbers.get(place).copied())
    };
    let condition_failed: Vec<usize> = failed.iter().filter_map(number_at).collect();
    assert_eq!(
        report.condition_failed,
        condition_failed.len() as u64,
        "entries with a failed condition"
    );
    TrialResult {
        condition_failed,
        entries: count,
        sizes,
        delivered: report.delivered,
        handed_back,
    }
}

impl<E> TrialResult<E> {
    /// The properties of every delivery.
    fn assert_kept(&self, service: &Service, limits: &Limits, case: &str) {
        let complaints = service.complaints();
        assert!(complaints.is_empty(), "{case}: {complaints:?}");
        for call in service.calls() {
            let bytes: usize = call.iter().filter_map(|number| self.sizes.get(number)).sum();
            assert!(
                call.len() <= limits.entries.max(1) && bytes <= limits.bytes,
                "{case}: a call had {} entries and {bytes} bytes, the limits are {} and {}",
                call.len(),
                limits.entries,
                limits.bytes
            );
        }
        assert_eq!(
            self.delivered + (self.condition_failed.len() + self.handed_back.len()) as u64,
            self.entries as u64,
            "{case}: entries that were delivered or handed back, or whose conditions do not hold"
        );
        for number in 0..self.entries {
            let is_stored = service.record(number).is_stored;
            match self.handed_back.get(&number) {
                None if self.condition_failed.contains(&number) => assert!(
                    !is_stored,
                    "{case}: the condition of entry {number} is reported as failed, and the service has the entry"
                ),
                None => assert!(
                    is_stored,
                    "{case}: entry {number} counts as delivered, and the service has it not"
                ),
                Some(entry) => assert!(
                    !is_stored || entry.may_have_been_delivered,
                    "{case}: entry {number} was handed back as surely not delivered, and the service has it: {}",
                    entry.cause
                ),
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a number of entries"
)]
fn scaled(count: usize, factor: f64) -> usize {
    (count as f64 * factor) as usize
}
