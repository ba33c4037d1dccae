//! The cases, in many orders. If time passes only when nothing else can run, an execution without waits takes none, so a lost
//! wake-up shows as the time of the timer that fires instead, or as a deadlock.

use std::time::Duration;

use aws_batch_delivery::models;
use tokio::model::{Time, check};
use tokio::time::clock;

/// The number of random orders of a case, and of orders by priorities.
fn executions() -> usize {
    let wanted = std::env::var("MODEL_EXECUTIONS")
        .ok()
        .and_then(|count| count.parse().ok());
    wanted.unwrap_or(2_000)
}

fn in_no_time<F>(workers: usize, case: fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    check(Time::WhenIdle, workers, executions(), move || async move {
        case().await;
        assert_eq!(
            clock::elapsed(),
            Duration::ZERO,
            "a wake-up was lost, and a timer fired instead"
        );
    });
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod wakes_are_not_lost {
            $(
                mod $case {
                    #[test]
                    fn on_one_thread() {
                        crate::in_no_time(1, aws_batch_delivery::models::$case);
                    }

                    #[test]
                    fn on_two_threads() {
                        crate::in_no_time(2, aws_batch_delivery::models::$case);
                    }
                }
            )*
        }

        mod timers_may_run_out_at_any_moment {
            $(
                #[test]
                fn $case() {
                    let executions = crate::executions();
                    tokio::model::check(tokio::model::Time::Whenever, 2, executions, aws_batch_delivery::models::$case);
                }
            )*
        }
    };
}

cases!(
    callers_that_are_dropped_hold_up_no_other,
    the_end_of_a_call_lets_the_next_one_leave,
    a_reset_reaches_all_that_wait,
    every_call_is_made_and_settled,
    deliveries_that_share_a_pace_wake_each_other,
    a_delivery_that_is_dropped_frees_the_pace,
    each_sender_gets_the_fate_of_its_entry,
    a_flush_ends_with_the_entries_before_it,
    nothing_is_lost_between_the_last_entry_and_the_end,
    queued_entries_are_delivered_when_all_senders_are_dropped,
    a_refused_entry_is_returned_once_whenever_its_receipt_is_dropped,
);

#[test]
fn calls_leave_in_the_order_of_the_queue() {
    in_no_time(2, models::calls_leave_in_the_order_of_the_queue);
}

/// Not with timers that fire early, such as the attempt timeout.
#[test]
fn as_many_calls_are_in_flight_as_may_be() {
    for workers in [1, 2] {
        in_no_time(workers, models::as_many_calls_are_in_flight_as_may_be);
    }
}

#[test]
fn a_caller_that_is_not_polled_is_skipped() {
    check(
        Time::WhenIdle,
        2,
        executions(),
        models::a_caller_that_is_not_polled_is_skipped,
    );
}

#[test]
fn a_flush_does_not_wait_for_later_entries() {
    in_no_time(2, models::a_flush_does_not_wait_for_later_entries);
}

#[test]
fn a_call_leaves_as_soon_as_the_pace_allows() {
    check(
        Time::WhenIdle,
        2,
        executions(),
        models::a_call_leaves_as_soon_as_the_pace_allows,
    );
}

#[test]
fn the_end_of_a_named_wait_reaches_all_that_wait() {
    check(
        Time::WhenIdle,
        2,
        executions(),
        models::the_end_of_a_named_wait_reaches_all_that_wait,
    );
}

#[test]
fn throttled_entries_are_sent_again() {
    check(
        Time::WhenIdle,
        2,
        executions(),
        models::throttled_entries_are_sent_again,
    );
}

#[test]
fn a_reset_ends_all_delays() {
    check(Time::WhenIdle, 2, executions(), models::a_reset_ends_all_delays);
}
