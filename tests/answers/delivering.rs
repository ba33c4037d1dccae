//! A delivery against such a service, and what has to be true of it.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};

const RETRIES: u32 = 3;

/// Delivers all entries. Each ends once: delivered, or handed back as it was. `same` tells whether an entry is the one at a place.
pub(crate) fn conserves<T, E>(delivery: &Delivery<T>, entries: &[E], same: impl Fn(&E, &E) -> bool)
where
    T: BatchTarget<Entry = E>,
    E: Clone + Send + Sync + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let count = entries.len() as u64;
    let delivered = runtime.block_on(async {
        let limit = Duration::from_hours(24);
        tokio::time::timeout(limit, delivery.deliver(entries.to_vec())).await
    });
    let (report, undelivered) = match delivered.expect("a delivery ends") {
        Ok(report) => (report, Vec::new()),
        Err(error) => (error.report.clone(), error.into_undelivered()),
    };
    assert_eq!(
        report.delivered + report.undelivered + report.superseded,
        count,
        "{report:?}"
    );
    assert_eq!(report.undelivered, undelivered.len() as u64);
    let positions: BTreeSet<_> = undelivered.iter().map(|undelivered| undelivered.position).collect();
    assert_eq!(positions.len(), undelivered.len(), "one entry is handed back twice");
    for undelivered in &undelivered {
        let place = usize::try_from(undelivered.position).expect("it is small");
        assert!(
            same(&undelivered.entry, &entries[place]),
            "another entry is handed back"
        );
        assert!(!panicked(&undelivered.cause), "{:?}", undelivered.cause);
    }
}

/// A panic of a target is caught, and is a cause.
fn panicked(cause: &Cause) -> bool {
    format!("{cause:?}").contains("panicked")
}

pub(crate) fn options() -> DeliveryOptions {
    DeliveryOptions::default()
        .backoff(|_: u32| Duration::ZERO)
        .retries(RETRIES)
        .concurrency(3)
        .attempt_timeout(Duration::from_secs(1))
        .give_up_after(Duration::from_mins(1))
}
