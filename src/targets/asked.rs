//! What a service is asked for once: a table's key, a queue's attributes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

use super::{Answer, Fault, Rejection, Verdict};
use crate::events::LOOKUP;

/// How often it is asked. Such calls are rarely throttled; a connection that fails three times is better reported by the
/// delivery itself.
const TRIES: u32 = 4;

/// The rest after the first try, doubled after each: 0.7 s in all.
const REST: Duration = Duration::from_millis(100);

/// How long one try may take. An ordinary one takes some 10 ms.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A client that may write need not have the permission to ask.
const FORBIDDEN: &[&str] = &["AccessDenied", "AccessDeniedException", "NotAuthorized"];

/// What speaks the same protocol need not know the question.
const UNKNOWN: &[&str] = &["InvalidAction", "UnknownOperationException", "UnsupportedOperation"];

/// For so long it is not asked again after that did not help. Otherwise all that waited for the answer would ask one after the
/// other, each for as long as its tries take.
const QUIET: Duration = Duration::from_secs(30);

/// What the service said, shared by all clones. `None` inside means that asking is not permitted.
#[derive(Debug, Clone)]
pub(crate) struct Asked<T> {
    answer: Arc<OnceCell<Option<T>>>,
    /// When it was asked in vain last, and why it was in vain.
    in_vain: Arc<Mutex<Option<(Instant, Fault)>>>,
    /// Why the last try failed, while more of them follow.
    failing: Arc<Mutex<Option<Fault>>>,
}

/// The longest rest while no call can be made.
const LONGEST_REST: Duration = Duration::from_secs(3);

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The call could not be made at the moment, and nor could any other.
    Unsent(Fault),
    /// Asking again in a moment may help.
    Passing(Fault),
    /// The next delivery may ask again.
    ForNow(Fault),
    /// Asking again is of no use.
    ForGood(Fault),
}

/// What helps when there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The permission to ask, or the answer in advance.
    Permit,
    /// The answer in advance: it cannot be asked for.
    DoWithout,
    /// The next delivery may get an answer.
    Wait,
}

impl Silence {
    /// What helps when it was asked in vain for this reason.
    pub(crate) fn advice(fault: &Fault) -> Advice {
        if FORBIDDEN.contains(&fault.code()) {
            Advice::Permit
        } else if UNKNOWN.contains(&fault.code()) {
            Advice::DoWithout
        } else {
            Advice::Wait
        }
    }
}

impl<T> Default for Asked<T> {
    fn default() -> Self {
        Self {
            answer: Arc::default(),
            in_vain: Arc::default(),
            failing: Arc::default(),
        }
    }
}

impl<T> Asked<T> {
    /// Known without asking.
    pub(crate) fn given(answer: T) -> Self {
        Self {
            answer: Arc::new(OnceCell::new_with(Some(Some(answer)))),
            ..Self::default()
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.answer.get()?.as_ref()
    }

    /// Asks by this call, unless the answer is known. Calls at the same time share the answer, or that there is none.
    /// Returns why there is none, if it was asked for in vain just now.
    pub(crate) async fn ask<F>(&self, call: impl Fn() -> F) -> Option<Fault>
    where
        F: Future<Output = Result<T, Silence>>,
    {
        let mut refusal = None;
        let refused = &mut refusal;
        let asked = self.answer.get_or_try_init(|| async move {
            if let Some(fault) = self.quiet() {
                return Err(fault);
            }
            *lock(&self.failing) = None;
            match self.patiently(call).await {
                Ok(answer) => Ok(Some(answer)),
                Err(Silence::ForGood(fault)) => {
                    *refused = Some(fault);
                    Ok(None)
                }
                Err(Silence::ForNow(fault)) => Err(fault),
                Err(Silence::Unsent(fault) | Silence::Passing(fault)) => {
                    *lock(&self.in_vain) = Some((Instant::now(), fault.clone()));
                    Err(fault)
                }
            }
        });
        let silence = asked.await.err();
        silence.or(refusal)
    }

    /// Why it was in vain, if that is not long ago.
    fn quiet(&self) -> Option<Fault> {
        let in_vain = lock(&self.in_vain);
        let (at, fault) = in_vain.as_ref()?;
        (at.elapsed() < QUIET).then(|| fault.clone())
    }

    /// Why the last try failed, while it is asked for again and again.
    pub(crate) fn failing(&self) -> Option<Fault> {
        lock(&self.failing).clone()
    }

    /// Asks a few times, and for as long as no call can be made: nothing could be delivered meanwhile either, and what is
    /// delivered without the answer may lose its order.
    async fn patiently<F>(&self, call: impl Fn() -> F) -> Result<T, Silence>
    where
        F: Future<Output = Result<T, Silence>>,
    {
        let mut tries = 1..TRIES;
        let mut rest = REST;
        loop {
            let fault = match in_time(call()).await {
                Err(Silence::Unsent(fault)) => fault,
                Err(Silence::Passing(fault)) if tries.next().is_some() => fault,
                settled => return settled,
            };
            debug!(target: LOOKUP, code = fault.code(), "asked in vain, and asks again");
            *lock(&self.failing) = Some(fault);
            sleep(rest).await;
            rest = (2 * rest).min(LONGEST_REST);
        }
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn in_time<T>(call: impl Future<Output = Result<T, Silence>>) -> Result<T, Silence> {
    let late = |_| Err(Silence::Passing(Fault::new("timeout")));
    timeout(TIMEOUT, call).await.unwrap_or_else(late)
}

impl From<Answer> for Silence {
    /// What a failed call means for the next one.
    fn from(answer: Answer) -> Self {
        match answer {
            // What is not there may be made one day, and credentials may be put right.
            Answer::Stop(fault) if Self::advice(&fault) == Advice::Wait => Self::ForNow(fault),
            Answer::Stop(fault) | Answer::Whole(Verdict::Refused(fault)) => Self::ForGood(fault),
            Answer::Whole(Verdict::Rejected(Rejection::Unconfigured, fault)) => Self::ForNow(fault),
            // An answer that is not the service's own is no answer to wait for: what speaks for it may not know the question.
            Answer::Whole(Verdict::Rejected(Rejection::Setup, fault)) if !fault.is_ambiguous() => Self::Unsent(fault),
            Answer::Whole(Verdict::Rejected(_, fault)) => Self::Passing(fault),
            Answer::Whole(Verdict::Accepted | Verdict::Acknowledged(_)) | Answer::Each(_) => {
                Self::ForNow(Fault::new("no answer"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};

    use super::*;

    /// Asks twice, and counts the calls of each.
    async fn calls(silence: impl Fn() -> Silence) -> [u32; 2] {
        let asked = Asked::<()>::default();
        let calls = Cell::new(0);
        let call = || {
            calls.set(calls.get() + 1);
            ready(Err(silence()))
        };
        assert!(asked.ask(call).await.is_some());
        let first = calls.replace(0);
        asked.ask(call).await;
        assert!(asked.get().is_none());
        [first, calls.get()]
    }

    #[tokio::test(start_paused = true)]
    async fn it_asks_as_often_as_that_may_help() {
        let fault = || Fault::new("fault");
        assert_eq!(calls(|| Silence::Passing(fault())).await, [TRIES, 0]);
        assert_eq!(calls(|| Silence::ForNow(fault())).await, [1, 1]);
        assert_eq!(calls(|| Silence::ForGood(fault())).await, [1, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn it_asks_for_as_long_as_no_call_can_be_made() {
        let asked = Asked::default();
        let outage = Duration::from_mins(1);
        let started = Instant::now();
        let call = || {
            let is_over = started.elapsed() >= outage;
            let unsent = || Silence::Unsent(Fault::new("request not sent"));
            ready(if is_over { Ok(7) } else { Err(unsent()) })
        };
        assert!(asked.ask(call).await.is_none());
        assert!(started.elapsed() <= outage + LONGEST_REST);
        assert_eq!(asked.get(), Some(&7));
    }

    #[tokio::test(start_paused = true)]
    async fn while_it_asks_again_it_tells_why_the_last_try_failed() {
        let asked = Asked::<()>::default();
        let unsent = || ready(Err(Silence::Unsent(Fault::new("no connection"))));
        let asking = timeout(Duration::from_secs(1), asked.ask(unsent));
        assert!(asked.failing().is_none());
        asking.await.unwrap_err();
        assert_eq!(asked.failing().unwrap().code(), "no connection");
        // The next one begins anew.
        assert!(asked.ask(|| ready(Ok(()))).await.is_none());
        assert!(asked.failing().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_ask_in_vain_wait_no_longer_than_one() {
        let asked = Asked::<()>::default();
        let started = Instant::now();
        let all = futures::future::join_all((0..64).map(|_| asked.ask(pending))).await;
        assert!(all.iter().all(Option::is_some));
        assert!(started.elapsed() < TIMEOUT * (TRIES + 1));
        sleep(QUIET).await;
        assert!(asked.ask(|| ready(Ok(()))).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept() {
        let asked = Asked::default();
        assert!(asked.ask(|| ready(Ok(7))).await.is_none());
        assert!(asked.ask(|| ready(Ok(8))).await.is_none());
        assert_eq!(asked.get(), Some(&7));
        assert_eq!(Asked::given(9).get(), Some(&9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_end_is_given_up() {
        let asked = Asked::<()>::default();
        let fault = asked.ask(pending).await;
        assert_eq!(fault.unwrap().code(), "timeout");
    }

    #[test]
    fn a_permission_is_advised_only_where_it_is_missing() {
        for (code, advice) in [
            ("AccessDeniedException", Advice::Permit),
            ("UnknownOperationException", Advice::DoWithout),
            ("connection failed", Advice::Wait),
            ("timeout", Advice::Wait),
            ("UnrecognizedClientException", Advice::Wait),
        ] {
            assert_eq!(Silence::advice(&Fault::new(code)), advice, "{code}");
        }
    }

    #[test]
    fn a_failed_call_says_whether_to_ask_again() {
        let fault = |code: &'static str| Fault::new(code);
        let throttled = Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault("Throttling")));
        assert!(matches!(Silence::from(throttled), Silence::Passing(_)));
        assert!(matches!(
            Silence::from(Answer::Stop(fault("AccessDenied"))),
            Silence::ForGood(_)
        ));
        for code in [
            "QueueDoesNotExist",
            "NonExistentQueue",
            "ResourceNotFoundException",
            "UnrecognizedClientException",
        ] {
            let silence = Silence::from(Answer::Stop(fault(code)));
            assert!(matches!(silence, Silence::ForNow(_)), "{code}");
        }
    }
}
