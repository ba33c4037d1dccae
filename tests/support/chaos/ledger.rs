//! The fate of each entry, as reported by the delivery.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::{DeliveryError, Disposition, Report, Undelivered};
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
    ConditionFailed,
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

    /// What is known of an entry before its fate is. It does not replace a fate that was reported already.
    pub(crate) fn set(&self, number: usize, fate: Fate) {
        self.change(|contents| {
            if let Fate::Kept | Fate::Untold | Fate::Unnamed = contents.fates[number] {
                contents.fates[number] = fate;
            }
        });
    }

    /// An entry is reported as one that is not handed back. Its receipt and the handler may both say so.
    pub(crate) fn settle(&self, number: usize, disposition: &Disposition) {
        let fate = match disposition {
            Disposition::Delivered(_) => Fate::Delivered,
            Disposition::ConditionFailed => Fate::ConditionFailed,
            // Which entries no report names is found by what arrived.
            Disposition::Superseded => return,
        };
        self.change(|contents| {
            let before = &contents.fates[number];
            if !matches!(before, Fate::Kept | Fate::Untold | Fate::Unnamed) && *before != fate {
                let complaint = format!("{number} is said to be {fate:?}, but was {before:?}");
                contents.complaints.push(complaint);
            }
            contents.fates[number] = fate;
        });
    }

    pub(crate) fn complain(&self, complaint: String) {
        self.change(|contents| contents.complaints.push(complaint));
    }

    /// A sender or a delivery has waited since `started`, for which the documentation names a limit.
    pub(crate) fn waited(&self, started: Instant, limit: Duration) {
        let overdue = started.elapsed().saturating_sub(limit);
        self.change(|contents| contents.overdue = contents.overdue.max(overdue));
    }

    /// An entry was handed back. It must be the one that was handed over, if that is known. Returns its number, if it is known.
    pub(crate) fn hand_back<E: Wire>(
        &self,
        undelivered: &Undelivered<E>,
        sent: Option<usize>,
        load: &Load,
    ) -> Option<usize> {
        let told = undelivered.entry.number(load);
        if let (Some(told), Some(sent)) = (told, sent)
            && told != sent
        {
            self.complain(format!("{told} is handed back instead of {sent}"));
        }
        let number = told.or(sent)?;
        let fate = Fate::HandedBack {
            may_have_been_delivered: undelivered.may_have_been_delivered,
            why: undelivered.cause.to_string(),
        };
        self.change(|contents| {
            if !matches!(contents.fates[number], Fate::Untold | Fate::Unnamed) {
                let before = &contents.fates[number];
                let complaint = format!("{number} is handed back: {fate:?}, but was {before:?}");
                contents.complaints.push(complaint);
            }
            contents.fates[number] = fate;
        });
        Some(number)
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
            let position = usize::try_from(undelivered.position).expect("a place in memory");
            let sent = numbers.get(position).copied();
            if sent.is_none() || self.hand_back(undelivered, sent, load).is_none() {
                self.complain(format!("an entry is said to have been at {position}"));
            }
        }
        let told = [report.undelivered, report.next_position()];
        if told != [undelivered.len() as u64, numbers.len() as u64] {
            let (back, all) = (undelivered.len(), numbers.len());
            self.complain(format!("{back} of {all} came back, and the report says: {report}"));
        }
        self.change(|contents| {
            let count =
                |is: fn(&Fate) -> bool| numbers.iter().filter(|number| is(&contents.fates[**number])).count() as u64;
            let counted = [
                count(|fate| *fate == Fate::Delivered),
                count(|fate| *fate == Fate::ConditionFailed),
                count(|fate| *fate == Fate::Unnamed),
            ];
            if counted != [report.delivered, report.condition_failed, report.superseded] {
                let complaint =
                    format!("{counted:?} were delivered, failed and were superseded; the report says: {report}");
                contents.complaints.push(complaint);
            }
            contents.superseded += report.superseded;
        });
    }
}
