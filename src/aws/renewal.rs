//! Loads the credentials again after the service has refused them.
//!
//! The SDK keeps credentials without an expiry for 15 minutes, even after they were rotated. Its cache cannot be emptied, so the
//! calls get another one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use aws_smithy_runtime_api::client::identity::SharedIdentityCache;
use tokio::time::Instant;

/// Credentials that were loaded this recently are not loaded again because the service does not know them.
const FRESH: Duration = Duration::from_secs(60);

/// The renewals that exist, by their numbers: an answer names that of its call.
static RENEWALS: Mutex<BTreeMap<u64, Weak<Mutex<RenewalState>>>> = Mutex::new(BTreeMap::new());

/// The number of the next renewal.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The changes to a client's configuration for each call. They include another identity cache once the service has refused
/// the credentials.
#[derive(Debug, Clone)]
pub(crate) struct Changes<B> {
    pub(crate) always: B,
    pub(crate) renewal: Renewal,
}

/// The identity cache of the calls. A clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Renewal(Arc<Mutex<RenewalState>>);

#[derive(Debug)]
struct RenewalState {
    number: u64,
    /// Makes a cache of the SDK; `None` if the client lacks what such a cache needs.
    new_cache: Option<fn() -> SharedIdentityCache>,
    /// `None` for that of the client.
    cache: Option<SharedIdentityCache>,
    /// How often it was renewed, and when last.
    times: u64,
    last: Option<Instant>,
}

/// The cache that a call has used.
#[derive(Debug, Clone)]
pub(super) struct CredentialsUse {
    renewal: Renewal,
    times: u64,
}

impl Renewal {
    pub(crate) fn with(new_cache: Option<fn() -> SharedIdentityCache>) -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        let state = Arc::new(Mutex::new(RenewalState {
            number,
            new_cache,
            cache: None,
            times: 0,
            last: None,
        }));
        renewals().insert(number, Arc::downgrade(&state));
        Self(state)
    }

    /// The cache for the next call; `None` for that of the client.
    pub(crate) fn cache(&self) -> Option<SharedIdentityCache> {
        self.state().cache.clone()
    }

    pub(super) fn used(&self) -> CredentialsUse {
        CredentialsUse {
            renewal: self.clone(),
            times: self.state().times,
        }
    }

    fn state(&self) -> MutexGuard<'_, RenewalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn renewals() -> MutexGuard<'static, BTreeMap<u64, Weak<Mutex<RenewalState>>>> {
    RENEWALS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for RenewalState {
    fn drop(&mut self) {
        renewals().remove(&self.number);
    }
}

impl CredentialsUse {
    /// The use of the renewal with this number, if it still exists, after it was renewed this many times.
    pub(super) fn numbered(number: u64, times: u64) -> Option<Self> {
        let state = renewals().get(&number)?.upgrade()?;
        Some(Self {
            renewal: Renewal(state),
            times,
        })
    }

    pub(super) fn number(&self) -> u64 {
        self.renewal.state().number
    }

    pub(super) fn times(&self) -> u64 {
        self.times
    }

    /// The credentials of the call have expired: the next one loads them again, however fresh they are.
    pub(super) fn have_expired(&self) {
        self.renew(Duration::ZERO);
    }

    /// The service does not know the credentials of the call. Returns whether the next one has other ones.
    pub(super) fn are_unknown(&self) -> bool {
        self.renew(FRESH)
    }

    /// Renews the cache, unless that was done less than `fresh` ago. Returns whether the next call has another one.
    fn renew(&self, fresh: Duration) -> bool {
        let mut state = self.renewal.state();
        if state.times > self.times {
            return true;
        }
        let is_fresh = state.last.is_some_and(|last| last.elapsed() < fresh);
        let Some(new_cache) = state.new_cache.filter(|_| !is_fresh) else {
            return false;
        };
        state.cache = Some(new_cache());
        state.times += 1;
        state.last = Some(Instant::now());
        true
    }
}

macro_rules! into_builder {
    ($($($feature:literal)|+: $sdk:ident,)*) => {$(
        #[cfg(any($(feature = $feature),+))]
        impl From<Changes<$sdk::config::Builder>> for $sdk::config::Builder {
            fn from(changes: Changes<Self>) -> Self {
                match changes.renewal.cache() {
                    Some(cache) => changes.always.identity_cache(cache),
                    None => changes.always,
                }
            }
        }
    )*};
}

into_builder! {
    "cloudwatch": aws_sdk_cloudwatch,
    "cloudwatch-logs": aws_sdk_cloudwatchlogs,
    "dynamodb": aws_sdk_dynamodb,
    "eventbridge": aws_sdk_eventbridge,
    "firehose": aws_sdk_firehose,
    "kinesis": aws_sdk_kinesis,
    "s3" | "s3-offload": aws_sdk_s3,
    "sns": aws_sdk_sns,
    "sqs": aws_sdk_sqs,
}
