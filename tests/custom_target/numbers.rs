//! A target that takes numbers.

use aws_batch_delivery::targets::{Answer, Limits, Verdict};

pub(crate) use crate::support::options::{no_delay, one_at_a_time};
pub(crate) use crate::support::scripted::throttle;
use crate::support::scripted::{Calls, Scripted};

pub(crate) const LIMITS: Limits = Limits::new(4, 100);

/// Takes numbers, four in a call and at most 100 bytes; the size of a number is its value.
pub(crate) fn numbers(answer: impl Fn(usize, &[usize]) -> Answer + Send + Sync + 'static) -> (Scripted, Calls) {
    Scripted::new(LIMITS, |number| number, answer)
}

pub(crate) fn accept(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Accepted; chunk.len()])
}
