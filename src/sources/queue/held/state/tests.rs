use tokio::time::advance;

use super::*;
use crate::contract::Fault;
use crate::moment::Moment;
use crate::report::Cause;

fn message(id: u32) -> Message {
    let message = Message::builder()
        .message_id(id.to_string())
        .receipt_handle(id.to_string());
    message.attributes(GROUP, "group").build()
}

fn state() -> HeldState {
    HeldState::new(true, Duration::from_secs(60), 1_000)
}

fn taken(state: &mut HeldState) -> Option<u64> {
    state.take().map(|(number, _)| number)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_has_expired_moves_nothing_of_its_group() {
    let settled: fn(&mut HeldState, u64) = HeldState::settle;
    let released = |state: &mut HeldState, number| state.release(number, Duration::ZERO);
    for end in [settled, released, HeldState::set_aside] {
        let mut state = state();
        state.hold(message(1));
        let expired = taken(&mut state).unwrap();
        state.expire(expired);
        // It is received again, with what is behind it.
        for id in [1, 2, 3] {
            state.hold(message(id));
        }
        let again = taken(&mut state).unwrap();
        end(&mut state, expired);
        assert_eq!((taken(&mut state), state.waiting()), (None, 2));
        state.settle(again);
        assert!(taken(&mut state).is_some_and(|next| next > again));
        assert_eq!(taken(&mut state), None);
    }
}

/// `move` sent it a second time, behind the next one of its group.
#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_while_it_is_deleted_is_not_handed_out_again() {
    for outcome in [Ok(()), Err(Cause::Refused(Fault::new("ReceiptHandleIsInvalid")))] {
        let mut state = state();
        state.hold(message(1));
        let first = taken(&mut state).unwrap();
        state.settle(first);
        assert_eq!(state.take_work(Instant::now()).deletions, [(first, "1".to_owned())]);
        state.hold(message(1));
        assert_eq!(taken(&mut state), None);
        state.deleted(first, outcome);
        let deletions = state.take_work(Instant::now()).deletions;
        assert_eq!(deletions.len(), 1);
        state.deleted(deletions[0].0, Ok(()));
        assert!(state.undeleted.is_empty());
        assert_eq!(state.figures().deleted, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn of_messages_without_ids_none_is_taken_for_one_that_was_settled() {
    let mut state = HeldState::new(false, Duration::from_secs(60), 1_000);
    for _ in 0..3 {
        state.hold(Message::builder().receipt_handle("handle").build());
        let number = taken(&mut state).expect("it is another one");
        state.settle(number);
        state.deleted(number, Err(Cause::Refused(Fault::new("ReceiptHandleIsInvalid"))));
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_message_that_does_not_come_again_is_released() {
    let mut state = state();
    for id in [1, 2, 3] {
        state.hold(message(id));
    }
    let first = taken(&mut state).unwrap();
    // Another receiver gets it.
    state.release(first, Duration::from_secs(10));
    let work = state.take_work(Instant::now());
    assert_eq!(work.releases, [(first, "1".to_owned(), Duration::from_secs(10))]);
    for _ in 0..3 {
        advance(Duration::from_secs(23)).await;
        let work = state.take_work(Instant::now());
        assert_eq!(work.releases, []);
        for (number, _, timeout) in work.renewals {
            state.renewed(number, Moment::now(), timeout, Ok(()));
        }
    }
    advance(Duration::from_secs(1)).await;
    let work = state.take_work(Instant::now());
    let handles: Vec<String> = work.releases.into_iter().map(|(_, handle, _)| handle).collect();
    assert_eq!(handles, ["2", "3"]);
    assert_eq!((taken(&mut state), state.waiting()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_released_message_goes_back_at_once_when_no_more_are_received() {
    for is_released_last in [false, true] {
        let mut state = state();
        for id in [1, 2, 3] {
            state.hold(message(id));
        }
        let first = taken(&mut state).unwrap();
        if is_released_last {
            state.receives_no_more();
        }
        state.release(first, Duration::from_secs(10));
        if !is_released_last {
            assert_eq!(state.waiting(), 2);
            state.receives_no_more();
        }
        let released = state.take_work(Instant::now()).releases;
        let released: Vec<_> = released
            .into_iter()
            .map(|(_, handle, delay)| (handle, delay.as_secs()))
            .collect();
        let mut expected = [("2", 0), ("3", 0)].to_vec();
        expected.insert(if is_released_last { 2 } else { 0 }, ("1", 10));
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(handle, delay)| (handle.to_owned(), delay))
            .collect();
        assert_eq!((released, state.waiting()), (expected, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_message_is_in_progress_until_its_delay_after_the_call_is_over() {
    const DELAY: Duration = Duration::from_mins(5);
    let mut state = HeldState::new(false, Duration::from_secs(10), 1_000);
    state.hold(message(1));
    let number = taken(&mut state).unwrap();
    state.release(number, DELAY);
    // The call has to be repeated.
    advance(Duration::from_secs(20)).await;
    state.released(number, Ok(()));
    assert_eq!(state.load().active_at, Instant::now() + DELAY);
    state.is_in_doubt();
    assert_eq!(state.load().active_at, Instant::now() + DELAY);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_whose_time_has_passed_is_not_current_although_no_task_has_run() {
    let mut state = state();
    state.hold(message(1));
    state.hold(message(2));
    let first = taken(&mut state).unwrap();
    assert!(state.is_current(first));
    advance(Duration::from_secs(59)).await;
    assert!(state.is_current(first));
    advance(Duration::from_secs(1)).await;
    assert!(!state.is_current(first));
    // Nor is one handed out that may be visible to others.
    state.settle(first);
    assert_eq!(taken(&mut state), None);
    assert_eq!(state.figures().expired, 1);
}
