//! The latest answers of a search.

use std::collections::VecDeque;

/// One answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) seen_at: f64,
    pub(super) sent: f64,
    pub(super) accepted: f64,
}

/// What the service took at the end of a search, when it could take no more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// From the first of the latest rejections …
    pub(super) from: f64,
    /// … to the last.
    pub(super) until: f64,
    /// Entries accepted in between.
    pub(super) accepted: f64,
}

/// The latest answers, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Latest {
    answers: VecDeque<Answer>,
    sent: f64,
    accepted: f64,
}

impl Latest {
    /// One more; the oldest go that are not needed for `enough` entries.
    pub(super) fn keep(&mut self, answer: Answer, enough: f64) {
        self.answers.push_back(answer);
        self.sent += answer.sent;
        self.accepted += answer.accepted;
        while let Some(oldest) = self.answers.front().filter(|oldest| self.sent - oldest.sent >= enough) {
            self.sent -= oldest.sent;
            self.accepted -= oldest.accepted;
            self.answers.pop_front();
        }
    }

    pub(super) fn sent(&self) -> f64 {
        self.sent
    }

    pub(super) fn accepted(&self) -> f64 {
        self.accepted
    }

    /// The share that got through.
    pub(super) fn share(&self) -> f64 {
        self.accepted / self.sent.max(1.0)
    }

    /// When the service saw the last one.
    pub(super) fn seen_at(&self) -> Option<f64> {
        self.answers.back().map(|last| last.seen_at)
    }

    /// Entries sent since anything was accepted.
    pub(super) fn sent_in_vain(&self) -> f64 {
        let in_vain = self.answers.iter().rev().take_while(|answer| answer.accepted <= 0.0);
        in_vain.map(|answer| answer.sent).sum()
    }

    /// What the service took between the first and the last of those of which no more than `least` got through.
    pub(super) fn found(&self, least: f64) -> Option<Found> {
        let is_mark = |answer: &&Answer| answer.accepted <= least * answer.sent && answer.accepted < answer.sent;
        let mut marks = self.answers.iter().filter(is_mark).map(|answer| answer.seen_at);
        let from = marks.next()?;
        let until = marks.fold(from, f64::max);
        // Answers do not come in the order in which the service saw the calls.
        let after = self.answers.iter().filter(|answer| answer.seen_at > from);
        let accepted = after.map(|answer| answer.accepted).sum();
        Some(Found { from, until, accepted })
    }
}
