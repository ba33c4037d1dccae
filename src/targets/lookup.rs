//! What a target asks its service once: the key of a table, the attributes of a queue.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::{Answer, Fault, Rejection, Verdict};
use crate::events::LOOKUP;
use crate::time_limit::within;

/// The most calls of one lookup, unless no call can be made. Such calls are rarely throttled; if the connection fails
/// several times, the delivery itself reports it better.
const TRIES: u32 = 4;

/// The delay after the first call, doubled after each further one: 0.7 s in all.
const DELAY: Duration = Duration::from_millis(100);

/// The longest delay while no call can be made.
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// How long one call may take. It usually takes some 10 ms.
const TIMEOUT: Duration = Duration::from_secs(5);

/// After a failed lookup the service is not asked again for this long. Otherwise every delivery that waits for the answer
/// would ask, one after the other.
const QUIET: Duration = Duration::from_secs(30);

/// A client that may write need not have the permission to describe.
const FORBIDDEN: &[&str] = &["AccessDenied", "AccessDeniedException", "NotAuthorized"];

/// Other implementations of the protocol may not know the operation.
const UNKNOWN: &[&str] = &["InvalidAction", "UnknownOperationException", "UnsupportedOperation"];

/// Something that a target asks its service once: the key of a table, the attributes of a queue, the number of shards. Clones
/// share the answer.
///
/// It is used in [`BatchTarget::prepare`](super::BatchTarget::prepare): the first delivery asks, deliveries that start
/// meanwhile wait for the same answer, and later ones have it.
///
/// ```
/// use aws_batch_delivery::InvalidEntry;
/// use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Lookup, LookupError};
///
/// struct Topic {
///     largest_record: Lookup<usize>,
/// }
///
/// impl BatchTarget for Topic {
///     type Entry = String;
///
///     async fn prepare(&self) {
///         // Without the answer the service itself refuses what is too large.
///         let _ = self.largest_record.ask(describe_topic).await;
///     }
///
///     fn preparation_fault(&self) -> Option<Fault> {
///         self.largest_record.failing()
///     }
///
///     fn check(&self, record: &String) -> Result<usize, InvalidEntry> {
///         match self.largest_record.get() {
///             Some(&limit) if record.len() > limit => {
///                 Err(InvalidEntry::TooLarge { part: "record", limit, actual: record.len() })
///             }
///             _ => Ok(record.len()),
///         }
///     }
/// #   fn limits(&self) -> Limits {
/// #       Limits::new(500, 5 << 20)
/// #   }
/// #   async fn send(&self, _: &[String]) -> Answer {
/// #       Answer::Each(Vec::new())
/// #   }
/// }
///
/// async fn describe_topic() -> Result<usize, LookupError> {
///     // With an SDK of AWS: `client.describe_topic().send().await.map_err(classify)?`
///     # Ok(1 << 20)
/// }
/// ```
///
/// # How often it asks
/// Each call may take 5 s. After a transient failure it is called up to 4 times, 0.1, 0.2 and 0.4 s apart, and then not
/// again for 30 s. While no call can be made at all, it is called until that is over, at most 3 s apart. [`LookupError`]
/// distinguishes the cases.
pub struct Lookup<T>(Arc<State<T>>);

struct State<T> {
    /// The answer of the service. The inner `None`: asking is pointless.
    answer: OnceCell<Option<T>>,
    /// When a lookup failed last, and why.
    last_failure: Mutex<Option<(Instant, Fault)>>,
    /// Why the last call failed, while more calls follow.
    failing: Mutex<Option<Fault>>,
}

/// Why a call of a [`Lookup`] brought no answer, which decides whether another one follows. An [`Answer`] is converted into
/// it.
#[derive(Debug, Clone, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum LookupError {
    /// The call could not be made at the moment, and no other could: it is repeated until that is over.
    Unsent(Fault),
    /// It is repeated after a short delay, a few times.
    Transient(Fault),
    /// The next delivery asks again.
    NotNow(Fault),
    /// Asking again is pointless: a permission is missing, for example.
    Never(Fault),
}

/// What the user can do when there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Grant the permission to ask, or give the answer.
    Permit,
    /// Give the answer: it cannot be asked for.
    DoWithout,
    /// Nothing: the next delivery may get an answer.
    Wait,
}

impl<T> Lookup<T> {
    /// The answer is given, so the service is not asked.
    pub fn given(answer: T) -> Self {
        Self::new(OnceCell::new_with(Some(Some(answer))))
    }

    fn new(answer: OnceCell<Option<T>>) -> Self {
        Self(Arc::new(State {
            answer,
            last_failure: Mutex::default(),
            failing: Mutex::default(),
        }))
    }

    /// The answer, if it is known.
    pub fn get(&self) -> Option<&T> {
        self.0.answer.get()?.as_ref()
    }

    /// Makes this call, unless the answer is known. `None` if it is known that [asking is pointless](LookupError::Never).
    ///
    /// Calls at the same time share one answer or failure. Cancel-safe.
    ///
    /// # Errors
    /// Why there is no answer, if a lookup has just failed.
    pub async fn ask<F>(&self, call: impl Fn() -> F) -> Result<Option<&T>, Fault>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        let mut never = None;
        let found_useless = &mut never;
        let state = &*self.0;
        let asking = state.answer.get_or_try_init(|| async move {
            if let Some(fault) = state.quiet() {
                return Err(fault);
            }
            *lock(&state.failing) = None;
            match state.ask_repeatedly(call).await {
                Ok(answer) => Ok(Some(answer)),
                Err(LookupError::Never(fault)) => {
                    *found_useless = Some(fault);
                    Ok(None)
                }
                Err(LookupError::NotNow(fault)) => Err(fault),
                Err(LookupError::Unsent(fault) | LookupError::Transient(fault)) => {
                    *lock(&state.last_failure) = Some((Instant::now(), fault.clone()));
                    Err(fault)
                }
            }
        });
        let answer = asking.await?;
        never.map_or_else(|| Ok(answer.as_ref()), Err)
    }

    /// Why the last call failed, while more calls follow. For
    /// [`BatchTarget::preparation_fault`](super::BatchTarget::preparation_fault).
    pub fn failing(&self) -> Option<Fault> {
        lock(&self.0.failing).clone()
    }
}

impl<T> State<T> {
    /// Why the last lookup failed, if that was recently.
    fn quiet(&self) -> Option<Fault> {
        let last_failure = lock(&self.last_failure);
        let (at, fault) = last_failure.as_ref()?;
        (at.elapsed() < QUIET).then(|| fault.clone())
    }

    /// Asks a few times, or until calls can be made again: meanwhile nothing could be delivered either, and entries that
    /// are delivered without the answer may lose their order.
    async fn ask_repeatedly<F>(&self, call: impl Fn() -> F) -> Result<T, LookupError>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        let mut tries = 1..TRIES;
        let mut delay = DELAY;
        loop {
            let fault = match in_time(call()).await {
                Err(LookupError::Unsent(fault)) => fault,
                Err(LookupError::Transient(fault)) if tries.next().is_some() => fault,
                settled => return settled,
            };
            debug!(target: LOOKUP, code = fault.code(), "the lookup failed and is repeated");
            *lock(&self.failing) = Some(fault);
            sleep(delay).await;
            delay = (2 * delay).min(LONGEST_DELAY);
        }
    }
}

impl<T> Default for Lookup<T> {
    /// The answer is not known.
    fn default() -> Self {
        Self::new(OnceCell::new())
    }
}

impl<T> Clone for Lookup<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Lookup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lookup").field(&self.get()).finish()
    }
}

impl LookupError {
    /// What the user can do after a lookup failed for this reason.
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

impl From<Answer> for LookupError {
    /// What a failed call means for the next one.
    fn from(answer: Answer) -> Self {
        match answer {
            // A missing resource may be created later, and credentials may be corrected.
            Answer::Disputed(fault) | Answer::Stop(fault) if Self::advice(&fault) == Advice::Wait => {
                Self::NotNow(fault)
            }
            Answer::Disputed(fault) | Answer::Stop(fault) | Answer::Whole(Verdict::Refused(fault)) => {
                Self::Never(fault)
            }
            Answer::Whole(Verdict::Rejected(Rejection::Unconfigured, fault)) => Self::NotNow(fault),
            // An ambiguous answer is not from the service itself; its sender may not know the operation.
            Answer::Whole(Verdict::Rejected(Rejection::Setup, fault)) if !fault.is_ambiguous() => Self::Unsent(fault),
            Answer::Whole(Verdict::Rejected(_, fault)) => Self::Transient(fault),
            Answer::Whole(Verdict::Accepted | Verdict::Acknowledged(_)) | Answer::Each(_) => {
                Self::NotNow(Fault::new("no answer"))
            }
        }
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn in_time<T>(call: impl Future<Output = Result<T, LookupError>>) -> Result<T, LookupError> {
    let late = || Err(LookupError::Transient(Fault::new("timeout")));
    within(TIMEOUT, pin!(call)).await.unwrap_or_else(late)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};

    use tokio::time::timeout;

    use super::*;

    /// Asks twice, and returns the number of calls of each lookup.
    async fn calls(error: impl Fn() -> LookupError) -> [u32; 2] {
        let lookup = Lookup::<()>::default();
        let calls = Cell::new(0);
        let call = || {
            calls.set(calls.get() + 1);
            ready(Err(error()))
        };
        assert!(lookup.ask(call).await.is_err());
        let first = calls.replace(0);
        let _ = lookup.ask(call).await;
        assert!(lookup.get().is_none());
        [first, calls.get()]
    }

    #[tokio::test(start_paused = true)]
    async fn the_error_decides_how_often_the_service_is_asked() {
        let fault = || Fault::new("fault");
        assert_eq!(calls(|| LookupError::Transient(fault())).await, [TRIES, 0]);
        assert_eq!(calls(|| LookupError::NotNow(fault())).await, [1, 1]);
        assert_eq!(calls(|| LookupError::Never(fault())).await, [1, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_service_is_asked_for_as_long_as_no_call_can_be_made() {
        let lookup = Lookup::default();
        let outage = Duration::from_mins(1);
        let started = Instant::now();
        let call = || {
            let is_over = started.elapsed() >= outage;
            let unsent = || LookupError::Unsent(Fault::new("request not sent"));
            ready(if is_over { Ok(7) } else { Err(unsent()) })
        };
        assert!(lookup.ask(call).await.is_ok());
        assert!(started.elapsed() <= outage + LONGEST_DELAY);
        assert_eq!(lookup.get(), Some(&7));
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_lookup_is_repeated_the_last_failure_is_known() {
        let lookup = Lookup::<()>::default();
        let unsent = || ready(Err(LookupError::Unsent(Fault::new("no connection"))));
        let asking = timeout(Duration::from_secs(1), lookup.ask(unsent));
        assert!(lookup.failing().is_none());
        asking.await.unwrap_err();
        assert_eq!(lookup.failing().unwrap().code(), "no connection");
        // The next lookup starts again.
        assert!(lookup.ask(|| ready(Ok(()))).await.is_ok());
        assert!(lookup.failing().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_failing_lookups_wait_no_longer_than_one() {
        let lookup = Lookup::<()>::default();
        let started = Instant::now();
        let all = futures::future::join_all((0..64).map(|_| lookup.ask(pending))).await;
        assert!(all.iter().all(Result::is_err));
        assert!(started.elapsed() < TIMEOUT * (TRIES + 1));
        sleep(QUIET).await;
        assert!(lookup.ask(|| ready(Ok(()))).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept() {
        let lookup = Lookup::default();
        assert!(lookup.ask(|| ready(Ok(7))).await.is_ok());
        assert!(lookup.ask(|| ready(Ok(8))).await.is_ok());
        assert_eq!(lookup.get(), Some(&7));
        assert_eq!(Lookup::given(9).get(), Some(&9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_end_is_given_up() {
        let lookup = Lookup::<()>::default();
        let fault = lookup.ask(pending).await;
        assert_eq!(fault.unwrap_err().code(), "timeout");
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
            assert_eq!(LookupError::advice(&Fault::new(code)), advice, "{code}");
        }
    }

    #[test]
    fn a_failed_call_says_whether_to_ask_again() {
        let fault = |code: &'static str| Fault::new(code);
        let throttled = Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault("Throttling")));
        assert!(matches!(LookupError::from(throttled), LookupError::Transient(_)));
        assert!(matches!(
            LookupError::from(Answer::Stop(fault("AccessDenied"))),
            LookupError::Never(_)
        ));
        for code in [
            "QueueDoesNotExist",
            "NonExistentQueue",
            "ResourceNotFoundException",
            "UnrecognizedClientException",
        ] {
            let error = LookupError::from(Answer::Stop(fault(code)));
            assert!(matches!(error, LookupError::NotNow(_)), "{code}");
        }
    }
}
