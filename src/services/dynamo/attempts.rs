//! The attempts of a write: what became of one, and what the write remembers of them for as long as the entry lives.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use tokio::time::Instant;

use super::Attributes;
use crate::contract::{Answer, Identity, Verdict};
use crate::debug::debug_fields;
use crate::moment::Moment;

/// How long after an attempt without an answer its token may be used again. DynamoDB recognizes a token for 10 minutes; the
/// rest is for the way of the request and for clocks that differ. From the API reference of `TransactWriteItems`.
const TOKEN_IS_VALID: Duration = Duration::from_secs(9 * 60);

/// What became of a call that writes one item, or several in a transaction.
pub(super) enum Reply {
    /// Applied, with the units that it consumed if the answer has them.
    Applied(Option<f64>),
    /// Not applied, because these conditions do not hold.
    ConditionFailed(Vec<FailedCondition>),
    /// Anything else.
    Failed(Answer),
}

/// Whether the status is one by which the service refuses a call; with any other, the call may have been applied.
pub(super) fn is_refusal<E>(error: &SdkError<E, HttpResponse>) -> bool {
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    matches!(status, Some(400..=499))
}

/// Whether an earlier attempt may have been applied, the token of its requests, and the existing item when a condition did not
/// hold. The clones of an entry share it: a clone is the same write, and not another one.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    state: Mutex<AttemptsState>,
    /// What recognizes the entry also in other deliveries, if it is of a spool.
    identity: Option<Identity>,
}

#[derive(Debug, Default)]
struct AttemptsState {
    /// When an attempt left whose answer did not come.
    doubt: Option<Moment>,
    token: Option<String>,
    failed: Vec<FailedCondition>,
}

/// An attempt that is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    before: Option<Moment>,
}

impl Attempt {
    /// Whether an earlier attempt may have been applied.
    pub(super) fn is_in_doubt(self) -> bool {
        self.before.is_some()
    }
}

/// An action whose condition does not hold, and the existing item.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct FailedCondition {
    /// The position of the action in its transaction, from 0.
    pub action: usize,
    /// The item, if the action asks for it and there is one.
    pub item: Option<Attributes>,
}

impl FailedCondition {
    pub(super) fn new(action: usize, item: Option<Attributes>) -> Self {
        Self { action, item }
    }
}

// Without the item, which is content.
debug_fields!(FailedCondition, action);

impl Attempts {
    /// Those of an entry that other deliveries may have sent before.
    pub(super) fn of(identity: &Identity) -> Self {
        let state = AttemptsState {
            doubt: identity.doubt(),
            ..AttemptsState::default()
        };
        Self {
            state: Mutex::new(state),
            identity: Some(identity.clone()),
        }
    }

    /// Whether other deliveries may send the entry.
    pub(super) fn is_spooled(&self) -> bool {
        self.identity.is_some()
    }

    /// An attempt begins. Until it [ends](Self::end), it may have been applied: its future may be dropped at any time.
    pub(super) fn begin(&self) -> Attempt {
        let mut state = self.state();
        let before = state.doubt;
        state.failed.clear();
        state.doubt.get_or_insert_with(Moment::now);
        self.note(&state);
        Attempt { before }
    }

    /// The token of all requests for the entry; `None` when an attempt without an answer lies too far back, so that DynamoDB
    /// may take another request with the token for a new one.
    pub(super) fn token(&self) -> Option<String> {
        let mut state = self.state();
        if state
            .doubt
            .is_some_and(|doubt| doubt.age_at(Instant::now()) >= TOKEN_IS_VALID)
        {
            return None;
        }
        let new = || {
            let identity = self.identity.as_ref();
            identity.map_or_else(|| format!("{:032x}", rand::random::<u128>()), Identity::to_string)
        };
        Some(state.token.get_or_insert_with(new).clone())
    }

    /// The answer of the attempt. A final one ends the write: if the entry is sent again, that is a new write.
    pub(super) fn end(&self, attempt: Attempt, answer: &Answer) {
        let mut state = self.state();
        let verdict = match answer {
            Answer::Each(verdicts) => verdicts.first(),
            Answer::Whole(verdict) => Some(verdict),
            Answer::Disputed(_) | Answer::Stop(_) => None,
        };
        let is_ambiguous = match (verdict, answer) {
            (Some(Verdict::Rejected(_, fault) | Verdict::Refused(fault)), _)
            | (None, Answer::Disputed(fault) | Answer::Stop(fault)) => fault.is_ambiguous(),
            (None, _) => true,
            (Some(_), _) => {
                (state.doubt, state.token) = (None, None);
                return self.note(&state);
            }
        };
        // What is known of this attempt says nothing of the ones before it.
        if !is_ambiguous {
            state.doubt = attempt.before;
            self.note(&state);
        }
    }

    /// The next delivery of the entry learns about the doubt.
    fn note(&self, state: &AttemptsState) {
        if let Some(identity) = &self.identity {
            identity.set_doubt(state.doubt);
        }
    }

    /// Keeps what is known of the conditions that do not hold.
    pub(super) fn failed(&self, failed: Vec<FailedCondition>) {
        self.state().failed = failed;
    }

    /// Takes what is known of the conditions that did not hold in the last attempt.
    pub(super) fn take_failed(&self) -> Vec<FailedCondition> {
        std::mem::take(&mut self.state().failed)
    }

    fn state(&self) -> MutexGuard<'_, AttemptsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Fault, Rejection};

    fn lost() -> Answer {
        Answer::Whole(Verdict::Rejected(
            Rejection::Connection,
            Fault::new("timeout").ambiguous(),
        ))
    }

    fn throttled() -> Answer {
        Answer::Whole(Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")))
    }

    fn answered(attempts: &Attempts, answer: &Answer) -> bool {
        let attempt = attempts.begin();
        attempts.end(attempt, answer);
        attempt.is_in_doubt()
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_lasts_until_the_service_has_decided_on_the_write() {
        let attempts = Attempts::default();
        assert!(!answered(&attempts, &throttled()));
        assert!(!answered(&attempts, &lost()));
        // What is known of a later attempt does not say what became of the lost one.
        assert!(answered(&attempts, &throttled()));
        assert!(answered(
            &attempts,
            &Answer::Whole(Verdict::Refused(Fault::new("ValidationException")))
        ));
        assert!(answered(&attempts, &Answer::Whole(Verdict::Accepted)));
        assert!(!answered(&attempts, &Answer::Whole(Verdict::ConditionFailed)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_is_dropped_leaves_a_doubt() {
        let attempts = Attempts::default();
        let _ = attempts.begin();
        assert!(attempts.begin().is_in_doubt());
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_lives_until_the_write_is_decided() {
        let attempts = Attempts::default();
        let token = attempts.token();
        assert_eq!(token.as_ref().map(String::len), Some(32));
        for answer in [throttled(), lost(), throttled()] {
            answered(&attempts, &answer);
            assert_eq!(attempts.token(), token);
        }
        answered(&attempts, &Answer::Whole(Verdict::Accepted));
        assert_ne!(attempts.token(), token);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_delivery_of_a_spooled_write_goes_on_with_its_token_and_its_doubt() {
        let identity = Identity::new(7);
        let attempts = Attempts::of(&identity);
        answered(&attempts, &lost());
        drop(attempts);
        tokio::time::advance(Duration::from_secs(5 * 60)).await;
        let next = Attempts::of(&identity);
        assert_eq!(next.token(), Some(format!("{:032x}", 7)));
        assert!(answered(&next, &throttled()));
        tokio::time::advance(Duration::from_secs(4 * 60)).await;
        assert_eq!(Attempts::of(&identity).token(), None);
        answered(&next, &Answer::Whole(Verdict::Accepted));
        assert!(Attempts::of(&identity).token().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_used_for_nine_minutes_after_the_first_lost_answer() {
        let attempts = Attempts::default();
        let token = attempts.token();
        tokio::time::advance(Duration::from_secs(60 * 60)).await;
        answered(&attempts, &throttled());
        assert_eq!(attempts.token(), token);
        answered(&attempts, &lost());
        tokio::time::advance(Duration::from_secs(9 * 60 - 1)).await;
        answered(&attempts, &lost());
        assert_eq!(attempts.token(), token);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(attempts.token(), None);
    }
}
