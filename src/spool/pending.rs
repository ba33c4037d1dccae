//! An entry that a delivery has read.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tracing::warn;

use super::settlement::Settlement;
use super::store::Refusal;
use crate::contract::Identity;
use crate::disposition::Disposition;
use crate::engine::Confirms;
use crate::events::SPOOL;
use crate::handlers::ActiveHandlers;
use crate::report::Undelivered;

/// An entry that a delivery has read: it is settled when the service or a handler has it, or when it is kept separately because it is refused
/// for good or code of the program has panicked with it twice. Otherwise it stays in the spool.
pub(super) struct PendingEntry<V> {
    pub(super) number: u64,
    pub(super) spooled_at: i64,
    pub(super) settlement: Arc<Settlement>,
    pub(super) handling: Arc<ActiveHandlers<V>>,
}

impl<V: Send + Sync + 'static> Confirms<V> for PendingEntry<V> {
    fn resolve(self: Box<Self>, value: &V, disposition: Disposition) {
        self.handling.resolve(value, self.number, &disposition);
        self.settlement.settle(self.number..self.number + 1);
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.settlement.identity(self.number, self.spooled_at))
    }

    fn panicked(&self) {
        self.settlement.panicked(self.number);
    }

    fn hand_back(self: Box<Self>, undelivered: Undelivered<V>) -> BoxFuture<'static, Option<Undelivered<V>>> {
        async move {
            let Self {
                number,
                settlement,
                handling,
                ..
            } = *self;
            if undelivered.cause.is_permanent() {
                let mut cause = undelivered.cause.to_string();
                if undelivered.may_have_been_delivered {
                    cause.push_str("; it may have been delivered");
                }
                if handling.hand_back(undelivered).await.is_none() {
                    settlement.handled(number);
                } else {
                    if settlement.may_warn_of_refusal() {
                        warn!(target: SPOOL, number, cause, "an entry was refused for good; it is kept in the folder");
                    }
                    settlement.refuse(Refusal { number, cause });
                }
            } else if settlement.has_panicked_twice(number) {
                let cause = format!("two deliveries ended at it: {}", undelivered.cause);
                warn!(target: SPOOL, number, cause, "an entry makes the program panic; it is kept as refused");
                settlement.refuse(Refusal { number, cause });
            }
            // Whatever became of it, it is in no other place that returns it.
            None
        }
        .boxed()
    }
}
