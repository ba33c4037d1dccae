//! Entries whose conditions do not hold: the service has decided, so they are neither sent again nor handed back.

use std::sync::{Arc, Mutex};

use aws_batch_delivery::targets::{Acknowledgement, Answer, Fault, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, Disposition, Progress};
use tokio::time::Instant;

use crate::custom_target::numbers::{accept, no_delay, numbers, one_at_a_time, throttle};

/// The conditions of odd numbers do not hold; every third call is throttled.
fn conditions(call: usize, chunk: &[usize]) -> Answer {
    let verdict = |number: &usize| match number % 2 {
        1 => Verdict::ConditionFailed,
        _ => Verdict::Accepted,
    };
    if call.is_multiple_of(3) {
        return Answer::Whole(throttle());
    }
    Answer::Each(chunk.iter().map(verdict).collect())
}

#[tokio::test(start_paused = true)]
async fn a_failed_condition_is_counted_apart_and_not_sent_again() {
    let (target, calls) = numbers(conditions);
    let told: Arc<Mutex<Vec<(u64, Disposition)>>> = Arc::default();
    let telling = Arc::clone(&told);
    let progress = Progress::default();
    let delivery = Delivery::new(target)
        .options(no_delay().progress(&progress))
        .on_delivered(move |position, _, disposition| telling.lock().unwrap().push((position, disposition.clone())));
    let report = delivery.deliver(0..20_usize).await.unwrap();

    assert_eq!(
        (report.delivered, report.condition_failed, report.undelivered),
        (10, 10, 0)
    );
    assert_eq!(report.next_position(), 20);
    let figures = progress.snapshot();
    assert_eq!((figures.delivered, figures.condition_failed), (10, 10));
    assert_eq!(
        (figures.settled_until, figures.waiting, figures.in_flight),
        (Some(20), 0, 0)
    );

    let mut told = told.lock().unwrap().clone();
    told.sort_by_key(|(position, _)| *position);
    let expected = |position| match position % 2 {
        1 => Disposition::ConditionFailed,
        _ => Disposition::Delivered(Acknowledgement::default()),
    };
    assert_eq!(
        told,
        (0..20)
            .map(|position| (position, expected(position)))
            .collect::<Vec<_>>()
    );
    // Only throttled calls are repeated.
    let sent: usize = calls.lock().unwrap().iter().map(Vec::len).sum();
    assert_eq!(sent as u64, 20 + report.resubmitted);
    assert_eq!(report.resubmitted, report.throttled);
}

#[tokio::test(start_paused = true)]
async fn a_receipt_tells_of_a_failed_condition() {
    let (target, _) = numbers(conditions);
    let producer = Delivery::new(target).options(no_delay()).producer();
    let (held, failed) = tokio::join!(producer.send(2), producer.send(3));
    assert_eq!(held.unwrap(), Disposition::Delivered(Acknowledgement::default()));
    assert_eq!(failed.unwrap(), Disposition::ConditionFailed);
    let report = producer.close().await.unwrap();
    assert_eq!((report.delivered, report.condition_failed), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_evaluates_conditions_works_whatever_they_come_to() {
    // The same failure stops a delivery of which nothing was processed.
    let (target, calls) = numbers(|call, chunk| match call {
        1 => Answer::Whole(Verdict::ConditionFailed),
        2 => Answer::Stop(Fault::new("AccessDeniedException")),
        _ => accept(chunk),
    });
    let report = Delivery::new(target)
        .options(one_at_a_time())
        .deliver(vec![1; 12])
        .await
        .unwrap();
    assert_eq!((report.delivered, report.condition_failed), (8, 4));
    assert!(calls.lock().unwrap().len() > 3);
}

#[tokio::test(start_paused = true)]
async fn failed_conditions_do_not_slow_a_delivery_down() {
    let loaded = async |verdict: Verdict| {
        let (target, _) = numbers(move |_, chunk| Answer::Each(vec![verdict.clone(); chunk.len()]));
        let begun = Instant::now();
        let report = Delivery::new(target)
            .options(DeliveryOptions::default().concurrency(4))
            .deliver(vec![1; 4_000])
            .await
            .unwrap();
        assert_eq!((report.next_position(), report.throttled), (4_000, 0));
        begun.elapsed()
    };
    assert_eq!(loaded(Verdict::ConditionFailed).await, loaded(Verdict::Accepted).await);
}
