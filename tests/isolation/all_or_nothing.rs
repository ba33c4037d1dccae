//! A service that accepts all of a call or nothing.

use std::collections::HashSet;
use std::error::Error;

use aws_batch_delivery::DeliveryError;
use aws_batch_delivery::targets::{Answer, Fault, Limits, Verdict};

use crate::support::scripted::{Calls, Scripted, throttle};

/// Entries in a call, as many as `BatchWriteItem` takes.
pub(crate) const ENTRIES: usize = 25;

/// A target that refuses calls with a poisoned entry, or with the same entry twice. `fault` may answer first.
pub(crate) fn all_or_nothing(
    poisoned: impl IntoIterator<Item = usize>,
    fault: impl Fn(usize, &[usize]) -> Option<Answer> + Send + Sync + 'static,
) -> (Scripted, Calls) {
    with_throttled(poisoned, [], fault)
}

/// The same, but `hot` entries are throttled in every call that is not refused.
pub(crate) fn with_throttled<const N: usize>(
    poisoned: impl IntoIterator<Item = usize>,
    hot: [usize; N],
    fault: impl Fn(usize, &[usize]) -> Option<Answer> + Send + Sync + 'static,
) -> (Scripted, Calls) {
    let poisoned: HashSet<usize> = poisoned.into_iter().collect();
    let verdict = move |entry: &usize| {
        if hot.contains(entry) {
            throttle()
        } else {
            Verdict::Accepted
        }
    };
    let answer = move |number: usize, chunk: &[usize]| {
        let distinct: HashSet<&usize> = chunk.iter().collect();
        if let Some(answer) = fault(number, chunk) {
            answer
        } else if distinct.len() < chunk.len() {
            refused("duplicates")
        } else if chunk.iter().any(|entry| poisoned.contains(entry)) {
            refused("one of the entries is poisoned")
        } else {
            Answer::Each(chunk.iter().map(verdict).collect())
        }
    };
    Scripted::new(Limits::new(ENTRIES, 1_000), |_| 1, answer)
}

pub(crate) fn no_fault(_: usize, _: &[usize]) -> Option<Answer> {
    None
}

fn refused(message: &'static str) -> Answer {
    let source: Box<dyn Error + Send + Sync> = message.into();
    Answer::Whole(Verdict::Refused(Fault::new("ValidationException").caused_by(source)))
}

/// The additional calls that one poisoned entry among n may cost.
pub(crate) fn allowed(n: usize) -> u64 {
    u64::from(2 * n.ilog2() + 2)
}

/// The entries that were handed back, in the order of the input.
pub(crate) fn handed_back(error: &DeliveryError<usize>) -> Vec<usize> {
    let entries = error.undelivered().iter().map(|undelivered| *undelivered.entry);
    entries.collect()
}
