//! A target that takes numbers, and spools of them.

use std::path::Path;

use aws_batch_delivery::spool::{Spool, SpoolOptions};
use aws_batch_delivery::targets::{Answer, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions};

use crate::scripted::{Calls, Scripted};

const LIMITS: Limits = Limits::new(10, 1_000);

/// Takes numbers, ten in a call.
pub(crate) fn numbers(answer: impl Fn(usize, &[usize]) -> Answer + Send + Sync + 'static) -> (Scripted, Calls) {
    Scripted::new(LIMITS, |_| 8, answer)
}

pub(crate) fn accept(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Accepted; chunk.len()])
}

pub(crate) fn refuse_odd(chunk: &[usize]) -> Answer {
    let verdict = |number: &usize| match number % 2 {
        0 => Verdict::Accepted,
        _ => Verdict::Refused(Fault::new("odd")),
    };
    Answer::Each(chunk.iter().map(verdict).collect())
}

/// A spool in this folder.
pub(crate) async fn spooled(target: Scripted, options: DeliveryOptions, folder: &Path) -> Spool<usize> {
    let delivery = Delivery::new(target).options(options);
    delivery.spooled(SpoolOptions::at(folder)).await.unwrap()
}

/// All entries that were sent, in the order of the calls.
pub(crate) fn sent(calls: &Calls) -> Vec<usize> {
    calls.lock().unwrap().concat()
}
