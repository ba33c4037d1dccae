//! From the answer of a call to the result for each of its entries.

use std::iter::{repeat, repeat_with};
use std::ops::Range;

use tokio::time::Instant;
use tracing::Span;

use crate::backoff::Outcome;
use crate::contract::{Acknowledgement, Answer, Lane, Rejection, Verdict};
use crate::disposition::Disposition;
use crate::engine::entry::{Chunk, EntryState, TrackedEntry};
use crate::engine::retry::Bisection;
use crate::fault::{Fault, ThrottlingReason, in_words};
use crate::metrics::Metrics;

/// A call that is over, with the entries that it did not deliver.
pub(crate) struct EndedCall<E> {
    /// The result in numbers of entries.
    pub(crate) outcome: Outcome,
    /// The bytes of the call, as its entries were measured.
    pub(crate) bytes: usize,
    /// The same, weighted by what each entry counts for with the strategy.
    pub(crate) cost: Outcome,
    /// The positions of the accepted entries, in runs.
    pub(crate) accepted: Vec<Range<u64>>,
    /// How many of the accepted entries have a condition that does not hold: the service has processed them and written nothing.
    pub(crate) condition_failed: usize,
    /// Entries to send again.
    pub(crate) rejected: Vec<(TrackedEntry<E>, Rejection)>,
    /// Entries that cannot be delivered.
    pub(crate) refused: Vec<(TrackedEntry<E>, Fault)>,
    /// Why the only entry of the call was refused, if the call was refused as a whole.
    pub(crate) refused_alone: Option<Fault>,
    /// Its only entry, if the call was refused and the answer leaves open whether because of the entry.
    pub(crate) disputed: Option<TrackedEntry<E>>,
    /// Why no later call can succeed either.
    pub(crate) stop: Option<Fault>,
    /// The panic of the target during the call.
    pub(crate) panic: Option<Fault>,
    /// The lanes of the accepted entries, once for each entry.
    pub(crate) left: Vec<Lane>,
    /// The whole chunk, if it was refused and the answer does not say because of which entries.
    pub(crate) refused_chunk: Option<Chunk<E>>,
    /// Whether the answer leaves open if the chunk was refused because of its entries at all.
    pub(crate) is_disputed: bool,
    /// The bisection that the chunk belongs to, if it is a part of a refused call.
    pub(crate) bisection: Option<Bisection<E>>,
    /// The empty chunk, if all of its entries were accepted.
    pub(crate) emptied: Option<Chunk<E>>,
}

/// What happens to each accepted entry: it is measured, and restored if a handler or a receipt gets it.
pub(crate) struct Acceptance<'a, E> {
    pub(crate) metrics: &'a Metrics,
    pub(crate) restore: &'a dyn Fn(&mut E),
}

/// Applies the verdict to each entry of the chunk. An entry without a verdict is sent again.
pub(crate) fn settle<E>(
    chunk: Chunk<E>,
    answer: Answer,
    sent_at: Instant,
    answered_at: Instant,
    acceptance: &Acceptance<'_, E>,
) -> EndedCall<E> {
    // If one entry has a lane, usually all have one.
    let has_lanes = chunk.states.first().is_some_and(|state| state.lane.is_some());
    let mut settled = EndedCall {
        bytes: chunk.bytes,
        outcome: Outcome::new(sent_at.into_std(), answered_at.into_std()),
        cost: Outcome::new(sent_at.into_std(), answered_at.into_std()),
        accepted: Vec::new(),
        condition_failed: 0,
        rejected: Vec::new(),
        refused: Vec::new(),
        refused_alone: None,
        disputed: None,
        stop: None,
        panic: None,
        left: Vec::with_capacity(if has_lanes { chunk.len() } else { 0 }),
        refused_chunk: None,
        is_disputed: matches!(answer, Answer::Disputed(_)),
        bisection: None,
        emptied: None,
    };
    match answer {
        Answer::Whole(Verdict::Refused(fault)) | Answer::Disputed(fault) if chunk.len() > 1 => {
            settled.refuse_all(chunk, sent_at, &fault);
        }
        Answer::Disputed(fault) => {
            for entry in chunk.into_tracked() {
                settled.dispute(entry, sent_at, answered_at, fault.clone());
            }
        }
        Answer::Whole(verdict) if verdict.is_processed() => settled.accept_all(chunk, repeat(verdict), acceptance),
        Answer::Each(verdicts) if verdicts.len() >= chunk.len() && verdicts.iter().all(Verdict::is_processed) => {
            settled.accept_all(chunk, verdicts, acceptance);
        }
        Answer::Each(verdicts) => {
            let unanswered = repeat_with(|| {
                let fault = Fault::new("no answer for this entry").ambiguous();
                Verdict::Rejected(Rejection::Unanswered, fault)
            });
            for (entry, verdict) in chunk.into_tracked().zip(verdicts.into_iter().chain(unanswered)) {
                settled.add(entry, sent_at, verdict, acceptance);
            }
        }
        Answer::Whole(verdict) => {
            if let Verdict::Refused(fault) = &verdict {
                settled.refused_alone = Some(fault.clone());
            }
            for entry in chunk.into_tracked() {
                settled.add(entry, sent_at, verdict.clone(), acceptance);
            }
        }
        Answer::Stop(fault) => {
            let verdict = Verdict::Rejected(Rejection::Setup, fault.clone());
            for entry in chunk.into_tracked() {
                settled.add(entry, sent_at, verdict.clone(), acceptance);
            }
            settled.stop = Some(fault);
        }
    }
    settled
}

impl<E> EndedCall<E> {
    fn add(&mut self, mut entry: TrackedEntry<E>, sent_at: Instant, verdict: Verdict, acceptance: &Acceptance<'_, E>) {
        let cost = entry.state.cost;
        match verdict {
            Verdict::Accepted | Verdict::Acknowledged(_) | Verdict::ConditionFailed => {
                self.accept(&mut entry.entry, &mut entry.state, verdict, acceptance);
            }
            Verdict::Rejected(rejection, fault) => {
                let throttled = rejection.is_throttle();
                self.count_fresh(&entry.state, throttled);
                if throttled {
                    self.count(Outcome::with_throttled, cost);
                } else {
                    self.count(Outcome::with_failed, cost);
                }
                if rejection.is_unsent() {
                    self.count(Outcome::with_unsent, cost);
                }
                // A call that is known not to have left is not a rejection of its entries.
                if rejection.is_unsent() && !fault.is_ambiguous() {
                    entry.state.failed(sent_at, fault);
                } else {
                    entry.state.rejected(sent_at, fault);
                }
                self.rejected.push((entry, rejection));
            }
            Verdict::Refused(fault) => {
                self.count_fresh(&entry.state, false);
                self.count(Outcome::with_refused, cost);
                entry.state.failed(sent_at, fault.clone());
                self.refused.push((entry, fault));
            }
        }
    }

    /// The call with this entry alone was refused, perhaps because of the entry.
    fn dispute(&mut self, mut entry: TrackedEntry<E>, sent_at: Instant, answered_at: Instant, fault: Fault) {
        self.count_fresh(&entry.state, false);
        self.count(Outcome::with_refused, entry.state.cost);
        // What leaves the entry in doubt is sent again only as often as the options allow.
        let history = if fault.is_ambiguous() {
            entry.state.rejected(sent_at, fault)
        } else {
            entry.state.failed(sent_at, fault)
        };
        history.disputed_since.get_or_insert(answered_at);
        self.disputed = Some(entry);
    }

    /// All entries were processed, which is the usual case: they are dropped in place without being moved.
    fn accept_all(
        &mut self,
        mut chunk: Chunk<E>,
        verdicts: impl IntoIterator<Item = Verdict>,
        acceptance: &Acceptance<'_, E>,
    ) {
        for ((entry, state), verdict) in chunk.entries.iter_mut().zip(&mut chunk.states).zip(verdicts) {
            self.accept(entry, state, verdict, acceptance);
        }
        chunk.clear();
        self.emptied = Some(chunk);
    }

    /// The entry was accepted with this verdict, or its condition does not hold. For the pace both are the same: the service has
    /// processed the entry, and has consumed capacity for it.
    fn accept(
        &mut self,
        entry: &mut E,
        state: &mut EntryState<E>,
        verdict: Verdict,
        Acceptance { metrics, restore }: &Acceptance<'_, E>,
    ) {
        self.count_fresh(state, false);
        self.count(Outcome::with_accepted, state.cost);
        let disposition = match verdict {
            Verdict::ConditionFailed => Disposition::ConditionFailed,
            Verdict::Acknowledged(acknowledgement) => Disposition::Delivered(acknowledgement),
            _ => Disposition::Delivered(Acknowledgement::default()),
        };
        self.condition_failed += usize::from(disposition == Disposition::ConditionFailed);
        metrics.processed(|| {
            let arrived = state.arrived?.into_std();
            Some(self.outcome.answered_at.saturating_duration_since(arrived))
        });
        if let Some(confirmation) = state.confirmation.take() {
            restore(entry);
            confirmation.resolve(entry, disposition);
        }
        match self.accepted.last_mut() {
            Some(run) if run.end == state.position => run.end += 1,
            _ => self.accepted.push(state.position..state.position + 1),
        }
        self.left.extend(state.lane);
    }

    /// Counts an entry that was never rejected before. Attempts do not show that: a call that was refused because of
    /// other entries is not a rejection.
    fn count_fresh(&mut self, state: &EntryState<E>, throttled: bool) {
        if state.rejections() == 0 {
            let count = |counted: Outcome, weight| counted.with_fresh(weight, if throttled { weight } else { 0 });
            self.count(count, state.cost);
        }
    }

    /// Counts one entry, weighted by its cost.
    fn count(&mut self, add: impl Fn(Outcome, usize) -> Outcome, cost: usize) {
        self.outcome = add(self.outcome, 1);
        self.cost = add(self.cost, cost);
    }

    /// The call was refused as a whole, which is not a rejection of any single entry.
    fn refuse_all(&mut self, mut chunk: Chunk<E>, sent_at: Instant, fault: &Fault) {
        self.outcome = self.outcome.with_refused(chunk.len());
        self.cost = self.cost.with_refused(chunk.cost);
        for state in &mut chunk.states {
            state.failed(sent_at, fault.clone());
        }
        self.refused_chunk = Some(chunk);
    }

    /// The reasons for which its entries were throttled, each once.
    pub(crate) fn throttling_reasons(&self) -> Vec<&ThrottlingReason> {
        let mut reasons = Vec::new();
        for (entry, _) in &self.rejected {
            let fault = entry.state.history.as_ref().and_then(|history| history.fault.as_ref());
            for reason in fault.map_or(&[][..], Fault::throttling_reasons) {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }

    /// How many entries the service has now because of this call.
    pub(crate) fn delivered(&self) -> usize {
        self.outcome.accepted - self.condition_failed
    }

    /// Records the result in the span of the call.
    pub(crate) fn record(&self, span: &Span) {
        if span.is_disabled() {
            return;
        }
        let outcome = &self.outcome;
        span.record("accepted", self.delivered());
        if self.condition_failed > 0 {
            span.record("condition_failed", self.condition_failed);
        }
        span.record("throttled", outcome.throttled);
        span.record("failed", outcome.failed);
        span.record("refused", outcome.refused);
        span.record("throttled_by", in_words(self.throttling_reasons()));
        if let Some(fault) = self.first_fault() {
            span.record("error.type", fault.code());
            span.record("otel.status_code", "ERROR");
        }
    }

    /// Whether the whole call was refused for its size, and had several entries.
    pub(crate) fn is_too_large(&self) -> bool {
        self.refused_chunk.is_some() && self.fault().is_some_and(Fault::is_for_the_size_of_the_call)
    }

    /// Why no entry of the call was accepted, if nothing was.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        let of_all = self
            .panic
            .as_ref()
            .or(self.stop.as_ref())
            .or(self.refused_alone.as_ref());
        let of_chunk = || {
            let chunk = self.refused_chunk.as_ref().and_then(|chunk| chunk.states.first());
            let state = chunk.or(self.disputed.as_ref().map(|entry| &entry.state))?;
            state.history.as_ref()?.fault.as_ref()
        };
        of_all
            .or_else(of_chunk)
            .or_else(|| self.first_rejection().map(|(_, fault)| fault))
    }

    /// Why nothing of the call was accepted, for logs and metrics: of entries that were refused each on its own, why the first one was.
    pub(crate) fn first_fault(&self) -> Option<&Fault> {
        let refused = self.refused.first().filter(|_| self.outcome.accepted == 0);
        self.fault().or(refused.map(|(_, fault)| fault))
    }

    /// Why the first entry was rejected, if none was accepted.
    pub(crate) fn first_rejection(&self) -> Option<(Rejection, &Fault)> {
        let (entry, rejection) = self.rejected.first().filter(|_| self.outcome.accepted == 0)?;
        let fault = entry.state.history.as_ref()?.fault.as_ref()?;
        Some((*rejection, fault))
    }
}

/// Whether the service has processed every entry that the answer names.
pub(crate) fn accepts_all(answer: &Answer) -> bool {
    match answer {
        Answer::Each(verdicts) => verdicts.iter().all(Verdict::is_processed),
        Answer::Whole(verdict) => verdict.is_processed(),
        Answer::Disputed(_) | Answer::Stop(_) => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The chunk after a call with this answer.
    pub(crate) fn ended_call<E>(chunk: Chunk<E>, answer: Answer) -> EndedCall<E> {
        ended_call_at(chunk, answer, Instant::now(), Instant::now())
    }

    pub(crate) fn ended_call_at<E>(
        chunk: Chunk<E>,
        answer: Answer,
        sent_at: Instant,
        answered_at: Instant,
    ) -> EndedCall<E> {
        let acceptance = Acceptance {
            metrics: &Metrics::none(),
            restore: &|_| {},
        };
        settle(chunk, answer, sent_at, answered_at, &acceptance)
    }

    #[test]
    fn an_entry_of_a_call_that_was_refused_on_account_of_others_is_still_fresh() {
        let mut chunk = Chunk::with_capacity(2);
        for position in 0..2 {
            let state = EntryState::new(position, 1);
            chunk.push(TrackedEntry { entry: (), state });
        }
        let refused = Answer::Whole(Verdict::Refused(Fault::new("ValidationException")));
        let settled = ended_call(chunk, refused);
        assert_eq!((settled.outcome.refused, settled.refused.len()), (2, 0));

        let half = settled.refused_chunk.unwrap();
        let throttled = Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"));
        let settled = ended_call(half, Answer::Each(vec![Verdict::Accepted, throttled]));
        assert_eq!((settled.outcome.fresh, settled.outcome.fresh_throttled), (2, 1));
        let (entry, _) = &settled.rejected[0];
        assert_eq!((entry.state.attempts(), entry.state.rejections()), (2, 1));
    }

    #[test]
    fn an_entry_whose_condition_does_not_hold_is_processed_and_not_delivered() {
        let of_both = |answer: Answer| {
            let mut chunk = Chunk::with_capacity(2);
            for position in 0..2 {
                let state = EntryState::new(position, 1);
                chunk.push(TrackedEntry { entry: (), state });
            }
            ended_call(chunk, answer)
        };
        let throttled = Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"));
        for (answer, accepted, delivered) in [
            (Answer::Whole(Verdict::ConditionFailed), 2, 0),
            (Answer::Each(vec![Verdict::Accepted, Verdict::ConditionFailed]), 2, 1),
            (Answer::Each(vec![Verdict::ConditionFailed, throttled]), 1, 0),
        ] {
            assert_eq!(accepts_all(&answer), accepted == 2);
            let settled = of_both(answer);
            assert_eq!((settled.outcome.accepted, settled.delivered()), (accepted, delivered));
            let settled_positions: u64 = settled.accepted.iter().map(|run| run.end - run.start).sum();
            assert_eq!(settled_positions, accepted as u64);
            assert!(settled.refused.is_empty() && settled.fault().is_none());
        }
    }

    #[test]
    fn verdicts_beyond_the_entries_count_for_none() {
        let chunk = || {
            let mut chunk = Chunk::with_capacity(1);
            let state = EntryState::new(0, 1);
            chunk.push(TrackedEntry { entry: (), state });
            chunk
        };
        let refused = || Verdict::Refused(Fault::new("ValidationException"));
        for beyond in [Verdict::Accepted, refused()] {
            let settled = ended_call(chunk(), Answer::Each(vec![Verdict::Accepted, beyond]));
            assert_eq!(
                (settled.outcome.sent, settled.outcome.accepted, settled.refused.len()),
                (1, 1, 0)
            );
        }
    }
}
