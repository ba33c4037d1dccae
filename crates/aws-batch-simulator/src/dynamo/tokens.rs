//! The client request tokens of transactions.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::value::unexpected;
use super::wording::invalid_member;
use crate::registry::lock;
use crate::wire::Refusal;

/// How long a token is valid after its transaction has succeeded.
const VALID: Duration = Duration::from_secs(10 * 60);
/// Characters of a token at most.
const LONGEST: usize = 36;

/// The tokens of all transactions that have succeeded in the last ten minutes.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<CompletedTransactions>);

/// Transactions that have succeeded, by their tokens.
#[derive(Default)]
pub(super) struct CompletedTransactions {
    by_token: HashMap<String, CompletedTransaction>,
    /// In the order of time.
    ends: VecDeque<(Instant, String)>,
}

struct CompletedTransaction {
    request: Fingerprint,
    /// The bytes that each of its actions was charged for.
    sizes: Arc<[usize]>,
}

/// Equal for requests of the same actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The order of the members of an object does not matter.
    pub(super) fn of(actions: &Value) -> Self {
        let mut actions = actions.clone();
        actions.sort_all_objects();
        Self(Sha256::digest(actions.to_string()).into())
    }
}

impl Tokens {
    /// Keeps other transactions with a token waiting, so that of two with the same token only one is performed.
    pub(super) fn completed(&self) -> MutexGuard<'_, CompletedTransactions> {
        lock(&self.0)
    }
}

impl CompletedTransactions {
    /// The bytes of each action of the transaction that has succeeded with this token. Fails if it was another one.
    pub(super) fn find(
        &mut self,
        token: &str,
        request: &Fingerprint,
        now: Instant,
    ) -> Result<Option<Arc<[usize]>>, Refusal> {
        while self.ends.front().is_some_and(|(end, _)| *end <= now)
            && let Some((_, token)) = self.ends.pop_front()
        {
            self.by_token.remove(&token);
        }
        match self.by_token.get(token) {
            Some(completed) if completed.request != *request => Err(Refusal::new(
                "IdempotentParameterMismatchException",
                "The client request token was used before with other parameters",
            )
            .capital_message()),
            Some(completed) => Ok(Some(Arc::clone(&completed.sizes))),
            None => Ok(None),
        }
    }

    /// The transaction with this token has succeeded.
    pub(super) fn add(&mut self, token: String, request: Fingerprint, sizes: Arc<[usize]>, now: Instant) {
        self.ends.push_back((now + VALID, token.clone()));
        self.by_token.insert(token, CompletedTransaction { request, sizes });
    }
}

/// The token of a request.
pub(super) fn token(request: &Value) -> Result<Option<&str>, Refusal> {
    match &request["ClientRequestToken"] {
        Value::Null => Ok(None),
        Value::String(token) if (1..=LONGEST).contains(&token.len()) => Ok(Some(token)),
        Value::String(token) => Err(invalid_member(format_args!(
            "Value at 'ClientRequestToken' failed to satisfy constraint: Member must have length {}",
            if token.is_empty() {
                "greater than or equal to 1"
            } else {
                "less than or equal to 36"
            }
        ))),
        _ => Err(unexpected()),
    }
}
