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

/// The longest delay after the first failed call. It doubles with each further one.
const DELAY: Duration = Duration::from_millis(100);

/// The longest delay between two calls. Some services limit such calls to a few a second for a whole account; an outage is
/// noticed to be over within seconds.
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// How long one call may take. It usually takes some 10 ms.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long a delivery waits for an answer that it can do without.
const UP_FRONT: Duration = Duration::from_secs(2);

/// After a failed call for something that a delivery can do without, the service is not asked again for this long.
const QUIET: Duration = Duration::from_secs(30);

/// After a call that was denied, or whose operation is not known, the service is not asked again for this long.
const DENIED: Duration = Duration::from_mins(5);

/// A client that may write need not have the permission to describe.
const FORBIDDEN: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "NotAuthorized",
];

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
///         let _ = self.largest_record.ask_once(describe_topic).await;
///     }
///
///     fn preparation_fault(&self) -> Option<Fault> {
///         self.largest_record.missing()
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
/// [`ask`](Self::ask) is for what a delivery needs: it calls until there is an answer, with delays of up to 0.1 s at first
/// and up to 3 s in the end, drawn at random so that processes that fail together do not ask together. The delivery limits
/// it by [`give_up_after`](crate::DeliveryOptions::give_up_after). [`ask_once`](Self::ask_once) is for what a delivery can do
/// without: it calls once, waits for 2 s, and does not call again for 30 s. A call may take 5 s. [`LookupError`] distinguishes
/// the failures; after one that is [final](LookupError::Never), neither calls for 5 minutes.
///
/// While something is [missing](Self::missing), a running delivery calls `prepare` again every 30 s.
pub struct Lookup<T>(Arc<State<T>>);

struct State<T> {
    operation: Option<&'static str>,
    answer: OnceCell<T>,
    missing: Mutex<Option<Missing>>,
}

/// Why there is no answer.
struct Missing {
    fault: Fault,
    /// The service is not asked again before this moment.
    until: Option<Instant>,
    /// Whether asking is pointless until then.
    is_final: bool,
}

/// Why a call of a [`Lookup`] brought no answer, which decides whether another one follows. An [`Answer`] is converted into
/// it.
#[derive(Debug, Clone, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum LookupError {
    /// It is repeated until there is an answer: the service is throttled or fails, or cannot be reached.
    Transient(Fault),
    /// It is not repeated now: the resource does not exist, for example, and the first call of the delivery fails as well.
    NotNow(Fault),
    /// Asking is pointless: the permission is missing, or the service does not know the operation. The delivery goes on
    /// without the answer.
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
    /// Asks by this operation, such as `DescribeTable`. The faults of the lookup name it.
    pub fn by(operation: &'static str) -> Self {
        Self::new(Some(operation), OnceCell::new())
    }

    /// The answer is given, so the service is not asked.
    pub fn given(answer: T) -> Self {
        Self::new(None, OnceCell::new_with(Some(answer)))
    }

    fn new(operation: Option<&'static str>, answer: OnceCell<T>) -> Self {
        Self(Arc::new(State {
            operation,
            answer,
            missing: Mutex::default(),
        }))
    }

    /// The answer, if it is known.
    pub fn get(&self) -> Option<&T> {
        self.0.answer.get()
    }

    /// Makes this call until there is an answer, unless it is known. `None` if [asking is pointless](LookupError::Never) and
    /// an earlier call has returned why.
    ///
    /// Calls at the same time share one answer. Cancel-safe.
    ///
    /// # Errors
    /// Why asking does not help now.
    pub async fn ask<F>(&self, call: impl Fn() -> F) -> Result<Option<&T>, Fault>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        self.answered(self.0.ask_repeatedly(call)).await
    }

    /// Makes this call once, unless the answer is known or the last failure was a moment ago. `None` in the latter case.
    ///
    /// Calls at the same time share one answer. Cancel-safe.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask_once<F>(&self, call: impl FnOnce() -> F) -> Result<Option<&T>, Fault>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        let once = self.answered(async { in_time(UP_FRONT, call()).await });
        // Another delivery may be asking for longer.
        let late = || Err(Fault::new(LATE));
        within(UP_FRONT, pin!(once)).await.unwrap_or_else(late)
    }

    async fn answered(&self, ask: impl Future<Output = Result<T, LookupError>>) -> Result<Option<&T>, Fault> {
        let state = &*self.0;
        let asking = state.answer.get_or_try_init(|| async {
            if state.is_quiet() {
                return Err(None);
            }
            match ask.await {
                Ok(answer) => {
                    *state.missing() = None;
                    Ok(answer)
                }
                Err(error) => Err(Some(state.fails(error))),
            }
        });
        match asking.await {
            Ok(answer) => Ok(Some(answer)),
            Err(None) => Ok(None),
            Err(Some(fault)) => Err(fault),
        }
    }

    /// Why there is no answer yet, with the name of the operation: `DescribeTable: ThrottlingException`. `None` if there is an
    /// answer, or if no call has failed. For [`BatchTarget::preparation_fault`](super::BatchTarget::preparation_fault).
    pub fn missing(&self) -> Option<Fault> {
        let fault = self.last_fault()?;
        Some(match self.0.operation {
            Some(operation) => fault.of_lookup(operation),
            None => fault,
        })
    }

    /// Why there is no answer yet, in the service's words alone.
    pub(crate) fn last_fault(&self) -> Option<Fault> {
        self.0.missing().as_ref().map(|missing| missing.fault.clone())
    }

    /// Whether the service has been asked, and asking again is [pointless](LookupError::Never).
    pub fn is_denied(&self) -> bool {
        self.0.missing().as_ref().is_some_and(|missing| missing.is_final)
    }
}

impl<T> State<T> {
    fn missing(&self) -> MutexGuard<'_, Option<Missing>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the service is not to be asked at the moment.
    fn is_quiet(&self) -> bool {
        let until = self.missing().as_ref().and_then(|missing| missing.until);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// A lookup has failed. Returns why.
    fn fails(&self, error: LookupError) -> Fault {
        let (fault, quiet) = match error {
            LookupError::Transient(fault) => (fault, Some(QUIET)),
            LookupError::NotNow(fault) => (fault, None),
            LookupError::Never(fault) => {
                self.misses(fault.clone(), Some(DENIED), true);
                return fault;
            }
        };
        self.misses(fault.clone(), quiet, false);
        fault
    }

    fn misses(&self, fault: Fault, quiet: Option<Duration>, is_final: bool) {
        *self.missing() = Some(Missing {
            fault,
            until: quiet.map(|quiet| Instant::now() + quiet),
            is_final,
        });
    }

    /// Asks until there is an answer, or until asking does not help.
    async fn ask_repeatedly<F>(&self, call: impl Fn() -> F) -> Result<T, LookupError>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        let mut longest = DELAY;
        loop {
            let fault = match in_time(TIMEOUT, call()).await {
                Err(LookupError::Transient(fault)) => fault,
                settled => return settled,
            };
            debug!(target: LOOKUP, code = fault.code(), "the lookup failed and is repeated");
            self.misses(fault, None, false);
            sleep(longest.mul_f64(rand::random())).await;
            longest = (2 * longest).min(LONGEST_DELAY);
        }
    }
}

impl<T> Default for Lookup<T> {
    /// The answer is not known.
    fn default() -> Self {
        Self::new(None, OnceCell::new())
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
            Answer::Stop(fault) | Answer::Whole(Verdict::Refused(fault)) if Self::advice(&fault) != Advice::Wait => {
                Self::Never(fault)
            }
            // Without a code it is not the service that refuses: a proxy, or a page of HTML.
            Answer::Whole(Verdict::Refused(fault)) if fault.is_ambiguous() => Self::Transient(fault),
            // A limit of calls a second, not a number of resources: describing creates none.
            Answer::Whole(Verdict::Refused(fault)) if fault.code() == "LimitExceededException" => {
                Self::Transient(fault)
            }
            // A missing resource may be created later, and credentials may be corrected.
            Answer::Disputed(fault) if Self::advice(&fault) != Advice::Wait => Self::Never(fault),
            Answer::Disputed(fault) if fault.is_ambiguous() => Self::Transient(fault),
            Answer::Disputed(fault)
            | Answer::Stop(fault)
            | Answer::Whole(Verdict::Refused(fault) | Verdict::Rejected(Rejection::Unconfigured, fault)) => {
                Self::NotNow(fault)
            }
            Answer::Whole(Verdict::Rejected(_, fault)) => Self::Transient(fault),
            Answer::Whole(Verdict::Accepted | Verdict::Acknowledged(_) | Verdict::ConditionFailed)
            | Answer::Each(_) => Self::NotNow(Fault::new("no answer")),
        }
    }
}

/// The code of a call without an answer in time.
const LATE: &str = "timeout";

async fn in_time<T>(limit: Duration, call: impl Future<Output = Result<T, LookupError>>) -> Result<T, LookupError> {
    let late = || Err(LookupError::Transient(Fault::new(LATE)));
    within(limit, pin!(call)).await.unwrap_or_else(late)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::future::{pending, ready};

    use futures::future::join_all;
    use tokio::time::timeout;

    use super::*;

    fn fault() -> Fault {
        Fault::new("fault")
    }

    /// Asks once after the other, with these pauses in seconds, and returns the number of calls of each lookup.
    async fn calls<const N: usize>(once: bool, error: fn(Fault) -> LookupError, pauses: [u64; N]) -> [u32; N] {
        let lookup = Lookup::<()>::default();
        let calls = Cell::new(0);
        let call = || {
            calls.set(calls.get() + 1);
            ready(Err(error(fault())))
        };
        let mut made = [0; N];
        for (made, pause) in made.iter_mut().zip(pauses) {
            sleep(Duration::from_secs(pause)).await;
            let asked = if once {
                lookup.ask_once(call).await
            } else {
                lookup.ask(call).await
            };
            *made = calls.replace(0);
            assert_eq!(asked.is_err(), *made > 0);
            assert!(lookup.get().is_none() && lookup.missing().is_some());
        }
        made
    }

    #[tokio::test(start_paused = true)]
    async fn the_error_decides_when_the_service_is_asked_again() {
        for once in [false, true] {
            assert_eq!(calls(once, LookupError::NotNow, [0, 0, 0]).await, [1, 1, 1]);
            assert_eq!(calls(once, LookupError::Never, [0, 0, 299, 1]).await, [1, 0, 0, 1]);
        }
        assert_eq!(calls(true, LookupError::Transient, [0, 0, 29, 1]).await, [1, 0, 0, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_service_is_asked_until_there_is_an_answer() {
        let lookup = Lookup::by("Describe");
        let outage = Duration::from_mins(10);
        let (started, calls) = (Instant::now(), Cell::new(0_u32));
        let call = || {
            calls.set(calls.get() + 1);
            let is_over = started.elapsed() >= outage;
            ready(if is_over {
                Ok(7)
            } else {
                Err(LookupError::Transient(fault()))
            })
        };
        assert!(timeout(outage / 2, lookup.ask(call)).await.is_err());
        assert_eq!(lookup.missing().unwrap().code(), "Describe: fault");
        assert!(lookup.ask(call).await.is_ok());
        assert!(started.elapsed() <= outage + LONGEST_DELAY);
        assert_eq!((lookup.get(), lookup.missing().is_none()), (Some(&7), true));
        // One in 1.5 s.
        assert!((300..600).contains(&calls.get()), "{} calls", calls.get());
    }

    #[tokio::test(start_paused = true)]
    async fn processes_that_are_throttled_together_do_not_ask_together() {
        /// Calls that the service takes in a second, as those of a whole account.
        const RATE: usize = 10;
        let (started, calls) = (Instant::now(), RefCell::new(Vec::new()));
        let answered = Cell::new(0);
        let call = || {
            let now = started.elapsed();
            calls.borrow_mut().push(now);
            let is_taken = now.as_secs_f64() * 10.0 + 1.0 >= f64::from(answered.get());
            if is_taken {
                answered.set(answered.get() + 1);
            }
            ready(if is_taken {
                Ok(())
            } else {
                Err(LookupError::Transient(fault()))
            })
        };
        let lookups: Vec<Lookup<()>> = (0..50).map(|_| Lookup::default()).collect();
        assert!(
            join_all(lookups.iter().map(|lookup| lookup.ask(call)))
                .await
                .iter()
                .all(Result::is_ok)
        );
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        let calls = calls.into_inner();
        let after = calls.iter().filter(|at| **at > Duration::from_millis(400));
        let mut by_moment = std::collections::HashMap::<u128, usize>::new();
        after.for_each(|at| *by_moment.entry(at.as_millis() / 10).or_default() += 1);
        let most = by_moment.into_values().max();
        assert!(most <= Some(RATE), "{most:?} calls within 10 ms");
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_delivery_can_do_without_is_waited_for_no_longer_than_a_moment() {
        let lookup = Lookup::<()>::default();
        let started = Instant::now();
        let all = join_all((0..64).map(|_| lookup.ask_once(pending))).await;
        assert!(all.iter().any(Result::is_err));
        assert_eq!(started.elapsed(), UP_FRONT);
        // Another one asks for as long as it takes.
        let asking = lookup.ask(pending);
        let (asked, once) = tokio::join!(timeout(TIMEOUT, asking), lookup.ask_once(pending));
        assert!(asked.is_err() || asked.unwrap().is_ok());
        assert!(once.is_err() || once.unwrap().is_none());
        assert!(started.elapsed() <= UP_FRONT + TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept() {
        let lookup = Lookup::default();
        assert!(lookup.ask(|| ready(Ok(7))).await.is_ok());
        assert!(lookup.ask(|| ready(Ok(8))).await.is_ok());
        assert!(lookup.ask_once(|| ready(Ok(9))).await.is_ok());
        assert_eq!(lookup.get(), Some(&7));
        assert_eq!(Lookup::given(9).get(), Some(&9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_end_is_repeated() {
        let lookup = Lookup::<()>::default();
        assert!(timeout(2 * TIMEOUT, lookup.ask(pending)).await.is_err());
        assert_eq!(lookup.missing().unwrap().code(), LATE);
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
        for rejection in [
            Rejection::Throttled,
            Rejection::Transient,
            Rejection::Connection,
            Rejection::Setup,
            Rejection::Unanswered,
        ] {
            for fault in [fault("code"), fault("code").ambiguous()] {
                let rejected = Answer::Whole(Verdict::Rejected(rejection, fault));
                assert!(matches!(LookupError::from(rejected), LookupError::Transient(_)));
            }
        }
        let refused = |fault| LookupError::from(Answer::Whole(Verdict::Refused(fault)));
        let of_a_proxy = fault("HTTP 400").ambiguous();
        assert!(matches!(refused(of_a_proxy), LookupError::Transient(_)));
        assert!(matches!(refused(fault("ValidationException")), LookupError::NotNow(_)));
        assert!(matches!(refused(fault("UnsupportedOperation")), LookupError::Never(_)));
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
