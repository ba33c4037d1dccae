//! What a target asks its service: the key of a table, the attributes of a queue.

mod error;
mod known;

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::debug;

use self::known::{KnownAnswer, RECENT};
use super::Fault;
use crate::events::LOOKUP;
use crate::time_limit::within;

#[cfg(any(feature = "dynamodb", feature = "eventbridge", feature = "sns", feature = "sqs"))]
pub(crate) use error::Advice;
pub use error::LookupError;

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
const DENIED: Duration = Duration::from_secs(5 * 60);

/// Something that a target asks its service: the key of a table, the attributes of a queue, the number of shards. Clones
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
///             Some(limit) if record.len() > *limit => {
///                 Err(InvalidEntry::TooLarge { part: "record", limit: *limit, actual: record.len() })
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
/// and finally up to 3 s, drawn at random so that processes that fail together do not ask together. The delivery limits
/// it by [`give_up_after`](crate::DeliveryOptions::give_up_after). [`ask_once`](Self::ask_once) is for what a delivery can do
/// without: it calls once, waits for 2 s, and does not call again for 30 s. A call may take 5 s. [`LookupError`] distinguishes
/// the failures; after one that is [final](LookupError::Never), neither calls for 5 minutes.
///
/// While something is [missing](Self::missing), a running delivery calls `prepare` again every 30 s.
///
/// # How long an answer holds
/// An answer that is an hour old is asked for again: a queue may take larger messages since, and a table may have another index. A
/// delivery waits for that for 2 s at most. If the call fails, the old answer holds, and the next call follows a minute later, or after
/// 5 minutes if it is denied. The targets of this crate also ask again when the service refuses what should be right by the answer, but
/// at most once a minute. An answer that was [given](Self::given) holds forever.
pub struct Lookup<T>(Arc<LookupState<T>>);

struct LookupState<T> {
    operation: Option<&'static str>,
    known: RwLock<Option<KnownAnswer<T>>>,
    /// Locked while the service is asked.
    asking: tokio::sync::Mutex<()>,
    missing: Mutex<Option<MissingAnswer>>,
}

/// Why there is no answer, or no newer one.
struct MissingAnswer {
    fault: Fault,
    /// The service is not asked again before this moment.
    until: Option<Instant>,
    /// Whether asking is pointless until then.
    is_final: bool,
}

impl<T> Lookup<T> {
    /// Asks by this operation, such as `DescribeTable`. The faults of the lookup name it.
    pub fn by(operation: &'static str) -> Self {
        Self::new(Some(operation), None)
    }

    /// The answer is given, so the service is not asked.
    pub fn given(answer: T) -> Self {
        Self::new(None, Some(KnownAnswer::given(answer)))
    }

    fn new(operation: Option<&'static str>, known: Option<KnownAnswer<T>>) -> Self {
        Self(Arc::new(LookupState {
            operation,
            known: RwLock::new(known),
            asking: tokio::sync::Mutex::default(),
            missing: Mutex::default(),
        }))
    }

    /// The answer, if it is known. A later call may return a newer one.
    pub fn get(&self) -> Option<Arc<T>> {
        self.0.known().as_ref().map(|known| Arc::clone(&known.answer))
    }

    /// Makes this call until there is an answer, unless it is known; once, if it is known and [old](Self#how-long-an-answer-holds). `None`
    /// if [asking is pointless](LookupError::Never) and an earlier call has returned why.
    ///
    /// Calls at the same time share one answer. Cancel-safe.
    ///
    /// # Errors
    /// Why asking does not help now.
    pub async fn ask<F>(&self, call: impl Fn() -> F) -> Result<Option<Arc<T>>, Fault>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        let asking = async {
            if self.0.known().is_some() {
                in_time(UP_FRONT, call()).await
            } else {
                self.0.ask_repeatedly(call).await
            }
        };
        self.answered(asking).await
    }

    /// Makes this call once, unless the answer is known and not [old](Self#how-long-an-answer-holds), or the last failure was a moment ago.
    /// `None` in the latter case.
    ///
    /// Calls at the same time share one answer. Cancel-safe.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask_once<F>(&self, call: impl FnOnce() -> F) -> Result<Option<Arc<T>>, Fault>
    where
        F: Future<Output = Result<T, LookupError>>,
    {
        let once = self.answered(async { in_time(UP_FRONT, call()).await });
        // Another delivery may be asking for longer.
        let late = || match self.get() {
            Some(answer) => Ok(Some(answer)),
            None => Err(Fault::new(LATE)),
        };
        within(UP_FRONT, pin!(once)).await.unwrap_or_else(late)
    }

    async fn answered(&self, ask: impl Future<Output = Result<T, LookupError>>) -> Result<Option<Arc<T>>, Fault> {
        let state = &*self.0;
        if let Some(answer) = state.fresh() {
            return Ok(Some(answer));
        }
        let _asking = state.asking.lock().await;
        // Another one may have asked meanwhile.
        if let Some(answer) = state.fresh() {
            return Ok(Some(answer));
        }
        if state.is_quiet() {
            return Ok(self.get());
        }
        match ask.await {
            Ok(answer) => Ok(Some(self.learn(answer))),
            Err(error) => {
                let fault = state.fails(error);
                match self.get() {
                    Some(answer) => Ok(Some(answer)),
                    None => Err(fault),
                }
            }
        }
    }

    /// The service has answered. Returns its answer.
    pub(crate) fn learn(&self, answer: T) -> Arc<T> {
        let known = KnownAnswer::answered(answer);
        let answer = Arc::clone(&known.answer);
        *self.0.known_mut() = Some(known);
        *self.0.missing() = None;
        answer
    }

    /// The service has said something that contradicts the answer, or an entry was refused because of the answer alone: it is asked
    /// again before long, because what was asked for may have changed.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "not all services need it")]
    pub(crate) fn seems_outdated(&self) {
        let can_be_doubted = self.0.known().as_ref().is_some_and(KnownAnswer::can_be_doubted);
        if can_be_doubted && let Some(known) = self.0.known_mut().as_mut() {
            known.seems_outdated();
        }
    }

    /// Why there is no answer yet, with the name of the operation: `DescribeTable: ThrottlingException`, or that it is
    /// [old](Self#how-long-an-answer-holds): `DescribeTable: outdated`. `None` if there is a newer answer, or if no call has failed. For
    /// [`BatchTarget::preparation_fault`](super::BatchTarget::preparation_fault).
    pub fn missing(&self) -> Option<Fault> {
        let fault = match self.0.known().as_ref() {
            Some(known) => known.is_due().then(|| Fault::new("outdated")),
            None => self.last_fault(),
        }?;
        Some(match self.0.operation {
            Some(operation) => fault.of_lookup(operation),
            None => fault,
        })
    }

    /// Why there is no answer yet, or no newer one, in the service's words alone.
    pub(crate) fn last_fault(&self) -> Option<Fault> {
        self.0.missing().as_ref().map(|missing| missing.fault.clone())
    }

    /// Whether the service has been asked, and asking again is [pointless](LookupError::Never).
    pub fn is_denied(&self) -> bool {
        self.0.missing().as_ref().is_some_and(|missing| missing.is_final)
    }
}

impl<T> LookupState<T> {
    fn known(&self) -> RwLockReadGuard<'_, Option<KnownAnswer<T>>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Option<KnownAnswer<T>>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, if the service need not be asked.
    fn fresh(&self) -> Option<Arc<T>> {
        let known = self.known();
        let known = known.as_ref().filter(|known| !known.is_due())?;
        Some(Arc::clone(&known.answer))
    }

    fn missing(&self) -> MutexGuard<'_, Option<MissingAnswer>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the service is not to be asked at the moment.
    fn is_quiet(&self) -> bool {
        let until = self.missing().as_ref().and_then(|missing| missing.until);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// A lookup has failed. Returns why.
    fn fails(&self, error: LookupError) -> Fault {
        let (fault, quiet, is_final) = match error {
            LookupError::Transient(fault) => (fault, Some(QUIET), false),
            LookupError::NotNow(fault) => (fault, None, false),
            LookupError::Never(fault) => (fault, Some(DENIED), true),
        };
        if let Some(known) = self.known_mut().as_mut() {
            known.stays_for(if is_final { DENIED } else { RECENT });
            if quiet == Some(QUIET) {
                // It says nothing of what was asked for; an earlier refusal, such as that it is gone, still does.
                return fault;
            }
        }
        self.misses(fault.clone(), quiet, is_final);
        fault
    }

    fn misses(&self, fault: Fault, quiet: Option<Duration>, is_final: bool) {
        *self.missing() = Some(MissingAnswer {
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
        Self::new(None, None)
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

/// The code of a call without an answer in time.
const LATE: &str = "timeout";

async fn in_time<T>(limit: Duration, call: impl Future<Output = Result<T, LookupError>>) -> Result<T, LookupError> {
    let late = || Err(LookupError::Transient(Fault::new(LATE)));
    within(limit, pin!(call)).await.unwrap_or_else(late)
}

#[cfg(test)]
mod tests;
