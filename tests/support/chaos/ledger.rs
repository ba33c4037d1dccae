//! The fate of each entry, as reported by the delivery.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::{DeliveryError, Report, Undelivered};
use tokio::time::Instant;

use super::load::{Load, Wire};

/// The reported fate of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was not handed over.
    Kept,
    /// It was handed over, and its fate is not known: the future was dropped, or the task was aborted.
    Untold,
    /// It was handed over, and is delivered unless the report names it.
    Unnamed,
    Delivered,
    HandedBack {
        may_have_been_delivered: bool,
        why: String,
    },
}

/// The fate of each entry, and the contradictions. Clones share the state.
#[derive(Debug, Clone)]
pub(crate) struct Ledger(Arc<Mutex<Contents>>);

#[derive(Debug, Clone)]
pub(crate) struct Contents {
    pub(crate) fates: Vec<Fate>,
    /// How many entries no report names, because a newer one writes the same key.
    pub(crate) superseded: u64,
    pub(crate) complaints: Vec<String>,
    /// How much longer than documented a sender or a delivery has waited at most.
    pub(crate) overdue: Duration,
}

impl Ledger {
    pub(crate) fn new(entries: usize) -> Self {
        Self(Arc::new(Mutex::new(Contents {
            fates: vec![Fate::Kept; entries],
            superseded: 0,
            complaints: Vec::new(),
            overdue: Duration::ZERO,
        })))
    }

    pub(crate) fn contents(&self) -> Contents {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change<R>(&self, change: impl FnOnce(&mut Contents) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, number: usize, fate: Fate) {
        self.change(|contents| contents.fates[number] = fate);
    }

    pub(crate) fn complain(&self, complaint: String) {
        self.change(|contents| contents.complaints.push(complaint));
    }

    /// A sender or a delivery has waited since `started`, for which the documentation names a limit.
    pub(crate) fn waited(&self, started: Instant, limit: Duration) {
        let overdue = started.elapsed().saturating_sub(limit);
        self.change(|contents| contents.overdue = contents.overdue.max(overdue));
    }

    /// An entry was handed back. It must be equal to the one that was handed over.
    pub(crate) fn hand_back<E: Wire>(&self, undelivered: &Undelivered<E>, load: &Load) -> usize {
        let number = undelivered.entry.number(load);
        let fate = Fate::HandedBack {
            may_have_been_delivered: undelivered.may_have_been_delivered,
            why: undelivered.cause.to_string(),
        };
        self.change(|contents| {
            if let Fate::HandedBack { .. } | Fate::Delivered | Fate::Kept = contents.fates[number] {
                let before = &contents.fates[number];
                let complaint = format!("{number} is handed back: {fate:?}, but was {before:?}");
                contents.complaints.push(complaint);
            }
            contents.fates[number] = fate;
        });
        number
    }

    /// The end of a delivery of these entries, all of which were read.
    pub(crate) fn end<E: Wire>(&self, numbers: &[usize], result: Result<Report, DeliveryError<E>>, load: &Load) {
        for number in numbers {
            self.set(*number, Fate::Unnamed);
        }
        let (report, undelivered) = match result {
            Ok(report) => (report, Vec::new()),
            Err(error) => (error.report.clone(), error.into_undelivered()),
        };
        for undelivered in &undelivered {
            let number = self.hand_back(undelivered, load);
            let position = usize::try_from(undelivered.position).expect("a place in memory");
            if numbers.get(position) != Some(&number) {
                self.complain(format!("{number} is said to have been at {position}"));
            }
        }
        let told = [report.undelivered, report.next_position()];
        if told != [undelivered.len() as u64, numbers.len() as u64] {
            let (back, all) = (undelivered.len(), numbers.len());
            self.complain(format!("{back} of {all} came back, and the report says: {report}"));
        }
        self.change(|contents| contents.superseded += report.superseded);
    }
}
