//! What holds before anything was answered.

use std::time::Duration;

use super::Adaptive;
use crate::backoff::{BackoffStrategy, Retry};

#[test]
fn nothing_is_in_flight_and_no_key_is_hot() {
    let snapshot = Adaptive::default().snapshot();
    assert_eq!((snapshot.in_flight, snapshot.hot_keys), (0, 0));
}

#[test]
fn the_first_retry_leaves_at_once_and_the_next_one_rests() {
    let strategy = Adaptive::default();
    assert_eq!(strategy.delay(Retry::FIRST), Duration::ZERO);
    assert!(strategy.delay(Retry::new(2, None)) > Duration::ZERO);
}
