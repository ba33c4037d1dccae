//! What was measured.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_delivery::Report;

use crate::tally::Counts;

/// How many entries the service has at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Exactly(u64),
    /// As a queue says it.
    About(u64),
}

/// The figures of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figures {
    pub(crate) entries: u64,
    pub(crate) stored: Stored,
    pub(crate) elapsed: Duration,
    pub(crate) calls: u64,
    /// How often an entry was sent, and how often it was rejected for lack of capacity.
    pub(crate) sent: u64,
    pub(crate) rejected: u64,
    /// Entries that were handed back.
    pub(crate) undelivered: u64,
    /// Consumed write units; `None`: nothing says them.
    pub(crate) units: Option<f64>,
    /// The median time of a call.
    pub(crate) median: Option<Duration>,
    /// How often each code and reason was seen.
    pub(crate) codes: BTreeMap<String, u64>,
}

impl Figures {
    /// Of a delivery.
    pub(crate) fn of(entries: u64, report: &Report, counts: Counts, stored: Stored) -> Self {
        Self {
            entries,
            stored,
            elapsed: report.elapsed,
            calls: report.calls,
            sent: report.delivered + report.undelivered + report.resubmitted,
            rejected: report.throttled,
            undelivered: report.undelivered,
            units: counts.units,
            median: counts.median(),
            codes: counts.codes,
        }
    }

    /// Per second.
    #[expect(clippy::cast_precision_loss, reason = "far below the largest number")]
    pub(crate) fn rate(&self) -> f64 {
        (self.entries - self.undelivered.min(self.entries)) as f64 / self.elapsed.as_secs_f64().max(0.001)
    }

    /// How much of what was sent was rejected.
    #[expect(clippy::cast_precision_loss, reason = "far below the largest number")]
    pub(crate) fn rejected_share(&self) -> f64 {
        self.rejected as f64 / (self.sent.max(1)) as f64
    }

    /// What is wrong, if anything is: the service has other entries than those that were delivered.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.undelivered > 0 {
            return Some(format!("{} entries were not delivered", self.undelivered));
        }
        match self.stored {
            Stored::Exactly(stored) if stored != self.entries => Some(format!(
                "{} entries were delivered, and {stored} are there",
                self.entries
            )),
            // A standard queue may have a message twice, and counts them approximately.
            Stored::Exactly(_) | Stored::About(_) => None,
        }
    }
}

/// The answer to a single call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The call, in words.
    pub(crate) call: &'static str,
    /// Units, or code and reasons.
    pub(crate) answer: String,
}

impl Answer {
    pub(crate) fn new(call: &'static str, answer: impl Into<String>) -> Self {
        Self {
            call,
            answer: answer.into(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Some figures.
    pub(crate) fn figures() -> Figures {
        Figures {
            entries: 1_000,
            stored: Stored::Exactly(1_000),
            elapsed: Duration::from_secs(2),
            calls: 41,
            sent: 1_010,
            rejected: 10,
            undelivered: 0,
            units: Some(1_000.0),
            median: Some(Duration::from_millis(8)),
            codes: [("UnprocessedItems".to_owned(), 10)].into(),
        }
    }

    #[test]
    fn rates_and_shares_are_of_what_was_delivered_and_sent() {
        let figures = figures();
        assert!((figures.rate() - 500.0).abs() < 1e-9);
        assert!((figures.rejected_share() - 10.0 / 1_010.0).abs() < 1e-9);
    }

    #[test]
    fn entries_that_are_missing_are_a_problem() {
        assert_eq!(figures().problem(), None);
        let lost = Figures {
            stored: Stored::Exactly(999),
            ..figures()
        };
        assert!(lost.problem().unwrap().contains("999"));
        let handed_back = Figures {
            undelivered: 1,
            ..figures()
        };
        assert!(handed_back.problem().unwrap().contains("1 entries were not delivered"));
        let approximate = Figures {
            stored: Stored::About(990),
            ..figures()
        };
        assert_eq!(approximate.problem(), None);
    }
}
