//! What a delivery reports of each of its entries.

use std::sync::{Arc, Mutex};

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Delivery, Disposition};

/// What is reported of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered,
    ConditionFailed,
    /// Handed back, and perhaps applied.
    InDoubt,
    /// Handed back, and certainly not applied.
    NotDelivered,
}

/// Delivers the entries, and returns the outcome of each. Each has exactly one, and they add up to the report.
pub(crate) async fn outcomes<T: BatchTarget>(delivery: &Delivery<T>, entries: Vec<T::Entry>) -> Vec<Outcome> {
    let told: Arc<Mutex<Vec<Option<Outcome>>>> = Arc::new(Mutex::new(vec![None; entries.len()]));
    let tell = |told: &Mutex<Vec<Option<Outcome>>>, position: u64, outcome: Outcome| {
        let before = told.lock().unwrap()[usize::try_from(position).unwrap()].replace(outcome);
        assert_eq!(before, None, "two outcomes of entry {position}");
    };
    let telling = Arc::clone(&told);
    let delivery = delivery.clone().on_delivered(move |position, _, disposition| {
        let outcome = match disposition {
            Disposition::ConditionFailed => Outcome::ConditionFailed,
            _ => Outcome::Delivered,
        };
        tell(&telling, position, outcome);
    });
    let report = match delivery.deliver(entries).await {
        Ok(report) => report,
        Err(mut error) => {
            for undelivered in error.take_undelivered() {
                let outcome = if undelivered.may_have_been_delivered {
                    Outcome::InDoubt
                } else {
                    Outcome::NotDelivered
                };
                tell(&told, undelivered.position, outcome);
            }
            error.report
        }
    };
    let told: Vec<Outcome> = told.lock().unwrap().iter().map(|outcome| outcome.unwrap()).collect();
    let count = |of: &[Outcome]| told.iter().filter(|outcome| of.contains(outcome)).count() as u64;
    assert_eq!(report.delivered, count(&[Outcome::Delivered]));
    assert_eq!(report.condition_failed, count(&[Outcome::ConditionFailed]));
    assert_eq!(report.undelivered, count(&[Outcome::InDoubt, Outcome::NotDelivered]));
    told
}
